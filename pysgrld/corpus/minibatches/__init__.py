"""Minibatches, the documents of each iteration: epochs of a stored corpus, or one pass over a stream."""

from pysgrld.corpus.minibatches.ahead import Ahead
from pysgrld.corpus.minibatches.epochs import Epochs, minibatch_words
from pysgrld.corpus.minibatches.holdout import hold_out_size
from pysgrld.corpus.minibatches.one_pass import FeedPosition, OnePass
from pysgrld.corpus.minibatches.sources import Feed, Minibatches, Source, compact

__all__ = [
    "Ahead",
    "Epochs",
    "Feed",
    "FeedPosition",
    "Minibatches",
    "OnePass",
    "Source",
    "compact",
    "hold_out_size",
    "minibatch_words",
]
