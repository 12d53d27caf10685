"""Plan of a search, stored in ``search.json``: settings, corpus, and length of training."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pysgrld.errors import CheckpointError, UsageError
from pysgrld.models.choices import Choices
from pysgrld.models.options import OPTIONS, option_text
from pysgrld.options.option import Resolved
from pysgrld.options.paths import is_file
from pysgrld.options.priors import usual_topics
from pysgrld.run import jsonio
from pysgrld.run.files import read_small, replace_file

#: Name of the file in a search's folder that stores the plan.
PLAN = "search.json"
#: Number of epochs in the first round of training, unless warm-up and burn-in take longer.
FIRST_EPOCHS = 4
#: The first round is long enough if every run has this number of posterior samples.
FIRST_SAMPLES = 20
#: If samples are taken rarely, a first round with this number of samples is long enough.
FEWER_SAMPLES = 10
#: A first round with only `FEWER_SAMPLES` samples must have this number of iterations after
#: burn-in.
FIRST_ITERATIONS = 100
#: Maximum number of settings (combinations of options) that a search compares.
MOST = 1000
#: Groups of options that must be equal for all settings.
_OF_DOCUMENTS = frozenset({"Corpus", "Held-out documents", "Budget", "Run"})
#: Further options that must be equal for all settings.
_OF_ALL = frozenset({"seed", "chain-id", "algo", "model", "preset"})

#: Type of an option to vary: its name, and its values as typed and as parsed.
Axis = tuple[str, tuple[tuple[str, Any], ...]]


class Contender(NamedTuple):
    """Setting to try: a combination of values of the options that the search varies.

    Attributes
    ----------
    name : str
        Name of its folder, which holds its chains.
    place : tuple of int
        For each option, the index of its value in the list of values to try.
    options : mapping
        Values of these options, by name.
    """

    name: str
    place: tuple[int, ...]
    options: Mapping[str, Any]

    @property
    def choices(self) -> Choices:
        """Options of the setting as `Choices`, the form used for the command line."""
        return Choices(self.options)


def parse_grid(text: str) -> Axis:
    """Parse ``NAME=VALUE,VALUE,...``, which is a training option and the values to try.

    Parameters
    ----------
    text : str
        The text that the user typed.

    Returns
    -------
    Axis
        Name, and pairs of text and parsed value.

    Raises
    ------
    UsageError
        If the option does not exist, must be the same for all settings, or refuses one of the
        values.
    """
    name, equals, typed = text.partition("=")
    name = name.strip().removeprefix("--")
    values = [value.strip() for value in typed.split(",")]
    if not equals or not all(values):
        raise UsageError(f"'{text}' is not of the form NAME=VALUE,VALUE,...")
    option = OPTIONS.get(name)
    if option is None:
        raise UsageError(f"'{name}' is not an option of training; see 'sgmc train --help-all'")
    if name == "topics":
        raise UsageError("--grid does not apply to topics; give numbers of topics with -k")
    if option.free or option.group in _OF_DOCUMENTS or name in _OF_ALL:
        raise UsageError(
            f"{name} must be the same for all settings; give {option_text(name)} with a single value"
        )
    pairs = tuple((value, option.parse(value)) for value in values)
    parsed = [value for _, value in pairs]
    if any(parsed.count(value) > 1 for value in parsed):
        raise UsageError(f"'{text}' has the same value twice; remove one")
    return name, pairs


def usual_numbers(tokens: int) -> tuple[int, ...]:
    """Return the numbers of topics to try by default: half, once and twice the usual number.

    Parameters
    ----------
    tokens : int
        Number of training tokens.
    """
    usual = usual_topics(tokens)
    return -(-usual // 10) * 5 if usual > 5 else 3, usual, 2 * usual


def varied_options(
    topics: Sequence[int] | None, grid: Sequence[Axis], choices: Choices, tokens: int = 0
) -> tuple[Axis, ...]:
    """Return the options to vary: the number of topics, with ascending values, then others.

    Parameters
    ----------
    topics : sequence of int or None
        Numbers of topics to try; None for half, once and twice the usual number.
    grid : sequence of Axis
    choices : Choices
        Options with one value for all settings.
    tokens : int, default 0
        Number of training tokens, which determines the usual number of topics.

    Raises
    ------
    UsageError
        If the grid names an option twice, or names an option that also has a fixed value.
    """
    names = [name for name, _ in grid]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"--grid {name} is given twice; list all values in one --grid")
        if name in choices.names:
            raise UsageError(
                f"{option_text(name)} and --grid {name} contradict each other; give one of them"
            )
    first_values = Choices({name: values[0][1] for name, values in grid})
    model = choices.updated(first_values).model
    # Numbers of topics are not tried if the model determines its number of topics, or if the widths
    # of its layers are given or varied.
    if topics is None and ("topics" in model.refuses or {"layers"} & {*names, *choices.names}):
        if not grid:
            raise UsageError("the search has nothing to compare; give --grid NAME=VALUE,VALUE,...")
        return tuple(grid)
    counts = tuple((str(k), k) for k in sorted(topics or usual_numbers(tokens)))
    return (("topics", counts), *grid)


def list_settings(axes: Sequence[Axis]) -> tuple[Contender, ...]:
    """Return all combinations of the values to try, each with the name of its folder.

    Raises
    ------
    UsageError
        If the combinations are too many, or two of them would have the same folder.
    """
    number = math.prod(len(values) for _, values in axes)
    if number > MOST:
        raise UsageError(
            f"{number:,} combinations are too many; the maximum is {MOST:,}: give fewer"
        )
    contenders = []
    for chosen in itertools.product(*(enumerate(values) for _, values in axes)):
        parts = [
            f"{'k' if name == 'topics' else name}-{re.sub(r'[^A-Za-z0-9.+_-]', '_', text)}"
            for (name, _), (_, (text, _)) in zip(axes, chosen, strict=True)
        ]
        options = {name: value for (name, _), (_, (_, value)) in zip(axes, chosen, strict=True)}
        contenders.append(Contender("-".join(parts), tuple(i for i, _ in chosen), options))
    names = [contender.name for contender in contenders]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(
            f"two values of --grid need the same folder {twice}; rename one of the files in --grid"
        )
    return tuple(contenders)


class SearchPlan(NamedTuple):
    """Plan of a search: its settings, its corpus, and how long to train.

    Attributes
    ----------
    inputs : tuple of str
        Sources of the corpus, as the user typed them.
    choices : Choices
        Options that the user chose for all settings, without the options that may change when the
        search is continued.
    contenders : tuple of Contender
    chains : int
        Chains of each contender in the last round.
    first : int
        Epochs of the first round.
    epochs : float or None
        Epochs of the last round, or None to train until the score has converged.
    corpus : dict
        Facts of the corpus: name, documents, words, tokens.
    """

    inputs: tuple[str, ...]
    choices: Choices
    contenders: tuple[Contender, ...]
    chains: int
    first: int
    epochs: float | None
    corpus: dict[str, Any]

    @property
    def identity(self) -> dict[str, Any]:
        """Options, settings and corpus that identify a search, as a dictionary."""
        return {
            **self.choices.values,
            "list of settings": ", ".join(c.name for c in self.contenders),
            "chains": self.chains,
            "epochs": "none" if self.epochs is None else self.epochs,
            "corpus": self.corpus["fingerprint"],
        }

    def is_like(self, other: SearchPlan) -> bool:
        """Return True if two plans have the same settings and options, regardless of the corpus."""
        return (self.contenders, self.chains, self.choices, self.epochs) == (
            other.contenders,
            other.chains,
            other.choices,
            other.epochs,
        )

    def write(self, folder: Path) -> None:
        """Write ``search.json`` atomically."""
        record = {"schema": 1, **self._asdict()}
        record["choices"] = dict(self.choices.values)
        record["contenders"] = [c._asdict() for c in self.contenders]
        replace_file(folder / PLAN, [jsonio.pretty(jsonio.plain(record, where=PLAN))], "search")


def is_search(folder: Path) -> bool:
    """Return True if a folder contains a search that has a plan."""
    return is_file(folder / PLAN)


def read_plan(folder: Path) -> SearchPlan:
    """Read the plan of a search from ``search.json``.

    Raises
    ------
    CheckpointError
        If it was changed after it was written.
    """
    try:
        record = jsonio.parse(read_small(folder / PLAN))
        record.pop("schema")
        record["contenders"] = tuple(
            Contender(c["name"], tuple(c["place"]), parse_choices(c["options"]).values)
            for c in record["contenders"]
        )
        record["inputs"] = tuple(record["inputs"])
        record["choices"] = parse_choices(record["choices"])
        return SearchPlan(**record)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise CheckpointError(f"{folder / PLAN}: is damaged ({error}); restore it") from None


def parse_choices(options: Mapping[str, Any]) -> Choices:
    """Convert options read from JSON to `Choices`, in which lists become tuples."""
    return Choices({n: tuple(v) if isinstance(v, list) else v for n, v in options.items()})


def first_epochs(resolved: Sequence[tuple[Resolved, int]]) -> int:
    """Return the number of epochs in the first round, a power of 2 that is at least 4.

    It is the least number with which every run has twenty posterior samples, or ten after a hundred
    iterations of sampling.

    Parameters
    ----------
    resolved : sequence of (Resolved, int)
        Options of each setting, and the number of documents that it trains on.
    """
    epochs = FIRST_EPOCHS
    for options, documents in resolved:
        per_epoch = -(-documents // options.minibatch)
        every = options.sample_every
        sampling = min(FIRST_SAMPLES * every, max(FEWER_SAMPLES * every, FIRST_ITERATIONS))
        while epochs * per_epoch < options.burn_in + sampling:
            epochs *= 2
    return epochs
