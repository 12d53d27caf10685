"""The option --exact-sweeps for models with a Gibbs refinement, and its default.

No NumPy here: help must be instant.
"""

from __future__ import annotations

from pysgrld.options.option import Facts, Option
from pysgrld.options.parse import integer

#: By default, a Gibbs refinement follows training if its chains need at most this number of bytes.
EXACT_BYTES = 2 << 30

EXACT_SWEEPS = Option(
    integer(0, auto="auto"),
    "auto; 0 for presets and for gibbs, cgs, mala, ovb, hsvg",
    "number of sweeps of the Gibbs refinement: four chains over all documents after training, for "
    "credible intervals (auto: as long as training, at least 400)",
    "Budget",
    free=True,
    metavar="auto|N",
)


def default_exact_sweeps(need: int, *, possible: bool) -> int | str:
    """Return the default number of sweeps: "auto" if the refinement is possible, otherwise 0.

    Parameters
    ----------
    need : int
        Bytes of the exact chains.
    possible : bool
        True if training draws by minibatches of a stored corpus, without a preset.
    """
    return "auto" if possible and need <= EXACT_BYTES else 0


def exact_bytes(facts: Facts, chain_bytes: int) -> int:
    """Return the bytes of memory that the chains of a Gibbs refinement need.

    They are needed for documents, token topics, and topics over words. The topics of one chain are
    copied, to be read while the chains continue. A replicate has topics, their mean, counts twice,
    and 63 % of the documents, with 36 bytes per token: for the document, the token's topic, its
    weight, and the cell of its word with and without the topic.

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
