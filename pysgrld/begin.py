"""Which chain a model has: one place for all who train."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pysgrld.chain import Chain
from pysgrld.mixture_chain import MixtureChain
from pysgrld.stream import Minibatches

#: A chain of any kind: they are used alike.
AnyChain = Chain | MixtureChain

CHAINS: dict[str, type[Chain] | type[MixtureChain]] = {
    "lda": Chain,
    "dlda": Chain,
    "dpmm": MixtureChain,
}


def begin(
    options: Mapping[str, Any], stream: Minibatches, words: int, tokens: int, threads: int,
    waiting: Callable[[], None] = lambda: None,
) -> AnyChain:  # fmt: skip
    """The chain of resolved options; parameters as `pysgrld.chain.Chain` has them."""
    return CHAINS[options["model"]](options, stream, words, tokens, threads, waiting)
