"""Coherence and diversity of topics' top words, for several methods on five corpora.

    python benchmarks/coherence.py --data ../shared/data              # fit what is missing, print tables
    python benchmarks/coherence.py --data ../shared/data --minutes 4  # a part of it
    python benchmarks/coherence.py --page FILE                        # tables between two marks of a page
    python benchmarks/coherence.py --data ../shared/data --corpora 'five classes' --methods sgmc

Each fit is one line of results/coherence.jsonl; a fit that has a line is not repeated, unless
``--results`` names another file. The tables end with the processor seconds of all fits. Protocol: ten
words of each topic, NPMI with the formula of gensim's ``c_npmi`` (windows of ten words) on the documents
of training, diversity (share of different words), K = 10, 50 and 30, one seed.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gzip
import io
import json
import logging
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

#: Words of a topic.
WORDS = 10
#: Words of a window of gensim's ``c_npmi``, and the probability that its formula adds.
WINDOW, ADDED = 10, 1e-12
#: Numbers of topics; the two ends first, so that a part of the work covers the range.
TOPICS = (10, 50, 30)
#: Sweeps of the collapsed Gibbs samplers of other tools.
SWEEPS = 400
RESULTS = Path(__file__).parent / "results" / "coherence.jsonl"
#: Marks in the page between which the tables stand.
BEGIN, END = "<!-- tables: benchmarks/coherence.py -->\n", "<!-- end of tables -->\n"


# ---- corpora


class Corpus:
    """Documents as lists of words in their order.

    Parameters
    ----------
    documents : list of list of str
    classes : list of str, optional
        Of the documents, by people.
    in_order : bool
        Whether the words are in the order of the text; else a window is a whole document.
    """

    def __init__(
        self, documents: list[list[str]], classes: list[str] | None = None, in_order: bool = True
    ) -> None:
        kept = [i for i, words in enumerate(documents) if words]
        self.documents = [documents[i] for i in kept]
        self.classes = classes and [classes[i] for i in kept]
        self.in_order = in_order
        self.vocabulary = sorted({word for words in self.documents for word in words})
        self.number = {word: i for i, word in enumerate(self.vocabulary)}

    @cached_property
    def counts(self) -> Any:
        """Return the counts of words by document, as a sparse matrix."""
        return self._matrix([[self.number[word] for word in words] for words in self.documents])

    @cached_property
    def texts(self) -> list[str]:
        return [" ".join(words) for words in self.documents]

    @cached_property
    def _windows(self) -> tuple[Any, int]:
        """Return how many windows contain each pair of words, and how many there are, as in gensim."""
        rows = []
        for words in self.documents:
            ids = [self.number[word] for word in words]
            size = WINDOW if self.in_order else len(ids)
            held_words = set(ids[:size])
            rows.append(list(held_words))
            for first, last in zip(ids, ids[size:], strict=False):
                held_words.discard(first)  # also if it occurs again within the window
                held_words.add(last)
                rows.append(list(held_words))
        held = self._matrix(rows)
        held.data[:] = 1
        return (held.T @ held).tocsr(), len(rows)

    def npmi(self, words: list[int]) -> float:
        """Return the mean NPMI over all pairs of some words, as gensim's ``c_npmi`` computes it."""
        together, n = self._windows
        share = together[words][:, words].toarray() / n
        alone = np.diag(share)
        first, second = np.triu_indices(len(words), 1)
        both = share[first, second] + ADDED
        return float(np.mean(np.log(both / (alone[first] * alone[second])) / -np.log(both)))

    def _matrix(self, rows: list[list[int]]) -> Any:
        ends = np.cumsum([0] + [len(row) for row in rows])
        ids = np.concatenate(rows)
        shape = (len(rows), len(self.vocabulary))
        matrix = csr_matrix((np.ones(len(ids), np.int64), ids, ends), shape)
        matrix.sum_duplicates()
        return matrix


