"""Who the documents of a corpus are: where each came from, its id, title and columns, and its text.

They lie beside the counts of a stored corpus, in ``documents.npz`` and ``texts.npz``; training never
looks at them.
"""
