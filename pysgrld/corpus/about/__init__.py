"""Details of the documents of a corpus: origin, id, title, columns and text of each document.

They are stored next to the counts of a corpus, in ``documents.npz`` and ``texts.npz``; training never
reads them.
"""