def from_texts(texts: list[str], classes: list[str] | None = None, least: int = 5) -> Corpus:
    """Take words of three letters or more, no stop words, in ``least`` documents to half of all."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    documents = [
        [w for w in re.findall("[a-z]{3,}", text.lower()) if w not in ENGLISH_STOP_WORDS]
        for text in texts
    ]
    found_in = Counter(word for words in documents for word in set(words))
    kept = {word for word, n in found_in.items() if least <= n <= len(documents) / 2}
    return Corpus([[w for w in words if w in kept] for words in documents], classes)


def lines_of(path: Path) -> list[str]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return data.decode().removesuffix("\n").split("\n")


def newsgroups(data: Path) -> Corpus:
    """Read every eighth post of the training set, without its head."""
    posts = lines_of(data / "20news-raw" / "20news-raw.train.txt.gz")[::8]
    groups = lines_of(data / "20news-raw" / "labels.20news-raw.train.tsv")[::8]
    return from_texts([p.partition("\t")[2] for p in posts], [g.split("\t")[0] for g in groups])


def five_classes(data: Path) -> Corpus:
    """Read articles of Wikipedia that resemble a known corpus of news, BBC News, in length and classes.

    The class of an article is the only one of `FIVE` of which its first 25 words have a word; the
    first 445 articles of a class are read, and the first 600 words of an article of at least 110.
    """
    texts: dict[str, list[str]] = {name: [] for name in FIVE}
    for article in lines_of(data / "wikipedia" / "wiki.train.txt.gz"):
        words = article.split()
        if len(words) >= 110:
            head = " ".join(words[:25]).lower()
            classes = [name for name, pattern in FIVE.items() if re.search(pattern, head)]
            if len(classes) == 1:
                texts[classes[0]].append(" ".join(words[:600]))
    rows = [(text, name) for name, some in texts.items() for text in some[:445]]
    return from_texts([text for text, _ in rows], [name for _, name in rows], least=11)


def bills(data: Path) -> Corpus:
    """Read summaries of bills."""
    with gzip.open(data / "bills" / "bills.csv.gz", "rt") as lines:
        rows = list(csv.DictReader(lines))
    return from_texts([row["summary"] for row in rows], [row["topic"] for row in rows])


def introductions(data: Path) -> Corpus:
    """Read the first 60 words of every tenth article of Wikipedia."""
    articles = lines_of(data / "wikipedia" / "wiki.train.txt.gz")[::10]
    return from_texts([" ".join(article.split()[:60]) for article in articles])


def m10(data: Path) -> Corpus:
    """Read titles of articles, as preprocessed by the authors of the data."""
    titles = lines_of(data / "m10" / "m10.train.txt.gz")
    return Corpus([t.split() for t in titles], lines_of(data / "m10" / "labels.m10.train.txt"))


def cora(data: Path) -> Corpus:
    """Read word counts of abstracts."""
    vocabulary = lines_of(data / "cora" / "vocab.cora.txt")
    documents: dict[str, list[str]] = {}
    for line in lines_of(data / "cora" / "docword.cora.txt.gz")[3:]:
        document, word, count = line.split()
        documents.setdefault(document, []).extend([vocabulary[int(word) - 1]] * int(count))
    return Corpus(list(documents.values()), in_order=False)


#: The classes of `five_classes`.
FIVE = {
    "sport": "football|cricket|rugby|tennis|basketball|athlet|olympi|hockey|baseball|cyclist|swimmer"
    "|golf|boxer|racing|wrestl",
    "politics": "politician|political party|election|parliament|minister|senator|governor|mayor"
    "|diplomat|congress",
    "business": r"\bcompany\b|corporation|\bbank\b|businessman|manufacturer|retail|airline"
    r"|entrepreneur|insurance|brewery|\bfirm\b",
    "entertainment": r"\bfilm\b|album|\bsong\b|\bband\b|singer|actor|actress|television series"
    "|musician|comedy|rapper",
    "technology": r"software|computer|algorithm|\binternet\b|satellite|spacecraft|\bphone\b|website"
    "|video game|electronic|semiconductor|programming",
}
CORPORA: dict[str, Callable[[Path], Corpus]] = {
    "20 Newsgroups": newsgroups,
    "bills": bills,
    "Wikipedia": introductions,
    "Cora": cora,
    "M10": m10,
    "five classes": five_classes,
}
#: A further number of topics: the classes of people.
CLASSES = {"bills": 22}


# ---- methods


class Topics(NamedTuple):
    """Topics of a method.

    Attributes
    ----------
    words : list of list of int
        Word ids of each topic, the first first.
    labels : (D,) int, optional
        The main topic of each document; -1 if it has none.
    """

    words: list[list[int]]
    labels: Any = None


Fitted = Iterator[tuple[str, Topics]]


def most(matrix: Any) -> list[list[int]]:
    """Return the ids of the largest values of each row."""
    return np.argsort(-np.asarray(matrix), axis=1, kind="stable")[:, :WORDS].tolist()


def sgmc(corpus: Corpus, k: int, seed: int) -> Fitted:
    """Fit with default options, and list top words by the default score and by probability."""
    from pysgrld import LDA

    lda = LDA(k, random_state=seed, n_jobs=1).fit(corpus.counts)
    labels = lda.transform(corpus.counts).argmax(axis=1)
    for suffix, order in (("", None), (", probable words", "probable")):
        top = lda.top_words(WORDS, corpus.vocabulary, order=order)
        yield suffix, Topics([[corpus.number[w] for w in words] for words in top], labels)


def tomotopy(corpus: Corpus, k: int, seed: int) -> Fitted:
    import tomotopy

    model = tomotopy.LDAModel(k=k, seed=seed)
    for words in corpus.documents:
        model.add_doc(words)
    model.train(SWEEPS, workers=1)
    top = [[corpus.number[w] for w, _ in model.get_topic_words(i, WORDS)] for i in range(k)]
    yield "", Topics(top, np.array([d.get_topic_dist() for d in model.docs]).argmax(axis=1))


def gensim(passes: int) -> Callable[..., Fitted]:
    def fit(corpus: Corpus, k: int, seed: int) -> Fitted:
        from gensim.matutils import Sparse2Corpus, corpus2dense
        from gensim.models import LdaModel

        bags = Sparse2Corpus(corpus.counts, documents_columns=False)
        names = dict(enumerate(corpus.vocabulary))
        model = LdaModel(bags, k, names, passes=passes, random_state=seed, eval_every=None)
        shares = corpus2dense(model[bags], k)
        yield "", Topics(most(model.get_topics()), shares.argmax(axis=0))

    return fit


def sklearn(kind: str) -> Callable[..., Fitted]:
    def fit(corpus: Corpus, k: int, seed: int) -> Fitted:
        from sklearn import decomposition
        from sklearn.feature_extraction.text import TfidfTransformer

        if kind == "nmf":
            counts = TfidfTransformer().fit_transform(corpus.counts)
            model = decomposition.NMF(k, init="nndsvd", random_state=seed)
        else:
            counts = corpus.counts
            model = decomposition.LatentDirichletAllocation(k, random_state=seed)
        shares = model.fit_transform(counts)
        yield "", Topics(most(model.components_), shares.argmax(axis=1))

    return fit


def topica(corpus: Corpus, k: int, seed: int) -> Fitted:
    import topica

    documents = topica.Corpus.from_documents(corpus.documents, vocabulary=corpus.vocabulary)
    model = topica.LDA(k, seed=seed, num_threads=1)
    model.fit(documents, iters=SWEEPS, progress=False, keep_theta_draws=False)
    labels = np.asarray(model.doc_topic).argmax(axis=1)
    yield "", Topics(most(model.topic_word), labels)


def pyrmallet(corpus: Corpus, k: int, seed: int) -> Fitted:
    import pyrmallet
    from pyrmallet import _rust_mallet

    documents = _rust_mallet.Corpus.from_strings(
        corpus.texts,
        doc_ids=[str(i) for i in range(len(corpus.texts))],
        stopwords=[],
        min_doc_freq=1,
        max_doc_fraction=1.0,
    )
    model = pyrmallet.LatentDirichletAllocation(k, max_iter=SWEEPS, random_state=seed)
    model._fit_native(documents, float(k), None)
    trained = model._model
    numbers = np.array([corpus.number[word] for word in trained.vocabulary])
    top = [numbers[words].tolist() for words in most(trained.topic_word_matrix())]
    yield "", Topics(top, np.array(trained.doc_topic_matrix()).argmax(axis=1))


def embedding(corpus: Corpus) -> Any:
    """Embed documents in 100 dimensions without a download: TF-IDF and a truncated SVD, unit length."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.preprocessing import normalize

    weights = TfidfTransformer(sublinear_tf=True).fit_transform(corpus.counts)
    return normalize(TruncatedSVD(100, random_state=0).fit_transform(weights))


