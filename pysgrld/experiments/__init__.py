"""Experiments that repeat figures and tables of papers, with the list `EXPERIMENTS`.

The function is ``(setting, listener) -> Report`` (see `pysgrld.experiments.frame`), with a third
parameter ``corpus`` if its entry names a corpus. The function's module is imported only when the
experiment runs. This module does not import NumPy, so that the list appears at once.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple

from pysgrld.errors import MissingInputError, UsageError
from pysgrld.options.paths import path_exists

if TYPE_CHECKING:
    from pysgrld.experiments.frame import ExperimentListener, ExperimentSetting, Report


class Experiment(NamedTuple):
    """Experiment that repeats one figure or table of a paper.

    Attributes
    ----------
    function : str
        ``module:function``, with a module of this package.
    summary : str
        Summary of the rerun in one line.
    source : str
        The paper, and the figure, table or section in it.
    claim : str
        The paper's claim, in a sentence or two.
    corpus : str
        Description of the path that ``--corpus`` must name; empty if the experiment generates its
        data.
    options : tuple of str
        Options of ``sgmc reproduce`` that this experiment uses, but not all experiments do.
    """

    function: str
    summary: str
    source: str
    claim: str
    corpus: str = ""
    options: tuple[str, ...] = ()

    def run(
        self, setting: ExperimentSetting, listener: ExperimentListener, corpus: Path | None
    ) -> Report:
        """Import the experiment's function and call it, with the path from `check_corpus`."""
        arguments = (corpus,) if self.corpus else ()
        report: Report = resolve_name(f"{__name__}.{self.function}")(setting, listener, *arguments)
        return report


_DLDA = "Cong, Chen, Liu and Zhou (2017), Deep latent Dirichlet allocation with TLASGR MCMC"
_SGRLD = "Patterson and Teh (2013), Stochastic gradient Riemannian Langevin dynamics on the simplex"
_SCIR = "Baker, Fearnhead, Fox and Nemeth (2018), Large-scale stochastic sampling from the simplex"
_SMLD = "Hsieh, Kavis, Rolland and Cevher (2018), Mirrored Langevin dynamics"
_SGGMC = "Liu, Zhu and Song (2016), Stochastic gradient geodesic MCMC methods"
_PARTS = "a folder with docword.NAME.train.txt(.gz), docword.NAME.test.txt(.gz) and vocab.NAME.txt"

