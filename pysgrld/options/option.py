"""Classes for definitions of options, for the options of a run, and for facts about its corpus.

No NumPy here: help must be instant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from pysgrld.errors import UsageError

if TYPE_CHECKING:
    from pysgrld.types import Slicing


class Option(NamedTuple):
    """Definition of an option of ``sgmc train``.

    Attributes
    ----------
    parse : callable
        Converts a text to a value; raises `UsageError`.
    shown : str
        The default, as help shows it.
    help : str
        Meaning of the option, in one line.
    group : str
        Heading in the help.
    free : bool
        Whether a run may be resumed with another value of the option.
    metavar : str
        Placeholder of the value in the help.
    default : object
        The default value, or None if it depends on the corpus (see `pysgrld.models.resolve`).
    first : bool
        Whether ``sgmc train --help`` shows the option; ``--help-all`` shows every option.
    joins : bool
        Whether values are joined by commas if the option is given several times; else the last
        counts.
    alone : str
        The value if the option is typed without one; empty if a value is required.
    read : callable, optional
        Reads the file that a value names; the run keeps its content as the value.
    flag : bool
        Whether the option takes no value, and is True if it is typed.
    spell : callable, optional
        Converts a list to one line of text for users; raises `UsageError` if the value has the
        wrong type. Only options in `pysgrld.options` may have it, because `spelled` looks up no
        others.
    setting : bool
        Whether the option is a setting: typed as ``--set NAME=VALUE``, because few users need it.
    """

    parse: Callable[[str], Any]
    shown: str
    help: str
    group: str
    free: bool = False
    metavar: str = ""
    default: Any = None
    first: bool = False
    joins: bool = False
    alone: str = ""
    read: Callable[[str], Any] | None = None
    spell: Callable[[Any], str] | None = None
    flag: bool = False
    setting: bool = False

    @property
    def names_file(self) -> bool:
        """True if the option's value is the path of a file that a run reads."""
        return self.metavar == "FILE" and self.read is None

    def takes(self, value: Any) -> bool:
        """Return False if the value is a number or numbers that the parser refuses, else True."""
        numbers = value if isinstance(value, list | tuple) else [value]
        if not numbers or not all(type(number) in (int, float) for number in numbers):
            return True
        texts = [",".join(map(repr, numbers))]
        if len(numbers) == 1:
            texts.append(f"{numbers[0]:.9f}s")  # Options of durations require a unit.
        for text in texts:
            with suppress(UsageError):
                self.parse(text)
                return True
        return False


class Facts(NamedTuple):
    """Facts about a corpus on which the defaults of options depend.

    Attributes
    ----------
    documents : int
        Number of training documents D.
    words : int
        Number of words V in the vocabulary.
    tokens : int
        Number of training tokens.
    score_visits : int
        Number of tokens that are sampled to update the running score; 0 without held-out documents.
    minibatch_words : callable (size, seed) -> int
        Returns the number of distinct words in the first minibatch, which stands for all
        minibatches.
    vocabulary : sequence of str, optional
        The words, for options that name words.
    slicing : Slicing, optional
        Slices of time, for models that use them.
    slice_tokens : tuple of int
        Number of tokens in each slice.
    mean_length : float, optional
        Mean number of tokens of a document, including held-out documents so that the mean does not
        depend on the seed. None for the mean of the training documents.
    """

    documents: int
    words: int
    tokens: int
    score_visits: int
    minibatch_words: Callable[[int, int], int]
    vocabulary: Sequence[str] | None = None
    slicing: Slicing | None = None
    slice_tokens: tuple[int, ...] = ()
    mean_length: float | None = None

    @property
    def length(self) -> float:
        """Mean number of tokens of a document, which determines some defaults."""
        return self.mean_length or max(1, self.tokens) / max(1, self.documents)

    @property
    def rows(self) -> int:
        """Number of rows of the topic matrix: one row for each word in each time slice."""
        return self.words * (1 if self.slicing is None else len(self.slicing.names))


#: The numbers A, B and C in the step size A (1 + t/B)^(-C) of iteration t.
Steps = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class LoopOptions:
    """Values of the options that the training loop uses, such as the number of iterations."""

    epochs: float | None
    iterations: int | None
    time_limit: float | Literal["auto"] | None
    exact_sweeps: int | Literal["auto"] | None = None
    minibatch: int
    sweeps: int
    warm_up: int
    starts: int | None = None
    samples: int
    top_word_samples: int = 0
    eval_every: int | str
    checkpoint_every: int | str
    keep: int
    threads: int | None


