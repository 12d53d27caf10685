"""Reading and scoring of runs of LDA."""

from __future__ import annotations

from pysgrld.evaluate import Completion, HeldOut, Scorer
from pysgrld.models.admixture import AdmixtureFitted
from pysgrld.models.fitted import Fitted, Record
from pysgrld.models.lda.documents import blocks
from pysgrld.models.lda.reader import LdaReaders
from pysgrld.models.lda.resolved import LDAOptions


def readers(options: LDAOptions) -> LdaReaders:
    """Make the maker of readers, which fit or sample documents as training does."""
    return LdaReaders(options.topics, options.fixed_alpha, options.algo == "ovb")


def scorer(options: LDAOptions, held_out: HeldOut, words: int, threads: int) -> Scorer:
    """Make the scorer of draws on held-out documents over V words."""
    del words
    return Completion(held_out, readers(options), threads)


def fitted(record: Record, threads: int) -> Fitted:
    """Read a trained run of LDA."""
    parts = blocks(record.options, record.words, record.tokens)
    return AdmixtureFitted(record, threads, parts, readers(record.options))
