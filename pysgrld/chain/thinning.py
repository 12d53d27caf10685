"""The rule by which posterior samples are kept on disk."""

from __future__ import annotations

from typing import NamedTuple


class Thinning(NamedTuple):
    """The rule by which samples are kept: every one until there are ``limit``, then every second, ...

    A pure function of the number of samples, so that a resumed run keeps the same ones.
    """

    limit: int

    def spacing(self, samples: int) -> int:
        """Give the spacing of the kept samples when ``samples`` were taken."""
        spacing = 1
        while samples // spacing > self.limit:
            spacing *= 2
        return spacing

    def kept(self, samples: int) -> list[int]:
        """Give the ordinals (from 1) of the samples that are kept when ``samples`` were taken."""
        s = self.spacing(samples)
        return list(range(s, samples + 1, s))
