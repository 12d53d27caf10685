"""From texts to topics and back: the example that docs/python.md begins with."""

from pysgrld import LDA

texts = [
    "the moon rose over the dark sea and the stars came out",
    "sailors steer by the stars when the moon is down",
    "a bright moon and bright stars over the quiet sea",
    "the captain watched the stars above the sea all night",
    "night after night the moon drew the sea up the shore",
    "knead the dough and let the bread rise in a warm oven",
    "butter and flour make the dough, the oven makes the bread",
    "warm bread with butter from the oven of a good baker",
    "the baker mixed flour and yeast into a soft dough",
    "flour, yeast, salt: the baker needs little more for bread",
]
lda = LDA(n_components=2, algo="gibbs", max_iter=1000, holdout=0).fit(texts)

print(lda.topics_frame(4))  # the words of each topic, with intervals
print(lda.documents_frame(texts).round(2))  # the share of each topic in each text

new = ["stars and moon over an empty sea", "butter on bread", "a zebra at sea"]
print(lda.transform(new).round(2))  # words that the model has never seen are left out

lda.save("my-topics")  # a folder that `sgmc topics my-topics` reads, too
again = LDA.load("my-topics")
print(again.transform(new).round(2))
