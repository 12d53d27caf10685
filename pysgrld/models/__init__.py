"""Models: global parts, and how documents are sampled given them. Adding one is a module and a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pysgrld.models import dlda, lda, lda_collapsed, lda_mean_field
from pysgrld.types import LocalSampler, Model

__all__ = ["MODELS", "documents_of"]

_GIBBS = LocalSampler(lda.local, lda.keep, lda.local_step, lda.Reader, 50)

MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model("lda", "latent Dirichlet allocation", lda.blocks, _GIBBS, {
            "ovb": LocalSampler(lda_mean_field.local, None, lda_mean_field.step,
                                lda_mean_field.Reader, 50),
            "cgs": _GIBBS._replace(local=lda_collapsed.local, keep=lda_collapsed.keep,
                                   step=lda_collapsed.step),
        }),
        Model("dlda", "deep LDA, the Poisson gamma belief network", dlda.blocks,
              LocalSampler(dlda.local, dlda.keep, dlda.local_step, dlda.Reader, 200)),
    )
}  # fmt: skip


def documents_of(options: Mapping[str, Any]) -> LocalSampler:
    """How these options want documents sampled."""
    model = MODELS[options["model"]]
    return model.others.get(options.get("algo", ""), model.documents)