EXPERIMENTS: dict[str, Experiment] = {
    "dlda-table1": Experiment(
        "dlda_curves:table1",
        "perplexity of deep LDA on 20News: paper's samplers and sgmc's, 1 to 3 layers",
        f"{_DLDA}, Table 1 and Figure 1 (a)",
        "Gibbs over the whole corpus has the lowest perplexity and improves with every layer. "
        "TLASGR is within a few points of Gibbs, TLFSGR is slightly worse, and SGRLD is worst.",
        "a folder with the authors' matrix: docword.NAME.train.txt, "
        "docword.NAME.test-observed.txt, docword.NAME.test-heldout.txt (each also as .gz) and "
        "vocab.NAME.txt",
        ("rows", "seeds", "seconds"),
    ),
    "dlda-wikipedia": Experiment(
        "dlda_curves:wikipedia",
        "perplexity of deep LDA on Wikipedia: four samplers, one to three layers",
        f"{_DLDA}, Table 1 and Figure 1 (c)",
        "TLASGR has the lowest perplexity and improves with a second layer; TLFSGR is two to "
        "four points worse. SGRLD improves least, and Gibbs over the whole corpus starts slowly.",
        _PARTS,
        ("rows", "seeds", "seconds"),
    ),
    "dlda-rates": Experiment(
        "dlda_curves:rates",
        "how long the steps of TLASGR are in each of three layers",
        f"{_DLDA}, Figure 2",
        "Higher layers prefer longer steps, and larger corpora prefer shorter steps. The "
        "difference between layers depends on the corpus.",
        f"the folder of the experiment dlda-table1, or {_PARTS}",
    ),
    "dlda-mnist": Experiment(
        "dlda_mnist:run",
        "topics of handwritten digits in three layers, by TLFSGR and TLASGR",
        f"{_DLDA}, Figure 3",
        "With TLASGR, whose steps adapt to each layer, the topics of all layers are meaningful "
        "after one epoch. With TLFSGR, the topics of layers 2 and 3 have hardly moved.",
        "a folder with train-images-idx3-ubyte or train-images-idx3-ubyte.gz",
    ),
    "sgrld-fig1": Experiment(
        "sgrld_fig1:run",
        "effective sample size of Langevin samplers on a Dirichlet, and their bias",
        f"{_SGRLD}, Figure 1",
        "Riemannian Langevin in expanded-mean coordinates (EM-RLD) has the largest effective sample "
        "size (at epsilon .1). That of plain Langevin in natural coordinates (RN-LD, EN-LD) is "
        "smaller.",
        options=("seeds",),
    ),
    "sgrld-nips": Experiment(
        "lda_curves:sgrld_nips",
        "perplexity on NIPS papers, batch mode: collapsed Gibbs, SGRLD, OVB, HSVG",
        f"{_SGRLD}, Figure 2 (a)",
        "Collapsed Gibbs has the lowest perplexity, then SGRLD, then OVB, then HSVG.",
        "docword.NAME.txt(.gz), or a folder with it, and vocab.NAME.txt next to it",
        ("rows", "seeds", "seconds"),
    ),
    "sgrld-wikipedia": Experiment(
        "lda_curves:sgrld_wikipedia",
        "perplexity on Wikipedia: SGRLD, OVB, HSVG as published, and sgmc's defaults",
        f"{_SGRLD}, Figure 2 (b)",
        "HSVG is better than OVB, and SGRLD is a substantial improvement on both.",
        _PARTS,
        ("rows", "seeds", "seconds"),
    ),
    "scir-synthetic": Experiment(
        "scir_synthetic:run",
        "SCIR and SGRLD on a sparse and a dense Dirichlet: distance to the posterior",
        f"{_SCIR}, Figures 1 and 2",
        "With sparse categories SCIR is near the exact distribution and SGRLD is not; without sparse "
        "categories they are equally near.",
    ),
    "scir-bias": Experiment(
        "scir_bias:run",
        "bias of SGRLD and SCIR on gamma targets, by step size",
        f"{_SCIR}, proposition 1.1 and corollary 3.2",
        "The bias of SGRLD is O(h), and relatively large where a component is sparse; SCIR has no "
        "bias at any step size.",
    ),
    "scir-lda": Experiment(
        "lda_curves:scir_lda",
        "perplexity on Wikipedia: SCIR and SGRLD, with published and with equal priors",
        f"{_SCIR}, Figure 3 (a)",
        "SCIR still improves when SGRLD begins to converge.",
        _PARTS,
        ("rows", "seeds", "seconds"),
    ),
    "scir-dpmm": Experiment(
        "scir_dpmm:run",
        "Dirichlet-process mixture of web users: Gibbs, SCIR, SGRLD, authors' settings",
        f"{_SCIR}, Figure 3 (b)",
        "SCIR converges to a lower (better) score, and its scores vary less. SGRLD gets worse in "
        "the end, and proposes many more clusters than are needed.",
        _PARTS,
        ("rows", "seeds"),
    ),
    "mld-tv": Experiment(
        "mld_tv:run",
        "total variation of mirrored Langevin and SGRLD on a sparse Dirichlet",
        f"{_SMLD}, section 5.1, Figure 1 (a), and appendix H.1",
        "At every step size, draws of mirrored Langevin (MLD) approach the posterior sooner and "
        "more closely than draws of SGRLD, above all in categories with few counts.",
        options=("seeds",),
    ),
    "mld-noise": Experiment(
        "mld_noise:run",
        "minibatch noise of primal and dual gradients (posterior: as in mld-tv)",
        f"{_SMLD}, lemma 2",
        "The dual stochastic gradient has no more noise than the primal one.",
    ),
    "smld-lda": Experiment(
        "lda_curves:smld_lda",
        "perplexity on Wikipedia: mirrored Langevin, exact and approximate, and SGRLD",
        f"{_SMLD}, Figure 1 (b)",
        "SMLD-approximate converges clearly faster than SGRLD, and to a better level.",
        _PARTS,
        ("rows", "seeds", "seconds"),
    ),
    "sam-circle": Experiment(
        "sam_circle:run",
        "density with two modes on a circle, noisy gradients: SGGMC and the thermostat",
        f"{_SGGMC}, section 5.1, Figure 3",
        "If the sampler knows the variance of the noise, its draws follow the true distribution: "
        "the noise does not distort them.",
    ),
    "sam-order": Experiment(
        "sam_order:run",
        "order of SGGMC's integrator on the circle: error by step size",
        f"{_SGGMC}, section 3.3",
        "The geodesic integrator of SGGMC is of second order.",
    ),
    "sam-vmf-posterior": Experiment(
        "sam_vmf_posterior:run",
        "posterior of two directions, 100 points: GMC, and SGGMC with minibatches of 10",
        f"{_SGGMC}, section 5.2, Figure 4",
        "With minibatches and the empirical Fisher information, draws follow the true "
        "posterior, including its modes and correlation.",
    ),
    "sam-20news": Experiment(
        "sam_curves:sam_20news",
        "spherical admixture of newsgroups: six methods, authors' settings and sgmc's",
        f"{_SGGMC}, Figure 5 (a)",
        "From best to worst: gSGNHT, SGGMC, GMC, variational Bayes (which stops early). gSGNHT "
        "and SGGMC are better with minibatches than with the whole corpus.",
        _PARTS,
        ("rows", "seeds", "seconds"),
    ),
    "sam-wikipedia": Experiment(
        "sam_curves:sam_wikipedia",
        "spherical admixture of Wikipedia: six methods, authors' settings and sgmc's",
        f"{_SGGMC}, Figure 5 (b)",
        "The order of the methods is the same as for the newsgroups, with larger differences. GMC "
        "hardly moves.",
        _PARTS,
        ("rows", "seeds", "seconds"),
    ),
}