@dataclass(frozen=True, kw_only=True)
class Resolved(LoopOptions):
    """Values of the options that all models have, after defaults were filled in for a run.

    Each model derives a class from this one, which adds the model's own options.

    Fields have the names of options with ``_`` for ``-``. ``sgmc train --help-all`` describes each
    option. ``settings`` holds the options of the sampler (`pysgrld.samplers.SamplerSettings`),
    which ``config.json`` lists among the other options. docs/run-directory.md describes
    ``config.json``.
    """

    algo: str
    model: str
    preset: str | None
    topics: int | None
    kept_sweeps: int
    burn_in: int
    counts: Literal["rao-blackwell", "sampled"]
    step_size: Steps | None
    settings: Any = None
    seed: int
    chain_id: int = 1
    keep_documents: Literal["on"] | None = None
    vocab: str | None
    max_vocab: int | None
    min_df: int | float | None
    max_df: int | float | None
    stop_words: str | None
    numbers: Literal["years", "keep", "drop"] | None = None
    token_pattern: str | None
    segment: str | None = None
    phrases: tuple[str, ...] | None = None
    keep_links: bool | None = None
    mask: bool | None = None
    drop_repeated: bool | None = None
    language: str | None = None
    text_field: str = "auto"
    id_field: str | None = None
    title_field: str | None = None
    meta_field: str = "auto"
    metadata: str | None = None
    missing: str | None = None
    date_format: str | None = None
    header_line: int | None = None
    quote: str = "auto"
    sheet: str | None = None
    keep_text: int | str = "auto"
    document_is: str = "auto"
    chunk: int | None = None
    encoding: str = "utf-8"
    on_bad_document: Literal["stop", "skip"]
    max_line: int
    max_input: int | None
    transpose: Literal["on", "off"] | None = None
    corpus_size: int | None
    shuffle_buffer: int | None
    holdout: int | float | None
    holdout_corpus: str | None
    observed_corpus: str | None
    held_out_corpus: str | None
    observed: float | None
    sample_every: int
    out: str | None
    resume: str
    stop_signal: str
    requeue_exit_code: int
    max_memory: int | None

    @classmethod
    def from_values(cls, values: Mapping[str, Any], settings: Any = None) -> Self:
        """Create the options of a run from a mapping of option names to values.

        Parameters
        ----------
        values : mapping
            Values as `plain` returns them. A missing option gets its default, or None if it has
            none; options of other models are ignored.
        settings : SamplerSettings, optional
            Settings of the sampler.
        """
        values_by_field: dict[str, Any] = {"settings": settings}
        for f in fields(cls):
            if f.name != "settings":
                value = values.get(option_name(f.name), f.default)
                values_by_field[f.name] = None if value is MISSING else to_tuples(value)
        return cls(**values_by_field)

    def plain(self) -> dict[str, Any]:
        """Return the values by option name for JSON, with lists instead of tuples."""
        model_values = {
            option_name(f.name): to_lists(getattr(self, f.name))
            for f in fields(self)
            if f.name != "settings"
        }
        return model_values if self.settings is None else model_values | self.settings.plain()

    @property
    def of_loop(self) -> LoopOptions:
        """Values of the options that the training loop reads."""
        return LoopOptions(**{f.name: getattr(self, f.name) for f in fields(LoopOptions)})

    @property
    def slicing(self) -> Slicing | None:
        """The time slices of a model over time, or None for other models."""
        return None

    @property
    def copies(self) -> int:
        """Number of rows that a word has in the topic matrix: the number of time slices, or 1."""
        return 1 if self.slicing is None else max(1, len(self.slicing.names))

    @property
    def chain(self) -> int:
        """Number of the Markov chain, counted from 0, as used in the keys of random numbers.

        Random numbers that all chains share use number 0.
        """
        return self.chain_id - 1

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of topics of each layer, lowest layer first; empty if the number is not fixed."""
        return (self.topics,) if self.topics else ()

    @property
    def depth(self) -> int:
        """Number of layers of topics."""
        return max(1, len(self.widths))


def option_name(field: str) -> str:
    """Return the name of the option for a field of `Resolved`.

    Parameters
    ----------
    field : str
        Field of a class of resolved options.

    Returns
    -------
    str
        The name without leading dashes.
    """
    return field.replace("_", "-")


def to_tuples(value: Any) -> Any:
    """Replace lists in a value from JSON by tuples.

    Parameters
    ----------
    value : object
        Any JSON.

    Returns
    -------
    object
        The same value, hashable if it has no mapping.
    """
    return tuple(to_tuples(part) for part in value) if isinstance(value, list | tuple) else value


def to_lists(value: Any) -> Any:
    """Replace tuples in a value by lists, as JSON requires.

    Parameters
    ----------
    value : object

    Returns
    -------
    object
        The same value, ready for JSON.
    """
    return [to_lists(part) for part in value] if isinstance(value, tuple) else value