def clusters(corpus: Corpus, k: int, seed: int) -> Fitted:
    """Cluster the embedding by k-means; top words are by TF-IDF of the clusters, as in BERTopic."""
    from sklearn.cluster import KMeans

    labels = KMeans(k, n_init=10, random_state=seed).fit_predict(embedding(corpus))
    sums = np.stack([np.asarray(corpus.counts[labels == i].sum(axis=0))[0] for i in range(k)])
    frequency = sums / np.maximum(sums.sum(axis=1, keepdims=True), 1)
    yield "", Topics(most(frequency * np.log(1 + sums.sum() / k / sums.sum(axis=0))), labels)


def bertopic(corpus: Corpus, k: int, seed: int) -> Fitted:
    """Fit BERTopic with the embedding above, and reduce its topics to K."""
    from bertopic import BERTopic
    from sklearn.feature_extraction.text import CountVectorizer
    from umap import UMAP

    vectors = embedding(corpus)
    model = BERTopic(
        nr_topics=k + 1,  # one is for outliers
        umap_model=UMAP(n_components=5, min_dist=0.0, metric="cosine", random_state=seed),
        vectorizer_model=CountVectorizer(token_pattern=r"\S+", lowercase=False),
    )
    labels, _ = model.fit_transform(corpus.texts, vectors)
    topics = {i: words for i, words in model.get_topics().items() if i >= 0}
    top = [[corpus.number[w] for w, _ in words[:WORDS] if w] for words in topics.values()]
    yield "", Topics(top, np.array(labels))