def find(name: str) -> Experiment:
    """Return the experiment with a given name.

    Parameters
    ----------
    name : str
        Name of the experiment.

    Returns
    -------
    Experiment

    Raises
    ------
    UsageError
        If no experiment has that name.
    """
    if name in EXPERIMENTS:
        return EXPERIMENTS[name]
    near = difflib.get_close_matches(name, EXPERIMENTS, 1)
    hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(EXPERIMENTS)}"
    raise UsageError(f"no experiment '{name}': {hint}")


def check_corpus(name: str, corpus: str | None) -> Path | None:
    """Return the path of an experiment's corpus, which must exist; None if it uses no corpus.

    Parameters
    ----------
    name : str
        Name of the experiment.
    corpus : str or None
        Path after ``--corpus``.

    Returns
    -------
    Path or None

    Raises
    ------
    UsageError
        If a corpus is given, but the experiment generates its data.
    MissingInputError
        If the experiment needs a corpus, but none is given or the path does not exist.
    """
    needed = EXPERIMENTS[name].corpus
    if corpus is None:
        if needed:
            raise MissingInputError(f"{name} needs its data: give --corpus PATH, {needed}")
        return None
    if not needed:
        raise UsageError(f"--corpus does not apply to {name}, which makes its own data")
    path = Path(corpus)
    if not path_exists(path):
        raise MissingInputError(f"{path}: no such file or folder; --corpus must be {needed}")
    return path
