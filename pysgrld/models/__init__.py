"""Models: a local sampler and a list of global parts. Adding one is a module and a row here."""

from __future__ import annotations

from pysgrld.models import lda
from pysgrld.types import Model

__all__ = ["MODELS"]

MODELS: dict[str, Model] = {
    model.name: model
    for model in (Model("lda", "latent Dirichlet allocation", lda.blocks, lda.local_step),)
}
