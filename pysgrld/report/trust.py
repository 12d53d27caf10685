"""Sentences on what may be relied on: of each topic, and of the run as a whole."""

from __future__ import annotations

from typing import NamedTuple

from pysgrld.errors import all_of
from pysgrld.reading.diagnosis import Diagnosis, MatchedTopic, is_mixed, is_shared


class Trust(NamedTuple):
    """Whether a topic may be relied on.

    Attributes
    ----------
    good : bool or None
        None: neither good nor bad.
    head, text : str
        Who found it, and what may be relied on.
    drift : str or None
        R-hat, where the topic was found again and its numbers have not come to rest.
    """

    good: bool | None
    head: str
    text: str
    drift: str | None


def trust(topic: MatchedTopic, chains: int) -> Trust:
    """Say whether a topic may be relied on: was it found again, and have its numbers come to rest.

    Parameters
    ----------
    topic : MatchedTopic
    chains : int
        One chain is compared with itself, its first half with its second.
    """
    again = is_shared(topic)
    drift = f"{topic.rhat:.2f}" if again and not is_mixed(topic) else None
    if chains == 1:
        head = "It stayed what it was through the chain."
        if not again:
            head = (
                f"It changed: the halves of the chain have {topic.overlap:.2f} of it in common: do not "
                "rely on it."
            )
        text = "Whether another chain would find it is not known."
        return Trust(None if again and drift is None else False, head, text, drift)
    if again:
        text = "trust it." if drift is None else "trust what it is about."
        return Trust(
            drift is None, f"{all_of(chains, 'chains').capitalize()} found it:", text, drift
        )
    head = f"{topic.found} of {chains} chains found it:"
    if topic.found == 1:
        head = "No other chain found it:"
    return Trust(False, head, "do not rely on it.", None)


def not_at_rest(d: Diagnosis) -> str:
    """Say of how many topics the numbers have not come to rest; nothing where they all have."""
    moving = sum(not is_mixed(topic) for topic in d.topics)
    if not moving:
        return ""
    if moving == len(d.topics):
        return f"No {d.noun}'s numbers have come to rest."
    return f"The numbers of {moving} of {len(d.topics)} {d.noun}s have not come to rest."