class Method(NamedTuple):
    """A method, the package that it needs, and its settings."""

    fit: Callable[..., Fitted]
    package: str
    settings: str


METHODS = {
    "sgmc": Method(sgmc, "pysgrld", "defaults; its two rows are one fit"),
    "tomotopy": Method(tomotopy, "tomotopy", f"{SWEEPS} sweeps, priors by default"),
    "topica": Method(topica, "topica", f"{SWEEPS} sweeps"),
    "pyrmallet": Method(pyrmallet, "pyrmallet", f"MALLET's sampler in Rust, {SWEEPS} sweeps"),
    "gensim LDA": Method(gensim(1), "gensim", "defaults, one pass: the LDA of published tables"),
    "gensim LDA, 5 passes": Method(gensim(5), "gensim", "defaults otherwise"),
    "scikit-learn LDA": Method(sklearn("lda"), "scikit-learn", "defaults"),
    "scikit-learn NMF": Method(sklearn("nmf"), "scikit-learn", "TF-IDF"),
    "k-means": Method(
        clusters, "scikit-learn", "TF-IDF, SVD of 100 dimensions; class-based TF-IDF"
    ),
    "BERTopic": Method(bertopic, "bertopic", "the same SVD as embedding, topics reduced to K"),
}


# ---- one fit


def score(corpus: Corpus, topics: Topics) -> dict[str, Any]:
    """Return coherence, diversity, and agreement with human classes."""
    scored = [corpus.npmi(words) for words in topics.words if len(words) > 1]
    words = [word for words in topics.words for word in words]
    scores = {
        "found": len(topics.words),
        "npmi": round(float(np.mean(scored)), 4),
        "diversity": round(len(set(words)) / len(words), 4),
    }
    if corpus.classes and topics.labels is not None:
        from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

        classes = np.unique(corpus.classes, return_inverse=True)[1]
        counts = np.zeros((topics.labels.max() + 2, classes.max() + 1), np.int64)
        np.add.at(counts, (topics.labels, classes), 1)
        scores["purity"] = round(float(counts.max(axis=1).sum() / len(classes)), 4)
        scores["ari"] = round(float(adjusted_rand_score(classes, topics.labels)), 4)
        scores["nmi"] = round(float(normalized_mutual_info_score(classes, topics.labels)), 4)
    return scores


def installed(package: str) -> str | None:
    """Return the version of a package, None if it is not installed."""
    with contextlib.suppress(PackageNotFoundError):
        return version(package)
    return None


def jobs(asked: argparse.Namespace) -> Iterator[tuple[str, str, int, int]]:
    """Yield the corpus, method, number of topics and seed of each fit."""
    for seed in range(1, asked.seeds + 1):
        for k in (*asked.topics, *sorted({*CLASSES.values()} - {*asked.topics})):
            for name in asked.corpora:
                if k in asked.topics or CLASSES.get(name) == k:
                    yield from ((name, method, k, seed) for method in asked.methods)


