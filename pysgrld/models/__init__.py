"""Models: a local sampler and a list of global parts. Adding one is a module and a row here."""

from __future__ import annotations

from pysgrld.models import dlda, lda
from pysgrld.types import Model

__all__ = ["MODELS"]

MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model("lda", "latent Dirichlet allocation",
              lda.blocks, lda.local, lda.keep, lda.local_step, lda.Reader, 50),
        Model("dlda", "deep LDA, the Poisson gamma belief network",
              dlda.blocks, dlda.local, dlda.keep, dlda.local_step, dlda.Reader, 200),
    )
}  # fmt: skip
