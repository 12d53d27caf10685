"""Every option of training, said once: name, meaning, default, and what a value must look like.

The command line, its help, ``config.json`` and the checks are made from this table. Options are
named as they are typed, without the leading dashes. No NumPy here: help must be instant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pysgrld.errors import UsageError
from pysgrld.parsers import (
    choice,
    every,
    integer,
    real,
    reals,
    requeue_code,
    schedule,
    share_or_count,
    size,
    text,
    time_limit,
    widths,
)

ALGORITHMS = {
    "scir": "stochastic Cox-Ingersoll-Ross, exact for sparse topics",
    "sgrld": "stochastic-gradient Riemannian Langevin",
    "tlasgr": "Riemannian steps on the simplex, a scale for each topic and layer",
    "tlfsgr": "the same with one scale for all",
    "smld": "mirrored Langevin",
    "smld-approx": "mirrored Langevin with 1 + y for exp(y), as its paper ran it",
    "gibbs": "blocked Gibbs over the whole corpus, the exact reference",
    "cgs": "collapsed Gibbs over the whole corpus, one chain on one thread",
    "ovb": "online variational Bayes",
    "hsvg": "the same with documents by Gibbs sampling",
}
MODELS = {
    "lda": "latent Dirichlet allocation",
    "dlda": "deep LDA: layers of topics of topics",
    "dpmm": "Dirichlet-process mixture: one component a document, of any number",
}
LINKS = ("counts", "binary", "real")
#: Algorithms that are of deep LDA where no model is named.
DEEP = ("tlasgr", "tlfsgr")
#: Algorithms of LDA alone.
SHALLOW = ("cgs", "ovb", "hsvg")
#: Algorithms of mixtures.
MIXING = ("gibbs", "scir", "sgrld")
#: Algorithms that have the whole corpus as their minibatch.
FULL = ("gibbs", "cgs")
#: Algorithms that approximate the posterior instead of drawing from it.
VARIATIONAL = ("ovb", "hsvg")
#: Signals that may be named as the one that stops a run.
STOP_SIGNALS = ("USR1", "USR2", "HUP", "QUIT", "ALRM", "CONT")
LAZY = ("auto", "on", "off")
CIR_RATES = ("paper", "natural")
#: What the concentration of a mixture is drawn given: its sticks; after Escobar and West (1995), the
#: number of occupied components.
CONCENTRATIONS = ("sticks", "ew")

#: A paper's published settings, as defaults; those under "algos" are for one of its algorithms.
PRESETS: dict[str, dict[str, Any]] = {
    "sgrld-2013": {
        "algo": "sgrld", "topics": 50, "alpha": 0.01, "eta": 0.0001, "minibatch": 50,
        "sweeps": 50, "warm-up": 0, "counts": "sampled", "step-size": (0.01, 1000.0, 0.55),
    },
    "scir-2018": {
        "algo": "scir", "topics": 100, "alpha": 0.005, "eta": 1.0, "minibatch": 50,
        "sweeps": 200, "warm-up": 0, "counts": "sampled", "step-size": (0.5, 10.0, 0.33),
        "lazy": "off",
    },
    "dlda-2017": {
        "algo": "tlasgr", "model": "dlda", "layers": (128, 64, 32), "eta": (0.05,), "minibatch": 200,
        "warm-up": 0, "burn-in": 2000, "sample-every": 1, "counts": "sampled",
        "step-size": (1.0, 21.0, 0.7),
        "algos": {
            "tlasgr": {}, "tlfsgr": {}, "sgrld": {"step-size": (0.1, 21.0, 0.9)},
            "gibbs": {"minibatch": None, "burn-in": 1000, "step-size": None},
        },
    },
    # "the same setting" as SGRLD's; no step is named: ours, of smld by the corpus
    "smld-2018": {
        "algo": "smld-approx", "topics": 50, "alpha": 0.01, "eta": (0.01,), "minibatch": 50,
        "sweeps": 50, "warm-up": 0, "counts": "sampled",
        "algos": {
            "smld-approx": {"step-size": (0.1, 1000.0, 0.55)}, "smld": {},
            "sgrld": {"step-size": (0.01, 1000.0, 0.55)},
        },
    },
    "dpmm-2018": {
        "algo": "scir", "model": "dpmm", "eta": (0.5,), "minibatch": 1000, "dp-start": 20,
        "step-size": (0.1, 1.0, 0.0), "dp-stick-step": 0.1, "dp-reuse": "on",
        "algos": {
            "scir": {},
            "sgrld": {"eta": (0.001,), "dp-start": 30, "step-size": (0.001, 1.0, 0.0),
                      "dp-stick-step": 0.005},
        },
    },
}  # fmt: skip


# ---- the table ----


class Option(NamedTuple):
    """One option of ``sgmc train``.

    Attributes
    ----------
    parse : callable
        From text to value; raises `UsageError`.
    shown : str
        The default, as help shows it.
    help : str
    group : str
        Heading in the help.
    free : bool
        May change at every start without making it another run.
    metavar : str
    default : object
        None where it depends on the corpus (see `pysgrld.settings`).
    """

    parse: Callable[[str], Any]
    shown: str
    help: str
    group: str
    free: bool = False
    metavar: str = ""
    default: Any = None


_MIXTURES = "Mixtures (--model dpmm)"
_AUTO_NONE: dict[str, Any] = {"auto": "auto", "none": 0}
OPTIONS: dict[str, Option] = {
    # model
    "algo": Option(choice(*ALGORITHMS), "scir", "sampler: " + ", ".join(ALGORITHMS), "Model",
                   metavar="NAME", default="scir"),
    "model": Option(choice(*MODELS), "dlda with --layers, tlasgr, tlfsgr; lda",
                    "model: " + ", ".join(MODELS), "Model", metavar="NAME"),
    "topics": Option(integer(1, 1 << 18), "100", "number of topics; of a deep model: in one layer",
                     "Model", metavar="K"),
    "alpha": Option(real(0.0, 1e6), "min(0.1, 5/K)", "Dirichlet prior per topic of a document",
                    "Model", metavar="A"),
    "eta": Option(reals(0.0, 0, ""), "0.05; dpmm: 0.5",
                  "Dirichlet prior per word of a topic; of a deep model: for all layers, or one each",
                  "Model", metavar="E[,E...]", default=(0.05,)),
    "preset": Option(choice(*PRESETS), "none",
                     "a paper's settings as defaults: " + ", ".join(PRESETS), "Model", metavar="NAME"),
    # sampling
    "minibatch": Option(integer(1), "400 (dlda: 200, dpmm: 1000), D/4 or 80,000 tokens; gibbs, cgs: all",
                        "documents per minibatch",
                        "Sampling", metavar="N"),
    "sweeps": Option(integer(1, 100_000), "10; dlda: 30; gibbs, cgs: 1; ovb: 100",
                     "Gibbs sweeps per document and minibatch, the first half burn-in; ovb: passes "
                     "over a document at most, until it has converged", "Sampling",
                     metavar="N"),
    "kept-sweeps": Option(integer(1, 100_000), "half of them; gibbs: 1",
                          "the last so many sweeps are counted", "Sampling", metavar="N"),
    "warm-up": Option(integer(0, **_AUTO_NONE), "auto",
                      "noise-free iterations first (auto: an epoch, within 50 to 500; none)", "Sampling",
                      metavar="auto|none|N"),
    "burn-in": Option(integer(0, auto="auto"), "auto",
                      "iterations before the first posterior sample (auto: the warm-up; 200 without)",
                      "Sampling", metavar="auto|N"),
    "counts": Option(choice("rao-blackwell", "sampled"), "rao-blackwell; gibbs: sampled",
                     "how topic counts are estimated: rao-blackwell, sampled", "Sampling",
                     metavar="HOW"),
    "step-size": Option(schedule, "by the corpus",
                        "step A*(1+t/B)^(-C) of iteration t after the warm-up; ovb, hsvg: its "
                        "weight rho", "Sampling",
                        metavar="A,B,C"),
    "cir-rate": Option(choice(*CIR_RATES), "paper",
                       "scir: rate of a topic's process: paper (1), natural (1 + N_k/s_k, sgrld's target "
                       "without its bias)", "Sampling", metavar="paper|natural"),
    "lazy": Option(choice(*LAZY), "auto",
                   "scir: bring a word's row up to date only when it is next read: auto, on, off",
                   "Sampling", metavar="auto|on|off", default="auto"),
    "seed": Option(integer(0, 2**63 - 1), "0", "seed of all randomness", "Sampling", metavar="N",
                   default=0),
    "chain-id": Option(integer(1, 2**31), "1",
                       "number of this chain among those of one seed, for job arrays: other draws, the "
                       "same held-out documents", "Sampling", metavar="I", default=1),
    "scale-weight": Option(schedule, "0.5,21,0.7",
                           "tlasgr, tlfsgr, deep models: weight A*(1+t/B)^(-C) of a minibatch in what "
                           "steps are scaled by", "Sampling", metavar="A,B,C",
                           default=(0.5, 21.0, 0.7)),
    # deep LDA
    "layers": Option(widths, "none", "topics of each layer, bottom first", "Deep LDA",
                     metavar="K1,K2,..."),
    "link": Option(choice(*LINKS), "counts",
                   "what the data are: counts, binary (present or not), real (non-negative)",
                   "Deep LDA", metavar="KIND", default="counts"),
    "p-prior": Option(reals(0.0, 2, "A0,B0, two numbers"), "0.01,0.01",
                      "Beta prior of a document's p", "Deep LDA", metavar="A0,B0",
                      default=(0.01, 0.01)),
    "c-prior": Option(reals(0.0, 2, "E0,F0, two numbers"), "1,1",
                      "Gamma prior (shape, rate) of a document's rates c", "Deep LDA",
                      metavar="E0,F0", default=(1.0, 1.0)),
    "r-prior": Option(reals(0.0, 2, "GAMMA0,C0, two numbers"), "1,1",
                      "r of the top layer is Gamma(GAMMA0/K, rate C0); gibbs: where they start",
                      "Deep LDA", metavar="G,C", default=(1.0, 1.0)),
    "r-shape-prior": Option(reals(0.0, 2, "E1,F1, two numbers"), "1,1", "gibbs: Gamma prior of GAMMA0",
                           "Deep LDA", metavar="E1,F1", default=(1.0, 1.0)),
    "r-rate-prior": Option(reals(0.0, 2, "E2,F2, two numbers"), "1,1", "gibbs: Gamma prior of C0",
                       "Deep LDA", metavar="E2,F2", default=(1.0, 1.0)),
    # mixtures
    "dp-prior": Option(reals(0.0, 2, "SHAPE,RATE, two numbers"), "1,1",
                       "Gamma prior of the concentration", _MIXTURES, metavar="A,B",
                       default=(1.0, 1.0)),
    "dp-conc": Option(choice(*CONCENTRATIONS), "sticks",
                      "what the concentration is drawn given: sticks, ew (the number of occupied "
                      "components; with minibatches an approximation)", _MIXTURES,
                      metavar="sticks|ew", default="sticks"),
    "dp-stick-step": Option(real(0.0, 1e6), "0.1; sgrld: 0.005",
                            "scir, sgrld: first step of the sticks; it decays as --step-size does",
                            _MIXTURES, metavar="A"),
    "dp-start": Option(integer(1, 1 << 18), "20", "components that documents are spread over at first",
                       _MIXTURES, metavar="J", default=20),
    "dp-reuse": Option(choice("on", "off"), "off",
                       "keep components beyond the last occupied one, which come back: on, off",
                       _MIXTURES, metavar="on|off", default="off"),
    # budget
    "epochs": Option(real(0.0, 1e9), "none", "passes over the corpus", "Budget", True, "N"),
    "iterations": Option(integer(1, 2**53), "none", "minibatches", "Budget", True, "N"),
    "time-limit": Option(time_limit, "none",
                         "wall clock of this process, e.g. 2h30m; auto: what the batch system leaves",
                         "Budget", True, "TIME"),
    # corpus
    "vocab": Option(text, "the corpus's own", "vocabulary, one word a line", "Corpus", metavar="FILE"),
    "max-vocab": Option(integer(1), "100000", "words of a vocabulary that is built", "Corpus",
                        metavar="N"),
    "min-df": Option(share_or_count, "2", "fewest documents of a word: number, or share", "Corpus",
                     metavar="N"),
    "max-df": Option(share_or_count, "0.5", "most documents of a word: number, or share", "Corpus",
                     metavar="N"),
    "stop-words": Option(text, "english", "words to leave out: english, none or a file", "Corpus",
                         metavar="LIST"),
    "token-pattern": Option(text, r"\w\w+", "regular expression of a token", "Corpus",
                            metavar="REGEX"),
    "text-field": Option(text, "text", "field of a JSON line that holds the text", "Corpus",
                         metavar="NAME", default="text"),
    "on-bad-document": Option(choice("stop", "skip"), "stop", "stop, or skip and count", "Corpus",
                              metavar="stop|skip", default="stop"),
    "max-line": Option(size, "64M", "longest line of a text corpus", "Corpus", metavar="SIZE",
                       default=64 << 20),
    "max-input": Option(size, "none", "refuse an input that is larger, decompressed", "Corpus",
                        metavar="SIZE"),
    "corpus-size": Option(integer(1, 2**53), "it is stored first, and counted",
                          "read the corpus once, as a stream, while training: documents it has",
                          "Stream", metavar="D"),
    "shuffle-buffer": Option(integer(2, 2**31), "10000",
                             "documents of a stream to draw from; the first ones give held-out "
                             "documents and, without --vocab, the words", "Stream", metavar="N"),
    # held-out documents
    "holdout": Option(share_or_count, "min(1000, 10 %)",
                      "documents held out: number, or share; 0: none", "Held-out documents",
                      metavar="N"),
    "holdout-corpus": Option(text, "none", "hold out this corpus instead", "Held-out documents",
                             metavar="FILE"),
    "observed-corpus": Option(text, "none", "observed tokens of a split made by others",
                              "Held-out documents", metavar="FILE"),
    "held-out-corpus": Option(text, "none", "held-out tokens of the same documents",
                              "Held-out documents", metavar="FILE"),
    "observed": Option(real(0.0, 1.0), "0.8", "share of a held-out document's tokens observed",
                       "Held-out documents", metavar="SHARE", default=0.8),
    "eval-every": Option(every, "10s", "between lines of held-out perplexity: iterations, or time",
                         "Held-out documents", True, "N|TIME", "10s"),
    "sample-every": Option(integer(1, auto="auto"), "auto",
                           "iterations between samples (auto: 5, dlda: 2, more where scoring is dear)",
                           "Held-out documents", metavar="auto|N"),
    "samples": Option(integer(0, 100_000), "200", "posterior samples kept on disk, evenly spread",
                      "Held-out documents", metavar="N", default=200),
    # run
    "out": Option(text, "sgmc-runs/CORPUS-ALGO", "run directory", "Run", True, "DIR"),
    "resume": Option(text, "auto", "auto, never, or a run to continue", "Run", True, "auto|never|RUN",
                     "auto"),
    "checkpoint-every": Option(every, "15m", "between checkpoints: iterations, or time", "Run", True,
                               "N|TIME", "15m"),
    "keep": Option(integer(1, 100_000), "3", "checkpoints kept", "Run", True, "N", 3),
    "stop-signal": Option(choice(*STOP_SIGNALS), "USR1",
                          "signal that stops too, as TERM and INT do: " + ", ".join(STOP_SIGNALS),
                          "Run", True, "NAME", "USR1"),
    "requeue-exit-code": Option(requeue_code, "85", "exit code of a run that was stopped early", "Run",
                                True, "N", 85),
    "threads": Option(integer(1, 4096), "what this process may use", "threads to use", "Run", True, "N"),
    "max-memory": Option(size, "what this process may use", "refuse a run that needs more", "Run",
                         True, "SIZE"),
}  # fmt: skip

#: Options that may change at every start: budget, resources, how often one looks, where it lies.
FREE = frozenset(name for name, option in OPTIONS.items() if option.free)

_ALL = tuple(ALGORITHMS)
#: Options that only shape some samplers' steps; those in the value have no use for them.
_UNUSED = {
    "lazy": tuple(algo for algo in _ALL if algo != "scir"),
    "cir-rate": tuple(algo for algo in _ALL if algo != "scir"),
    "step-size": FULL,
    "minibatch": FULL,
    "kept-sweeps": (*FULL, "ovb"),
    "warm-up": (*FULL, *VARIATIONAL),
    "burn-in": VARIATIONAL,
    "counts": (*FULL, "ovb"),
    "samples": VARIATIONAL,
    "corpus-size": FULL,
    "layers": SHALLOW,
    "r-shape-prior": tuple(algo for algo in _ALL if algo != "gibbs"),
    "r-rate-prior": tuple(algo for algo in _ALL if algo != "gibbs"),
    "dp-stick-step": FULL,
}
#: Options that are of one model.
ONLY = {
    "alpha": "lda", "layers": "dlda", "link": "dlda", "p-prior": "dlda", "c-prior": "dlda",
    "r-prior": "dlda", "r-shape-prior": "dlda", "r-rate-prior": "dlda", "dp-prior": "dpmm",
    "dp-conc": "dpmm", "dp-stick-step": "dpmm", "dp-start": "dpmm", "dp-reuse": "dpmm",
}  # fmt: skip
#: Why a mixture has no use for some of the others.
_NOT_OF_MIXTURES = {
    "topics": "it has any number of components, and begins with --dp-start",
    "sweeps": "an iteration gives a document one component",
    "kept-sweeps": "an iteration gives a document one component",
    "counts": "an iteration gives a document one component",
    "warm-up": "it begins with documents spread over --dp-start components",
    "scale-weight": "its steps have no such scale",
    "lazy": "all rows are stepped",
    "cir-rate": "its process has the paper's rate",
    "corpus-size": "every document's component is kept, so the corpus is stored first",
    "shuffle-buffer": "every document's component is kept, so the corpus is stored first",
    "observed": "held-out documents are scored whole",
    "observed-corpus": "held-out documents are scored whole; give --holdout-corpus",
    "held-out-corpus": "held-out documents are scored whole; give --holdout-corpus",
}


def preset_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Defaults of the preset that is asked for, for the algorithm that is.

    Raises
    ------
    UsageError
        If the preset has none for that algorithm.
    """
    name = given.get("preset")
    if name is None:
        return {}
    values = {n: value for n, value in PRESETS[name].items() if n != "algos"}
    algos = PRESETS[name].get("algos", {values["algo"]: {}})
    algo = given.get("algo", values["algo"])
    if algo not in algos:
        raise UsageError(f"--preset {name} is for --algo {', '.join(algos)}, not {algo}")
    return {**values, **algos[algo], "algo": algo}


