"""The option --exact-sweeps of models with Gibbs refinement: its checks, and its default.

No NumPy here: help must be instant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pysgrld.errors import UsageError
from pysgrld.options.option import Facts, Option
from pysgrld.options.parse import integer
from pysgrld.samplers import SAMPLERS

#: Bytes up to which exact chains follow training by default.
EXACT_BYTES = 2 << 30

EXACT_SWEEPS = Option(
    integer(0, auto="auto"),
    "auto; presets, gibbs, cgs, mala, ovb, hsvg: 0",
    "sweeps of four exact chains over all documents after training, whose draws are the posterior's "
    "(auto: as long as training takes)",
    "Budget",
    free=True,
    metavar="auto|N",
)


def check_exact(settings: Mapping[str, Any], algo: str) -> None:
    """Refuse Gibbs sweeps after exact samplers and approximations, and for documents read once.

    Raises
    ------
    UsageError
    """
    if not settings.get("exact-sweeps"):
        return
    if SAMPLERS[algo].whole_corpus or not SAMPLERS[algo].draws:
        raise UsageError(f"--exact-sweeps does not apply to --algo {algo}: leave it out")
    if "corpus-size" in settings:
        raise UsageError(
            "--exact-sweeps needs all documents, --corpus-size reads them once: leave one out"
        )


def usual_exact(value: Mapping[str, Any], need: int, *, whole_corpus: bool) -> int | str:
    """Return the default number of Gibbs sweeps: 0 if they are impossible, or would need much memory.

    Parameters
    ----------
    value : mapping
        Options, by name.
    need : int
        Bytes of the exact chains.
    whole_corpus : bool
        Whether training sees all documents in each iteration.
    """
    never = value["preset"] or value["corpus-size"] or not SAMPLERS[value["algo"]].draws
    return 0 if whole_corpus or never or need > EXACT_BYTES else "auto"


def exact_bytes(facts: Facts, chain_bytes: int) -> int:
    """Return the bytes of exact chains: all documents, their tokens' topics, and the topics of chains.

    One chain is copied, its topics and tokens alone, to be looked at while the chains continue. A
    replicate has topics, their mean, counts twice, and 63 % of the documents, with 36 bytes a token:
    the document, the token's topic, its weight, and the cell of its word with and without the topic.

    Parameters
    ----------
    facts : Facts
        Facts of the corpus.
    chain_bytes : int
        Bytes of the topics of one chain.

    Returns
    -------
    int
        Bytes of all chains.
    """
    from pysgrld.chain.exact import CHAINS

    copied = 4 * facts.tokens + chain_bytes // 4
    replicate = 24 * facts.tokens + 2 * chain_bytes
    return 8 * facts.tokens + CHAINS * (4 * facts.tokens + chain_bytes) + max(copied, replicate)
