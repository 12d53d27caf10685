"""Papers' figures and tables, rerun: a module each, and a row in a table.

The module has ``run(setting, listener) -> Report`` (see `pysgrld.experiments.frame`) and is imported
when it is used: the list must be instant, so no NumPy here.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from pysgrld.errors import UsageError


class Experiment(NamedTuple):
    """One figure or table of a paper.

    Attributes
    ----------
    module : str
        Beside this file.
    summary : str
        What is rerun, in one line.
    source : str
        Paper, and where in it.
    claim : str
        What the paper says, in a sentence or two.
    corpus : str
        What ``--corpus`` must name; empty where the experiment makes its own data.
    options : tuple of str
        Those of ``sgmc reproduce`` that only some experiments have a use for, and this one has.
    """

    module: str
    summary: str
    source: str
    claim: str
    corpus: str = ""
    options: tuple[str, ...] = ()

    @property
    def run(self) -> Callable[..., Any]:
        """Import what does it."""
        run: Callable[..., Any] = importlib.import_module(f"{__name__}.{self.module}").run
        return run


_DLDA = "Cong, Chen, Liu and Zhou (2017), Deep latent Dirichlet allocation with TLASGR MCMC"
_SGRLD = "Patterson and Teh (2013), Stochastic gradient Riemannian Langevin dynamics on the simplex"
_SCIR = "Baker, Fearnhead, Fox and Nemeth (2018), Large-scale stochastic sampling from the simplex"
_SMLD = "Hsieh, Kavis, Rolland and Cevher (2018), Mirrored Langevin dynamics"
_PARTS = "a folder with docword.NAME.train.txt(.gz), docword.NAME.test.txt(.gz) and vocab.NAME.txt"

EXPERIMENTS: dict[str, Experiment] = {
    "dlda-table1": Experiment(
        "dlda_table1",
        "perplexity of deep LDA on 20News: four samplers, one to three layers, and ours",
        f"{_DLDA}, Table 1 and Figure 1 (a)",
        "Gibbs over the whole corpus is best and gains with every layer; TLASGR is within a few "
        "points of it, TLFSGR slightly above, SGRLD above that.",
        "a folder with the authors' matrix: docword.NAME.train.txt, docword.NAME.test-observed.txt "
        "and docword.NAME.test-heldout.txt, each perhaps .gz, and vocab.NAME.txt",
        ("rows", "seeds", "seconds"),
    ),
    "dlda-mnist": Experiment(
        "dlda_mnist",
        "what three layers learn of handwritten digits: TLFSGR beside TLASGR",
        f"{_DLDA}, Figure 3",
        "After one epoch the atoms of all layers are meaningful with TLASGR, whose steps adapt to "
        "each layer; with TLFSGR those of layers 2 and 3 have hardly moved.",
        "a folder with train-images-idx3-ubyte or train-images-idx3-ubyte.gz",
    ),
    "sgrld-wikipedia": Experiment(
        "sgrld_wikipedia",
        "Wikipedia online: SGRLD, OVB, HSVG as published; every sampler at its default",
        f"{_SGRLD}, Figure 2 (b)",
        "HSVG is better than OVB, and SGRLD is a substantial improvement on both.",
        _PARTS,
        ("rows", "seeds", "seconds"),
    ),
    "sgrld-nips": Experiment(
        "sgrld_nips",
        "NIPS papers in batch mode: collapsed Gibbs, SGRLD, OVB, HSVG",
        f"{_SGRLD}, Figure 2 (a)",
        "Collapsed Gibbs is lowest, then SGRLD, then OVB, then HSVG.",
        "docword.NAME.txt(.gz), or a folder with it, and vocab.NAME.txt beside it",
        ("rows", "seeds", "seconds"),
    ),
    "scir-lda": Experiment(
        "scir_lda",
        "Wikipedia online: SCIR beside SGRLD, as published and with one prior",
        f"{_SCIR}, Figure 3 (a)",
        "SCIR keeps descending past where SGRLD begins to converge.",
        _PARTS,
        ("rows", "seeds", "seconds"),
    ),
    "scir-dpmm": Experiment(
        "scir_dpmm",
        "web users in a Dirichlet-process mixture: Gibbs, SCIR, SGRLD, and as released",
        f"{_SCIR}, Figure 3 (b)",
        "SCIR converges to a lower score with less spread; SGRLD gets worse in the end, and proposes "
        "many more clusters than are needed.",
        _PARTS,
        ("rows", "seeds"),
    ),
    "smld-lda": Experiment(
        "smld_lda",
        "Wikipedia online: mirrored Langevin, exact and approximate, beside SGRLD",
        f"{_SMLD}, Figure 1 (b)",
        "SMLD-approximate is clearly better than SGRLD, in speed of convergence and in the level "
        "where it saturates.",
        _PARTS,
        ("rows", "seeds", "seconds"),
    ),
}  # fmt: skip


def find(name: str) -> Experiment:
    """One experiment.

    Raises
    ------
    UsageError
        If there is none of that name.
    """
    if name in EXPERIMENTS:
        return EXPERIMENTS[name]
    near = difflib.get_close_matches(name, EXPERIMENTS, 1)
    hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(EXPERIMENTS)}"
    raise UsageError(f"no experiment '{name}': {hint}")
