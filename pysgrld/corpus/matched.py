"""Documents over the words of a trained run, as a stream: nothing is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

from pysgrld.corpus.intake import told
from pysgrld.corpus.lexicon import Lexicon
from pysgrld.corpus.open import Meter, check_inputs
from pysgrld.corpus.options import CorpusOptions, Progress
from pysgrld.corpus.reader import read
from pysgrld.types import Documents


def matched_documents(
    inputs: Sequence[str],
    options: CorpusOptions,
    words: Sequence[str],
    *,
    threads: int,
    notify: Callable[[Progress], None],
    log: Callable[[str], None],
) -> Iterator[Documents]:
    """Read inputs over given words; unknown ones are dropped and counted.

    Documents stay in order, and those without a known word stay as empty rows, as do bad ones that
    are skipped.

    Parameters
    ----------
    inputs : sequence of str
    options : CorpusOptions
    words : sequence of str
    threads : int
    notify, log : callable
        As for `open_corpus`.

    Yields
    ------
    Documents
        Some consecutive ones; what was read of a pipe is not held back.

    Raises
    ------
    SgmcError
        As `open_corpus` does.
    """
    check_inputs(inputs)
    lexicon = Lexicon(options, words, True, log)
    meter = Meter(inputs, notify)
    tokens = 0
    steps = read(
        inputs, options, keep_empty=True, threads=threads, waiting=lambda: meter.tell(lexicon)
    )
    with closing(steps):
        for step in steps:
            meter.read += step.size
            block = lexicon.take(step)
            if block is not None:
                tokens += block.tokens
                yield block
            meter.tell(lexicon)
    told(lexicon, tokens)
