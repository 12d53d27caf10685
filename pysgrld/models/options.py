"""Every option of training, said once: those that all models share, and each model's own.

The command line, its help, ``config.json`` and the checks are made from this table. No NumPy here: help
must be instant.
"""

from __future__ import annotations

from pysgrld.models.protocol import Preset
from pysgrld.models.table import MODELS, all_models
from pysgrld.options.common import SHARED
from pysgrld.options.option import Option
from pysgrld.options.parse import choice
from pysgrld.samplers import SAMPLERS
from pysgrld.samplers.table import options_of_samplers

#: Papers' published settings, by name.
PRESETS: dict[str, Preset] = {
    name: values for model in all_models() for name, values in model.presets.items()
}


def _kind() -> dict[str, Option]:
    """Give the options that choose a model, a sampler and a preset: their values are the tables'."""
    first, *others = all_models()
    # a sampler of one model alone needs no words
    shared = {n for n in SAMPLERS if sum(n in model.algorithms for model in all_models()) > 1}
    implied = "".join(
        f"{model.name} with {', '.join(sorted(_typed(n) for n in said))}; "
        for model in others
        if (said := {n for n in model.implied_by if n not in SAMPLERS or n in shared})
    )
    return {
        "algo": Option(
            choice(*SAMPLERS),
            first.algorithms[0],
            "sampler: " + ", ".join(SAMPLERS),
            "Model",
            metavar="NAME",
            default=first.algorithms[0],
            first=True,
        ),
        "model": Option(
            choice(*MODELS),
            implied + first.name,
            "model: " + ", ".join(MODELS),
            "Model",
            metavar="NAME",
            first=True,
        ),
        "preset": Option(
            choice(*PRESETS),
            "none",
            "a paper's settings as defaults: " + ", ".join(PRESETS),
            "Model",
            metavar="NAME",
        ),
    }


def _typed(name: str) -> str:
    """Spell an option as it is typed; names of samplers are typed as they are."""
    return name if name in SAMPLERS else f"--{name}"


def _shown(name: str, option: Option) -> Option:
    """Add the models' other defaults to what help shows."""
    others = [f"{m.name}: {m.shows[name]}" for m in all_models() if name in m.shows]
    return option._replace(shown="; ".join([option.shown, *others]))


def _all() -> dict[str, Option]:
    """Return all options in the order of help: what models are, then how they are trained."""
    found = _kind()
    shared = {name: _shown(name, option) for name, option in SHARED.items()}
    found |= {name: option for name, option in shared.items() if option.group == "Model"}
    for model in all_models():
        found |= model.options
    of_samplers = options_of_samplers(tuple(SAMPLERS))
    for name, option in of_samplers.items():
        if users := [f"--model {m.name}" for m in all_models() if name in m.options]:
            samplers, _, meaning = option.help.partition(": ")
            of_samplers[name] = option._replace(help=f"{', '.join([samplers, *users])}: {meaning}")
    return found | shared | of_samplers


#: All options, by the name that is typed.
OPTIONS: dict[str, Option] = _all()

#: Options that may change at every start: budget, resources, how often one looks, where it lies.
FREE = frozenset(name for name, option in OPTIONS.items() if option.free)