def train(asked: argparse.Namespace) -> None:
    """Run fits that are not stored yet, until the given number of minutes has passed."""
    began = time.monotonic()
    methods = [m for m in asked.methods if installed(METHODS[m].package)]
    for method in set(asked.methods) - set(methods):
        print(f"left out, {METHODS[method].package} is not installed: {method}")
    done = {(r["corpus"], r["method"], r["topics"], r["seed"]) for r in stored(asked.results)}
    corpora: dict[str, Corpus] = {}
    for name, method, k, seed in jobs(asked):
        if (name, method, k, seed) in done or method not in methods:
            continue
        if time.monotonic() - began > 60 * asked.minutes:
            print("time is over: start the command again for the rest")
            break
        if name not in corpora:
            corpora[name] = CORPORA[name](asked.data)
        corpus, start = corpora[name], time.process_time()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            fitted = list(METHODS[method].fit(corpus, k, seed))
        seconds = round(time.process_time() - start, 2)
        about = {"topics": k, "seed": seed, "seconds": seconds}
        lines = ""
        for suffix, topics in fitted:
            row = {"corpus": name, "method": method + suffix} | about | score(corpus, topics)
            row["version"] = installed(METHODS[method].package)
            lines += json.dumps(row) + "\n"
            print(*row.values(), flush=True)
        with asked.results.open("a") as out:
            out.write(lines)


def stored(path: Path) -> list[dict[str, Any]]:
    """Read stored fits from a file."""
    return [json.loads(line) for line in lines_of(path)] if path.exists() else []


# ---- tables


def tables(rows: list[dict[str, Any]]) -> str:
    """Return the tables of the page: one of words, and one of human classes."""
    rows = comparable(rows)
    corpora = [name for name in CORPORA if any(r["corpus"] == name for r in rows)]
    methods = list(dict.fromkeys(r["method"] for r in rows))
    topics = sorted({r["topics"] for r in rows} - {*CLASSES.values()})
    lines = [
        f"NPMI and diversity, means over K = {', '.join(map(str, topics))}:",
        "",
        f"| method | {' | '.join(corpora)} |",
        "|---" * (len(corpora) + 1) + "|",
    ]
    for method in methods:
        cells = [mean_of(rows, name, method, ("npmi", "diversity")) for name in corpora]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    labelled = [n for n in corpora if any(r["corpus"] == n and "nmi" in r for r in rows)]
    lines += [
        "",
        "Main topics of documents and classes of people: purity, ARI, NMI:",
        "",
        f"| method | {' | '.join(labelled)} |",
        "|---" * (len(labelled) + 1) + "|",
    ]
    for method in methods:
        if method.startswith("sgmc, "):  # other words of the same topics
            continue
        cells = [mean_of(rows, name, method, ("purity", "ari", "nmi")) for name in labelled]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    # Rows of other words of the same topics have the seconds of one fit.
    fits = [row["seconds"] for row in rows if not row["method"].startswith("sgmc, ")]
    lines += ["", f"{len(fits)} fits took {sum(fits):,.0f} processor seconds."]
    return "\n".join(lines) + "\n"


def comparable(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return fits of combinations of corpus, K and seed for which all methods were run."""
    methods: dict[str, set[str]] = {}
    having: dict[tuple[str, int, int], set[str]] = {}
    for row in rows:
        methods.setdefault(row["corpus"], set()).add(row["method"])
        key = row["corpus"], row["topics"], row["seed"]
        having.setdefault(key, set()).add(row["method"])
    complete = {key for key, found in having.items() if found == methods[key[0]]}
    return [r for r in rows if (r["corpus"], r["topics"], r["seed"]) in complete]


def mean_of(rows: list[dict[str, Any]], corpus: str, method: str, keys: Sequence[str]) -> str:
    """Format means over the fits of a method on a corpus.

    The classes of a corpus of `CLASSES` are compared at its own K, its words at the others.
    """
    own = CLASSES.get(corpus)
    some = [r for r in rows if r["corpus"] == corpus and r["method"] == method and keys[0] in r]
    some = [r for r in some if own is None or (r["topics"] == own) == (keys[0] == "purity")]
    if not some:
        return "-"
    values = [[row[key] for key in keys] for row in some]
    return ", ".join(f"{x:.3f}" for x in np.mean(values, axis=0))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the folder of the corpora")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA)[:5])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--topics", nargs="+", type=int, default=TOPICS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no fit after these")
    parser.add_argument("--page", type=Path, help="the page that has the tables")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    if asked.data:
        train(asked)
    text = tables(stored(asked.results))
    if asked.page:
        head, _, rest = asked.page.read_text().partition(BEGIN)
        asked.page.write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")
    else:
        print(text)


if __name__ == "__main__":
    main()
