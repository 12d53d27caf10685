"""Resolved options of a multinomial, as its chain, scorer and reader use them."""

from __future__ import annotations

from dataclasses import dataclass

from pysgrld.options.option import Resolved


@dataclass(frozen=True, kw_only=True)
class MultinomialOptions(Resolved):
    """Resolved options of a multinomial."""

    topics: None = None
    eta: float
    power: float