def kind_of(given: Mapping[str, Any]) -> tuple[str, str]:
    """Algorithm and model that these options mean."""
    preset = preset_of(given)
    algo: str = given.get("algo", preset.get("algo", "scir"))
    deep = "layers" in given or algo in DEEP
    model: str = given.get("model", preset.get("model", "dlda" if deep else "lda"))
    return algo, model


def check_usage(given: Mapping[str, Any]) -> None:
    """Refuse options that contradict each other or that the algorithm has no use for.

    Parameters
    ----------
    given : mapping
        Options that were given, parsed.

    Raises
    ------
    UsageError
    """
    algo, model = kind_of(given)
    for name, without in _UNUSED.items():
        if name in given and algo in without:
            raise UsageError(f"--{name} has no meaning for --algo {algo}: leave it out")
    for name, only in ONLY.items():
        if name in given and model != only:
            raise UsageError(f"--{name} has no meaning for --model {model}: leave it out")
    if model == "dpmm":
        for name, why in _NOT_OF_MIXTURES.items():
            if name in given:
                raise UsageError(f"--{name} has no meaning for --model dpmm: {why}")
        if algo not in MIXING:
            raise UsageError(f"--model dpmm is sampled by {', '.join(MIXING)}, not by {algo}")
    if model != "lda" and algo in SHALLOW:
        raise UsageError(f"--algo {algo} is of --model lda alone: leave --model {model} out")
    if algo in VARIATIONAL and given.get("step-size", (1.0,))[0] > 1.0:
        raise UsageError(f"--step-size of {algo} is the weight of a minibatch: A must be at most 1")
    if "layers" in given and "topics" in given:
        raise UsageError("--layers and --topics both give the topics of layer 1: give one")
    if "scale-weight" in given and model == "lda" and algo not in DEEP:
        raise UsageError(f"--scale-weight has no meaning for --algo {algo}: leave it out")
    depth = len(
        given.get("layers", (1,) if "topics" in given else preset_of(given).get("layers", (1,)))
    )
    eta = given.get("eta", ())
    if isinstance(eta, Sequence) and len(eta) not in (0, 1, depth if model == "dlda" else 1):
        raise UsageError(f"--eta has {len(eta)} numbers: give one, or one for each layer")
    sweeps = given.get("sweeps")
    if sweeps is not None and given.get("kept-sweeps", 1) > sweeps:
        raise UsageError(f"--kept-sweeps {given['kept-sweeps']} is above --sweeps {sweeps}")
    fewest, most = given.get("min-df"), given.get("max-df")
    if fewest is not None and most is not None and type(fewest) is type(most) and fewest > most:
        raise UsageError(f"--min-df {fewest} is above --max-df {most}: no word would be left")
    if "corpus-size" in given and "epochs" in given:
        raise UsageError("--epochs has no meaning for --corpus-size: the corpus is read once")
    if "shuffle-buffer" in given and "corpus-size" not in given:
        raise UsageError("--shuffle-buffer has a meaning with --corpus-size only: leave it out")
    if ("observed-corpus" in given) != ("held-out-corpus" in given):
        raise UsageError("--observed-corpus and --held-out-corpus go together: give both")
    sources = [n for n in ("holdout", "holdout-corpus", "observed-corpus") if n in given]
    if len(sources) > 1:
        raise UsageError(
            f"--{sources[0]} and --{sources[1]} both name held-out documents: give one"
        )
    if "observed" in given and "observed-corpus" in given:
        raise UsageError("--observed has no meaning for a split made by others: leave it out")
    timed = given.get("time-limit", "auto") != "auto"
    if given.get("holdout") == 0 and not timed and not {"epochs", "iterations"} & set(given):
        raise UsageError(
            "--holdout 0 leaves nothing to see when it has settled: give --epochs, --iterations or "
            "--time-limit"
        )
    if isinstance(given.get("holdout"), float) and given["holdout"] >= 1.0:
        raise UsageError("--holdout 1.0 would hold out every document: give a share below 1")
