"""Options that the user has chosen for training, before the defaults of other options are added."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from pysgrld.corpus.reading import CorpusOptions
from pysgrld.corpus.stopwords import NAMED
from pysgrld.models.options import (
    OPTIONS,
    check_shared,
    check_usage,
    preset_defaults,
    select_sampler_and_model,
)
from pysgrld.models.protocol import Model
from pysgrld.models.resolve import Resolution, resolve
from pysgrld.options.option import Facts, option_name
from pysgrld.samplers import Sampler


@dataclass(frozen=True, kw_only=True)
class StartOptions:
    """Options of a single start of training, such as the run directory and the threads."""

    out: str | None = None
    resume: str = "auto"
    threads: int | None = None
    max_memory: int | None = None
    time_limit: float | Literal["auto"] | None = None
    stop_signal: str | None = None
    requeue_exit_code: int | None = None


@dataclass(frozen=True, kw_only=True)
class HoldOutOptions:
    """Options that determine which documents are held out."""

    holdout: int | float | None = None
    holdout_corpus: str | None = None
    observed_corpus: str | None = None
    held_out_corpus: str | None = None
    observed: float = OPTIONS["observed"].default
    seed: int = OPTIONS["seed"].default


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """Options of corpus, chain and length of training, which are needed to resolve defaults."""

    corpus_size: int | None = None
    shuffle_buffer: int | None = None
    chain_id: int | None = None
    seed_words: Any = None
    topics: int | None = None
    epochs: float | None = None


@dataclass(frozen=True)
class Choices:
    """Options that the user has chosen; `resolve` adds the defaults of all other options.

    Parameters
    ----------
    values : mapping
        Values by the names in `pysgrld.models.options.OPTIONS`; only options/ and models/ read them.

    Attributes
    ----------
    names : frozenset of str
        Names of the options, as they are typed.
    start : StartOptions
    hold_out : HoldOutOptions
    source : SourceOptions
    of_reading : mapping
        Options of reading the corpus, by the names that users type.
    """

    values: Mapping[str, Any]
    names: frozenset[str] = field(init=False, compare=False)
    start: StartOptions = field(init=False, compare=False)
    hold_out: HoldOutOptions = field(init=False, compare=False)
    source: SourceOptions = field(init=False, compare=False)
    of_reading: Mapping[str, Any] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        parts: dict[str, Any] = {"names": frozenset(self.values)}
        kinds = {"start": StartOptions, "hold_out": HoldOutOptions, "source": SourceOptions}
        for name, kind in kinds.items():
            typed = {f.name: option_name(f.name) for f in fields(kind)}
            chosen = {f: self.values[n] for f, n in typed.items() if n in self.values}
            parts[name] = kind(**chosen)
        parts["of_reading"] = {n: v for n, v in self.values.items() if CorpusOptions.among([n])}
        vars(self).update(parts)  # The object is immutable, so attributes are set through `vars`.

    @property
    def reading_options(self) -> CorpusOptions:
        """Options for reading the corpus, including the column of times if the model needs it."""
        column = self.time
        return CorpusOptions.from_values(self.of_reading).keeping(column and column[0])

    def options_for_new_documents(self, recorded: Mapping[str, Any]) -> CorpusOptions:
        """Return a corpus's recorded reading options, updated by the options that the user has chosen."""
        return CorpusOptions.over(recorded, self.of_reading)

    @property
    def sampler(self) -> Sampler:
        """The sampler that the options select."""
        return select_sampler_and_model(self.values)[0]

    @property
    def model(self) -> Model[Any]:
        """The model that the options select."""
        return select_sampler_and_model(self.values)[1]

    @property
    def time(self) -> tuple[str, str | int] | None:
        """Column of document times, and length or number of slices; None if a model has no time."""
        return self.model.time(self.values.get("time"), self.values.get("slices"))

    @property
    def files(self) -> list[tuple[str, str]]:
        """Pairs of an option's name and the path of a file that the option names."""
        named = [(name, str(v)) for name, v in self.values.items() if OPTIONS[name].names_file]
        lists = str(self.values.get("stop-words", "none")).split(",")
        return named + [("stop-words", name) for name in lists if name not in (*NAMED, "none")]

    def check(self) -> None:
        """Raise an error for contradictory options, before any file is read.

        Raises
        ------
        UsageError
        """
        check_usage(self.values)
        # `resolve` raises an error for conflicts with a preset or with another default.
        self.resolve(_ANY_CORPUS)

    def check_shared(self) -> None:
        """Raise an error for options that cannot be used if several processes train one chain.

        Raises
        ------
        UsageError
        """
        check_shared(self.values)

    def resolve(self, facts: Facts) -> Resolution:
        """Return the values of all options for a corpus, with defaults filled in.

        Raises
        ------
        UsageError
            If an option cannot be combined with such a corpus or prior.
        """
        return resolve(self.values, facts)

    def updated(self, later: Choices) -> Choices:
        """Return the options of this object and of ``later``, which has priority."""
        return Choices({**self.values, **later.values})

    def changed(self, **values: Any) -> Choices:
        """Return a copy with changed values, given as arguments with ``_`` in place of ``-``."""
        return Choices({**self.values, **{option_name(n): v for n, v in values.items()}})

    def without(self, names: Container[str]) -> Choices:
        """Return these options, except the options with the given names."""
        return Choices({name: v for name, v in self.values.items() if name not in names})

    def without_preset_values(self) -> Choices:
        """Return these options, except the values that come from a preset."""
        preset = preset_defaults(self.values.get("preset"), self.values.get("algo"))
        return Choices({n: v for n, v in self.values.items() if n == "algo" or preset.get(n) != v})


#: Placeholder sizes of a corpus, for checks of options that do not depend on the corpus.
_ANY_CORPUS = Facts(1, 1, 1, 0, lambda *_: 1)
