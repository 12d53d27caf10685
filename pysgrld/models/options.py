"""All options of training, including options of single models and single samplers.

This module also interprets combinations of options: it finds the model, sampler and preset, and refuses
contradictions.

The command line, its help, ``config.json`` and the checks are made from this table. No NumPy here: help
must be instant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pysgrld.errors import UsageError
from pysgrld.models.protocol import Model, Preset
from pysgrld.models.table import MODELS, all_models, find_model
from pysgrld.options.common import SHARED
from pysgrld.options.option import Option
from pysgrld.options.parse import choice
from pysgrld.options.peers import parse_model
from pysgrld.samplers import SAMPLERS, Sampler
from pysgrld.samplers.table import sampler_options

#: Published settings from papers, by name.
PRESETS: dict[str, Preset] = {
    name: values for model in all_models() for name, values in model.presets.items()
}


def _kind() -> dict[str, Option]:
    """Return the options that choose the model, the sampler and the preset."""
    first, *other_models = all_models()
    # A user who names a sampler of a single model has thereby chosen this model.
    shared = {n for n in SAMPLERS if sum(n in model.algorithms for model in all_models()) > 1}
    implied = "".join(
        f"{model.name} with "
        f"{', '.join(sorted(n if n in SAMPLERS else f'--{n}' for n in implying))}; "
        for model in other_models
        if (implying := {n for n in model.implied_by if n not in SAMPLERS or n in shared})
    )
    return {
        "algo": Option(
            choice(*SAMPLERS),
            first.algorithms[0],
            "sampler; --help-all lists all samplers",
            "Model",
            metavar="NAME",
            default=first.algorithms[0],
            first=True,
        ),
        "model": Option(
            parse_model(*MODELS),
            implied + first.name,
            "model: " + ", ".join(MODELS),
            "Model",
            metavar="NAME",
            first=True,
        ),
        "preset": Option(
            choice(*PRESETS),
            "none",
            "use the settings of a paper as defaults: " + ", ".join(PRESETS),
            "Model",
            metavar="NAME",
        ),
    }


def _ordered_options() -> dict[str, Option]:
    """Return all options in the order of the help: options of models, then options of training."""
    options = _kind()
    shared = dict(SHARED)
    for name, option in SHARED.items():  # Show the defaults of models in the help.
        other_defaults = [f"{m.name}: {m.shows[name]}" for m in all_models() if name in m.shows]
        shared[name] = option._replace(shown="; ".join([option.shown, *other_defaults]))
    # This option is the first in the help, because most users set no other option.
    options = {"topics": shared["topics"]} | options
    options |= {name: option for name, option in shared.items() if option.group == "Model"}
    for model in all_models():
        options |= model.options
    users: dict[str, list[str]] = {}
    for model in all_models():
        for name in model.options:
            users.setdefault(name, []).append(f"--model {model.name}")
    return options | shared | sampler_options(tuple(SAMPLERS), users)


#: All options, by the name that the user types.
OPTIONS: dict[str, Option] = _ordered_options()

#: Names of options that may change from one start to the next. They are for budget, resources,
#: progress intervals and location.
FREE = frozenset(name for name, option in OPTIONS.items() if option.free)


def option_text(name: str, value: Any = None) -> str:
    """Return an option in the form that the user types, such as ``--kappa 5``.

    The form of a setting is ``--set friction=0.5``.

    Parameters
    ----------
    name : str
        Name of the option, without dashes before it.
    value : object, optional
        The value; None for the name alone.

    Returns
    -------
    str
    """
    is_setting = name in OPTIONS and OPTIONS[name].setting
    typed = f"--set {name}" if is_setting else f"--{name}"
    return typed if value is None else f"{typed}{'=' if is_setting else ' '}{value}"


#: Names of options without effect for samplers that use the whole corpus in each iteration.
_OF_MINIBATCHES = {"step-size", "minibatch", "kept-sweeps", "warm-up", "counts", "corpus-size"}
#: Names of options that are refused for samplers that do not draw from the posterior.
_OF_DRAWS = {"warm-up", "burn-in", "samples", "top-word-samples"}


def preset_defaults(name: str | None, algo: str | None) -> dict[str, Any]:
    """Return the defaults that a preset sets for the given sampler.

    Parameters
    ----------
    name : str or None
        Name of the preset, or None, which gives an empty result.
    algo : str or None
        Name of the algorithm, by default that of the preset.

    Returns
    -------
    dict

    Raises
    ------
    UsageError
        If the preset has no settings for that algorithm.
    """
    if name is None:
        return {}
    values = {n: value for n, value in PRESETS[name].items() if n != "algos"}
    algos = PRESETS[name].get("algos", {values["algo"]: {}})
    algo = algo or values["algo"]
    if algo not in algos:
        raise UsageError(
            f"--preset {name} applies only to --algo {', '.join(algos)}, not to {algo}"
        )
    return {**values, **algos[algo], "algo": algo}


def select_sampler_and_model(settings: Mapping[str, Any]) -> tuple[Sampler, Model[Any]]:
    """Return the sampler and the model that the options of the user select.

    Parameters
    ----------
    settings : mapping
        Options that were set, by name.

    Returns
    -------
    tuple of (Sampler, Model)

    Raises
    ------
    UsageError
        If the chosen preset has no settings for the algorithm.
    """
    preset = preset_defaults(settings.get("preset"), settings.get("algo"))
    algo = settings.get("algo", preset.get("algo"))
    name = settings.get("model", preset.get("model"))
    implied = (m for m in all_models() if m.implied_by & {*settings, algo})
    model = find_model(name) if name is not None else next(implied, all_models()[0])
    return SAMPLERS[algo or model.algorithms[0]], model


def check_usage(settings: Mapping[str, Any]) -> None:
    """Raise an error for contradictory options, and for options of other samplers or models.

    Parameters
    ----------
    settings : mapping
        Options that were given, parsed, by the names of `OPTIONS`.

    Raises
    ------
    UsageError
        The message names the first wrong option.
    """
    sampler, model = select_sampler_and_model(settings)
    # Refuse options of other samplers.
    owned = {name for other in SAMPLERS.values() for name in other.options}
    unused = (owned - {*sampler.options, *model.options}) | sampler.ignores
    if sampler.whole_corpus:
        unused |= _OF_MINIBATCHES - sampler.takes
    if not sampler.draws:
        unused |= _OF_DRAWS
    for name in settings:
        if name in unused:
            raise UsageError(
                f"{option_text(name)} does not apply to --algo {sampler.name}; leave it out"
            )
    for name in settings:
        own_options = {*model.options, *sampler.options}
        if name not in own_options and any(name in m.options for m in all_models()):
            raise UsageError(
                f"{option_text(name)} does not apply to --model {model.name}; leave it out"
            )
        if reason := model.refuses.get(name):
            raise UsageError(
                f"{option_text(name)} does not apply to --model {model.name}: {reason}"
            )
    if sampler.name not in model.algorithms:
        typed = sorted(model.implied_by & set(settings))
        implied = "model" not in settings and typed
        because = f" (implied by {option_text(typed[0])})" if implied else ""
        raise UsageError(
            f"--algo {sampler.name} cannot sample --model {model.name}{because}; choose from "
            f"{', '.join(model.algorithms)}"
        )
    for name, need in model.needs.items():
        if name not in settings:
            raise UsageError(f"--model {model.name} needs {option_text(name)}: {need}")
    learned = [name for name in ("alpha", "eta") if isinstance(settings.get(name), str)]
    _check_learned(learned, sampler, model)
    if sampler.check:
        sampler.check(settings)
    model.check(settings, sampler.name)
    for wrong in _contradictions(settings, sampler):
        raise UsageError(wrong)


def _check_learned(names: Iterable[str], sampler: Sampler, model: Model[Any]) -> None:
    """Raise an error for learned priors that the model or the sampler cannot learn.

    Raises
    ------
    UsageError
    """
    for name in names:
        if name not in model.learns:
            raise UsageError(
                f"--{name} learn does not apply to --model {model.name}: give a number"
            )
        if name not in sampler.learns:
            can = (a for a in model.algorithms if name in SAMPLERS[a].learns)
            raise UsageError(
                f"--{name} learn does not apply to --algo {sampler.name}: give a number, or --algo "
                f"{', '.join(can)}"
            )


def check_shared(settings: Mapping[str, Any]) -> None:
    """Raise an error for options that cannot be used if several processes train one chain.

    Parameters
    ----------
    settings : mapping
        Options that were set, by name.

    Raises
    ------
    UsageError
    """
    sampler, model = select_sampler_and_model(settings)
    if not model.adds_up:
        raise UsageError(
            f"--mpi: --model {model.name} is trained by a single process; leave out --mpi"
        )
    if sampler.serial:
        raise UsageError(
            f"--mpi: --algo {sampler.name} draws the topics of all tokens one after the other in "
            "a single process; leave out --mpi, or give --algo gibbs"
        )
    if "corpus-size" in settings:
        raise UsageError(
            "--mpi: several processes cannot read a stream (--corpus-size); build the corpus first "
            "with 'sgmc corpus build', and train on the built corpus"
        )


def _contradictions(settings: Mapping[str, Any], sampler: Sampler) -> Iterator[str]:
    """Yield a message for each contradiction between options that are common to all models."""
    if not sampler.draws and settings.get("step-size", (1.0,))[0] > 1.0:
        yield (
            f"A of --step-size A,B,C is greater than 1, but --algo {sampler.name} uses A as a "
            "weight of minibatches; give at most 1"
        )
    sweeps = settings.get("sweeps")
    if sweeps is not None and settings.get("kept-sweeps", 1) > sweeps:
        yield (
            f"--set kept-sweeps={settings['kept-sweeps']} is greater than --sweeps {sweeps}; "
            "change one of them"
        )
    fewest, most = settings.get("min-df"), settings.get("max-df")
    if fewest is not None and most is not None and type(fewest) is type(most) and fewest > most:
        yield (
            f"--min-df {fewest} is greater than --max-df {most}, so no word would be left; "
            "change one of them"
        )
    if "seed-weight" in settings and "seed-words" not in settings:
        yield "--seed-weight requires --seed-words"
    if settings.get("exact-sweeps"):
        if sampler.whole_corpus or not sampler.draws:
            yield f"--exact-sweeps does not apply to --algo {sampler.name}; leave it out"
        if "corpus-size" in settings:
            yield (
                "--exact-sweeps needs all documents, but --corpus-size reads them only once; "
                "leave out one of them"
            )
    if "corpus-size" in settings and "epochs" in settings:
        yield (
            "--epochs does not apply to --corpus-size, which reads the corpus only once; "
            "leave it out"
        )
    if "shuffle-buffer" in settings and "corpus-size" not in settings:
        yield "--set shuffle-buffer requires --corpus-size"
    if ("observed-corpus" in settings) != ("held-out-corpus" in settings):
        yield "--set observed-corpus and --set held-out-corpus belong together; give both"
    sources = [n for n in ("holdout", "holdout-corpus", "observed-corpus") if n in settings]
    if len(sources) > 1:
        first, second = map(option_text, sources[:2])
        yield f"{first} and {second} both set the held-out documents; give one of them"
    if "observed" in settings and "observed-corpus" in settings:
        yield "--set observed does not apply to documents that are already split; leave it out"
    if isinstance(settings.get("holdout"), float) and settings["holdout"] >= 1.0:
        yield "--holdout 1.0 would hold out every document; give a fraction below 1"
