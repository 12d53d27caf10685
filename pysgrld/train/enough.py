"""Warnings of a corpus that is too small for what is asked of it."""

from __future__ import annotations

from collections.abc import Iterator

from pysgrld.errors import plural
from pysgrld.evaluate import HeldOut
from pysgrld.options.facts import Facts
from pysgrld.options.resolved import Resolved

#: Tokens for each topic below which what is found is not what is there, and from which it may be:
#: docs/evaluation.md, "How much is enough?", as the others.
TOKENS, BETTER = 300, 1000
#: Held-out documents, and held-out tokens of those that are split, below which figures compare little.
HELD_OUT_DOCUMENTS, HELD_OUT_TOKENS = 20, 500


def too_small(options: Resolved, facts: Facts) -> Iterator[str]:
    """Warn of more topics than documents, or than tokens can tell apart.

    Parameters
    ----------
    options : Resolved
    facts : Facts
        Of the training documents.
    """
    documents = facts.documents
    k = max(options.widths, default=0)  # a mixture finds its own number
    if k <= documents and k * TOKENS <= facts.tokens:
        return
    each = facts.tokens // k
    most = min(documents, facts.tokens // BETTER)
    advice = f"{most} or fewer may do" if most > 1 else "topics need more documents"
    yield (
        f"warning: {plural(k, 'topic')} for {plural(documents, 'document')} of "
        f"{plural(facts.tokens, 'token')}, about {plural(each, 'token')} a topic, too few to find topics "
        f"that are there: {advice}"
    )


def too_few(held_out: HeldOut, *, whole: bool) -> Iterator[str]:
    """Warn of too few held-out documents or tokens to compare models by."""
    documents, tokens = len(held_out.held_out), held_out.held_out.tokens
    if documents >= HELD_OUT_DOCUMENTS and (whole or tokens >= HELD_OUT_TOKENS):
        return
    of = plural(tokens, "token" if whole else "held-out token")
    yield (
        f"warning: {plural(documents, 'held-out document')} with {of}: too few to compare models by; "
        "hold more out with --holdout, or give others with --holdout-corpus"
    )
