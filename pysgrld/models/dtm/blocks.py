"""The block of dynamic topics: words that walk, in every slice of time.

    b_1 ~ N(0, spread^2),  b_t ~ N(b_(t-1), drift^2),  phi_t = softmax of b_t over words

Documents of slice t are those of LDA given phi_t (`pysgrld.models.token_topics`), which reads row w T + t
of the topics for word w.
"""

from __future__ import annotations

from pysgrld.models.dtm.resolved import DynamicOptions
from pysgrld.types import Block


def blocks(options: DynamicOptions, words: int, tokens: float) -> tuple[Block, ...]:
    """Return the topics over V words in T slices."""
    return (
        Block(
            name="phi",
            geometry="walk",
            shape=(words * options.copies, options.topics),
            prior=0.0,
            stream=0,
            mass=float(tokens),
            hyper=(options.drift, options.spread),
            sparse=True,
            settings=options.settings,
            copies=options.copies,
        ),
    )
