"""Documents' names: where each came from, its id, title and columns, and its text if it is kept.

Beside the counts of a stored corpus, in ``documents/``; training never looks at it.
"""
