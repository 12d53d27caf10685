"""Reading and scoring of runs of deep LDA."""

from __future__ import annotations

from collections.abc import Sequence

from pysgrld.core.draws import Draw
from pysgrld.evaluate import PERPLEXITY, Completion, HeldOut, Scorer
from pysgrld.models.admixture import AdmixtureFitted
from pysgrld.models.dlda.documents import blocks, projection
from pysgrld.models.dlda.reader import DeepReaders
from pysgrld.models.dlda.resolved import DeepLDAOptions
from pysgrld.models.dlda.tree import tree
from pysgrld.models.fitted import Fitted, Node, Record, top_words
from pysgrld.types import Floats

#: Perplexity, and beside it the figure that the paper calls so.
DEEP_PERPLEXITY = PERPLEXITY._replace(
    further=(
        (
            "rate_weighted_perplexity",
            "rate weighted",
            "samples weighted by their total rate, as the paper has it",
        ),
    )
)


class DeepFitted(AdmixtureFitted):
    """A trained run of deep LDA, read: topics of several layers, each over the one below."""

    score = DEEP_PERPLEXITY

    def _priors(self, draw: Draw, at: int) -> None:
        """Give None: the prior is no Dirichlet, and nothing of it is taken off the weights."""
        del draw, at

    def over_words(self, draw: Draw, at: int) -> Floats:
        """Give the topics of a layer over the words, through the layers below, (V, Kp) float32."""
        return projection(draw, self.layers, at)

    def tree(self, vocabulary: Sequence[str], words: int) -> list[Node] | None:
        """Draw up the topics of the top layer in use, each with those below it and its top words."""
        draw = self.mean or self.current
        tops = [
            top_words(self.over_words(draw, at)[:, :k], words) for at, k in enumerate(self.layers)
        ]
        return tree(
            draw, self.layers, [[[vocabulary[w] for w in row] for row in top] for top in tops]
        )


def scorer(options: DeepLDAOptions, held_out: HeldOut, words: int, threads: int) -> Scorer:
    """Make the scorer of draws on held-out documents over V words."""
    del words
    return Completion(held_out, DeepReaders(options), threads)


def fitted(record: Record, threads: int) -> Fitted:
    """Read a trained run of deep LDA."""
    parts = blocks(record.options, record.words, record.tokens)
    return DeepFitted(record, threads, parts, DeepReaders(record.options))
