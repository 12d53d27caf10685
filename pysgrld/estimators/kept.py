"""Topic models after `fit`: reading their samples, pickling, saving and loading them."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from pysgrld.chain.exact import ExactStage, read_averages
from pysgrld.chain.posterior import HISTORY, PREFIX, Posterior, read_running_averages
from pysgrld.core.draws import Draw
from pysgrld.corpus.minibatches import Epochs
from pysgrld.errors import CheckpointError, MissingInputError, OutputError, UsageError, plural
from pysgrld.estimators.dataframes import ALIKE, THESE, Framed, KeptTopics, library
from pysgrld.estimators.fitting import AUTO, jobs
from pysgrld.estimators.words import UNNAMED
from pysgrld.models.fitted import Fitted, evenly_spaced
from pysgrld.models.protocol import CorpusFacts, RunOn
from pysgrld.models.seeds import seed_names
from pysgrld.models.table import find_model
from pysgrld.models.word_order import WordOrder
from pysgrld.options.option import Resolved
from pysgrld.reading.former_topics import read_former_topics
from pysgrld.reading.labels import LABELS, Label, labels_of, write_labels
from pysgrld.reading.run_record import model_and_options, read_sample
from pysgrld.run import RunDirectory
from pysgrld.run.layout import read_word_counts, store_word_counts
from pysgrld.train.begin import begin
from pysgrld.types import Array, Documents, Floats, Int64s, WordTotals

if TYPE_CHECKING:
    import pandas

    from pysgrld.corpus import Corpus

#: Maximum number of stored samples if ``keep_samples`` has its default.
AUTO_SAMPLES = 50
#: Maximum size in bytes of stored samples if ``keep_samples`` has its default.
AUTO_BYTES = 1 << 28
#: Message of the error for a model that stores no posterior samples.
NO_SAMPLE = (
    "the model has no posterior samples; set keep_samples before fit, and max_iter greater "
    "than burn_in"
)
#: Type of a stored posterior sample: matrices by name, with one row per topic.
Sample = Mapping[str, Array]


class MatrixRecord(NamedTuple):
    """State of a model that was fitted to a matrix, as a `pysgrld.models.fitted.Record`.

    Attributes
    ----------
    options : Resolved
        Options of training.
    words, documents, tokens : int
        Number of words V, and of training documents and tokens.
    step : int
        Number of iterations done.
    arrays : mapping
        Arrays of the chain and of its averages.
    place : str
        Name of the model, for messages.
    """

    options: Resolved
    words: int
    documents: int
    tokens: int
    step: int
    arrays: Mapping[str, Array]
    place: str = "this model"

    def is_copied(self, name: str) -> bool:
        """Return False: the arrays of a chain in memory are not copied when they are read.

        Parameters
        ----------
        name : str
            Name of the array.
        """
        del name
        return False


@dataclass(frozen=True)
class StoredSamples(Mapping[int, Sample]):
    """Posterior samples stored in a run, by iteration; each access reads one sample from disk.

    The mapping is empty if the run's folder was removed.

    Attributes
    ----------
    run : RunDirectory
        The run.
    record : MatrixRecord
        Record that was read from the run.
    """

    run: RunDirectory
    record: MatrixRecord

    def __getitem__(self, step: int) -> Sample:
        model = find_model(self.record.options.model)
        return read_sample(self.run, model.fitted(self.record, 1), step)

    def __iter__(self) -> Iterator[int]:
        return iter(self.run.samples.steps())

    def __len__(self) -> int:
        return len(self.run.samples.steps())


class KeptModel(Framed):
    """Base class of estimators that, once fitted, have a chain or a chain's stored state.

    Attributes
    ----------
    model : str
        Name of the model, as after ``--model``.
    options_of : dict of str to str
        Option of each parameter, to set the parameters of a model that is read from a run.
    numbers : tuple of str
        Values that are saved in addition to the chain: names of attributes, without the leading
        underscore.
    """

    model: ClassVar[str]
    options_of: ClassVar[dict[str, str]]
    numbers: ClassVar[tuple[str, ...]] = ("seen",)

    keep_samples: int | str
    random_state: Any
    components_: Floats
    n_iter_: int
    n_samples_: int

    _options: Resolved
    # `_posterior` exists only in the process that fitted the model, or after `partial_fit`.
    _posterior: Posterior
    # State of a model that was loaded or unpickled.
    _kept: MatrixRecord
    # Gibbs refinement that `fit` ran. Calls of `partial_fit` discard it.
    _stage: ExactStage | None = None
    _samples: Mapping[int, Sample]
    _word_counts: WordTotals | None = None  # Word counts of the documents of `fit`.
    _seen: int  # Number of documents in all minibatches of `partial_fit`.
    _labels: Mapping[int, Label] = MappingProxyType({})  # Names of the lowest layer's topics.
    _draw: Draw

    @property
    def _record(self) -> MatrixRecord:
        """State of the current chain, or else the stored state of an earlier chain."""
        if not hasattr(self, "_posterior"):
            return self._kept
        chain = self._posterior.chain
        # The scorer's state is left out, because the documents that it scored may be gone.
        averages = {n: a for n, a in self._posterior.arrays().items() if n.startswith(PREFIX)}
        exact = self._stage.record() if self._stage else {}
        arrays, documents = chain.arrays() | averages | exact, chain.stream.documents
        words = self.n_features_in_
        return MatrixRecord(self._options, words, documents, chain.tokens, chain.step, arrays)

    def _fitted(self) -> Fitted:
        """Return the fitted model, which can infer topic proportions and score documents."""
        return find_model(self.model).fitted(self._record, jobs(self.n_jobs))

    def _resume(self) -> None:
        """Restore the chain from its stored state, without documents, if it is not in memory."""
        if hasattr(self, "_posterior"):
            return
        record = self._kept
        nobody = Documents(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))
        posterior = begin(
            record.options,
            Epochs.of(record.options, nobody, np.arange(record.documents)),
            CorpusFacts(record.words, record.tokens),
            RunOn(jobs(self.n_jobs)),
            keep_mean=bool(read_running_averages(record.arrays).sums),
        )
        posterior.chain.restore(record.step, record.arrays)
        # The history of scores is cleared, because no document is scored any more.
        posterior.restore({**record.arrays, HISTORY: np.empty(0)})
        # Further training changes the topics, so draws of a Gibbs refinement are discarded. Stored
        # samples of training are read from disk and kept.
        most = 0 if self._fitted().exact else self._most_samples(record.options, record.words)
        stored = np.array(list(self._samples) if most else [], np.int64)
        self._samples = {
            step: self._samples[step] for step in evenly_spaced(stored, max(1, most)).tolist()
        }
        self._posterior = posterior
        del self._kept

    def _finish(self) -> None:
        """Set the public attributes from the current state of the chain."""
        record, fitted = self._record, self._fitted()
        self._draw = fitted.mean or fitted.current
        phi = fitted.topics_over_words(self._draw, 0)
        self.components_ = as_rows(phi, fitted.layers[0], self.of_counts)
        self.n_iter_, self.n_samples_ = record.step, fitted.samples
        history = read_running_averages(read_averages(record.arrays)).history
        name = f"{find_model(self.model).score.name}_"
        score = float(history[-1]) if len(history) else math.nan
        if math.isnan(score) and hasattr(self, "_posterior"):
            score = float(self._posterior.point())
        vars(self).pop(name, None)
        if not math.isnan(score):
            setattr(self, name, score)

    def _topics(self, layer: int) -> Floats:
        layer_index, fitted = self._at(layer), self._fitted()
        return as_rows(
            fitted.topics_over_words(self._draw, layer_index),
            fitted.layers[layer_index],
            self.of_counts,
        )

    def _user_names(self, layer: int) -> dict[int, str]:
        if layer != 1:
            return {}
        names = {k: label.name for k, label in self._labels.items()}
        return seed_names(self._options) | names

    def _first_words(self, phi: Array, n: int, layer: int, order: WordOrder | None) -> Int64s:
        return self._fitted().first_words(phi.T, n, self._at(layer), order, self._word_counts)

    # ---- posterior samples

    def samples(self, layer: int = 1) -> Floats:
        """Return the topics of each stored posterior sample.

        For a run that `load` has read, these are the samples that ``sgmc train`` kept, read from
        disk.

        Parameters
        ----------
        layer : int
            The layer, counted from 1, the lowest layer.

        Returns
        -------
        (S, K, V) float32
            Samples in the order of iterations, with rows as in ``components_``. If all samples are
            kept, ``components_`` is their mean.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit` or `partial_fit`.
        UsageError
            A `ValueError`, if no sample is kept, or the layer does not exist.
        """
        topics = list(self._kept_topics(layer).draws)
        if not topics:
            raise UsageError(NO_SAMPLE)
        return np.stack(topics)

    def _most_samples(self, options: Resolved, words: int) -> int:
        """Return the maximum number of posterior samples to store."""
        if self.keep_samples != AUTO:
            return int(self.keep_samples)
        return min(AUTO_SAMPLES, AUTO_BYTES // (4 * words * sum(options.widths[:1])))

    def _kept_topics(self, layer: int, population: str = ALIKE) -> KeptTopics:
        """Return the topics of stored samples, with more variation if they stand for other texts."""
        layer_index, fitted = self._at(layer), self._fitted()
        widens = population == ALIKE and fitted.population is not None
        rows = (
            fitted.topics_of_sample(
                fitted.widen_sample(step, sample) if widens else sample, layer_index
            )
            for step, sample in self._samples.items()
        )
        exact = fitted.exact is not None
        return KeptTopics(rows, fitted.faithful, exact, ALIKE if widens else THESE)

    def _at(self, layer: int) -> int:
        """Convert a 1-based layer number to a 0-based index."""
        self._check_fitted()
        depth = self._options.depth
        if isinstance(layer, bool) or layer not in range(1, depth + 1):
            raise UsageError(f"layer: wanted 1 to {depth}, found {layer!r}")
        return int(layer) - 1

    # ---- effects of document metadata

    def effect(
        self,
        X: Any,
        formula: str,
        data: Any,
        *,
        contrasts: Sequence[tuple[str, Any, Any]] = (),
        reference: Any = None,
        cluster: str | None = None,
        layer: int = 1,
    ) -> pandas.DataFrame:
        """Estimate how topic proportions depend on document metadata, as ``sgmc effect`` does.

        Parameters
        ----------
        X : sparse matrix, sparse array or array-like of shape (n, V), or words
            As in `fit`.
        formula : str
            Formula in formulaic's syntax over columns of ``data``, such as
            ``"~ party + bs(year, df=4)"``.
        data : pandas.DataFrame or mapping of str to sequence
            Metadata with a row for each document. Dates (``pandas.to_datetime``) are numbers of
            years. Documents with a missing value, or without words, are left out.
        contrasts : sequence of (column, first value, second value)
            Comparisons to make. By default, a column of numbers is compared at its third and first
            quartile, and categories are compared in all pairs, or with the most frequent one if
            there are more than ten.
        reference : str, optional
            A value that the other values of its column are compared with.
        cluster : str, optional
            A column with the cluster, such as the source, of each document.
        layer : int
            The layer of a deep model, counted from 1, the lowest layer.

        Returns
        -------
        pandas.DataFrame
            A row for each comparison and topic: ``column``, ``from``, ``to``, ``topic``, ``name``,
            the predicted shares ``first`` and ``second``, and their ``difference``, each with the
            bounds of their 90 % intervals. A predicted share below 0 is given as 0, but the
            difference uses the unchanged shares. ``surely`` is 1 if the difference is surely above
            0, and -1 if surely below 0, over all comparisons together: a single interval may
            exclude 0 although the difference is not sure. ``p_column`` is the p-value of the test
            that the share is the same at all values of the column. The uncertainty of the topics is
            included if samples are kept (``keep_samples``). See docs/effect.md.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit`.
        UsageError
            A `ValueError`: formulaic is not installed, or the formula does not fit ``data``.
        """
        from pysgrld.effects.answers import EffectRequest, estimate_effects, requested_columns
        from pysgrld.effects.composition import WordAllocation

        layer_index, documents = self._at(layer), self._documents_like(X)
        if not self.of_counts:
            raise UsageError(
                "this model has no topic shares of documents, so effects cannot be estimated; "
                "use another model"
            )
        if not isinstance(data, Mapping) and not hasattr(data, "columns"):
            raise UsageError(
                "data: wanted a table with named columns, such as a DataFrame, or "
                f'{{"party": parties}}, found a {type(data).__name__}'
            )
        names = getattr(data, "columns", data)
        columns = {str(name): with_days(list(data[name])) for name in names}
        for name, values in columns.items():
            if len(values) != len(documents):
                raise UsageError(
                    f"column {name} of data has {plural(len(values), 'row')}, but X has "
                    f"{len(documents):,} documents; give one row for each"
                )
        words = np.flatnonzero(documents.lengths)
        mean, topics = self._topics(layer), self._fitted().shown(layer_index)
        draws = list(self._kept_topics(layer).draws) or [mean]
        effects = estimate_effects(
            EffectRequest(
                formula,
                [(c, str(a), str(b)) for c, a, b in contrasts],
                cluster,
                layer,
                None if reference is None else str(reference),
            ),
            requested_columns(
                formula, cluster, {n: [v[i] for i in words] for n, v in columns.items()}
            ),
            WordAllocation.from_topics(mean[topics], None, (phi[topics] for phi in draws)),
            topics,
            lambda rows: documents.take(words[rows]),
        )
        if effects.likeness is not None:
            line = effects.likeness.warning.replace("--cluster ", "cluster=")
            warnings.warn(line, UserWarning, stacklevel=2)
        names = dict(enumerate(self._short_names(None, layer)))
        frame = library("pandas", "effect").DataFrame
        effects_frame: pandas.DataFrame = frame(effects.rows(topics.tolist(), names))
        return effects_frame

    # ---- pickling, saving, loading

    def __getstate__(self) -> dict[str, Any]:
        state = {
            name: v
            for name, v in vars(self).items()
            if name not in ("_posterior", "_stage", "_draw")
        }
        if self.__sklearn_is_fitted__():
            state["_kept"] = self._record
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self.__sklearn_is_fitted__():
            fitted = self._fitted()
            self._draw = fitted.mean or fitted.current

    def save(self, path: str | Path, vocabulary: Sequence[str] | None = None) -> None:
        """Write a run directory, which can be read by `load`, ``sgmc topics`` and ``sgmc export``.

        It contains the chain and its averages, so that `partial_fit` after `load` gives exactly the
        same results, and the kept posterior samples. docs/run-directory.md describes the files.

        Parameters
        ----------
        path : str or Path
            The folder to write; it must not exist.
        vocabulary : sequence of V str, optional
            Words of the columns; by default ``feature_names_in_``, else word1, word2, ...

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit` or `partial_fit`.
        UsageError
            A `ValueError`, if the number of words differs from the number of columns.
        OutputError
            If the folder exists or cannot be made.
        WriteError
            If the disk is full or fails.
        """
        self._write(path, vocabulary, None)

    def _write(
        self, path: str | Path, vocabulary: Sequence[str] | None, corpus: Corpus | None
    ) -> None:
        """Write a run directory as `save` does; ``corpus`` has the training documents, if known."""
        from pysgrld.train.plan import training_config

        words, record, model = self._words(vocabulary), self._record, find_model(self.model)
        parameters = {
            name: list(v) if isinstance(v, tuple) else v for name, v in self.get_params().items()
        }
        # The seed that was drawn from a generator is saved instead of the generator.
        if not isinstance(self.random_state, int | None):
            parameters["random_state"] = record.options.seed
        config = training_config(record.options, []) | {
            "command": {"inputs": [], "estimator": parameters},
            "corpus": {
                "name": "matrix",
                "fingerprint": None,
                **dict.fromkeys(("documents", "training_documents"), record.documents),
                **dict.fromkeys(("tokens", "training_tokens"), record.tokens),
                **dict.fromkeys(("held_out", "held_out_dropped"), 0),
                "words": record.words,
            },
        }
        meta = {
            name: getattr(self, f"_{name}") for name in self.numbers if hasattr(self, f"_{name}")
        }
        if corpus is not None:
            meta.pop("measures", None)  # Commands that read the run compute these measures.
            config["corpus"] |= {
                "fingerprint": corpus.fingerprint,
                **dict.fromkeys(("documents", "training_documents"), corpus.documents),
                **dict.fromkeys(("tokens", "training_tokens"), corpus.tokens),
            }
        try:
            run = RunDirectory.create(Path(path), config, list(words))
        except OutputError as error:  # Remove the advice that names options of the command line.
            raise OutputError(str(error).removesuffix(" with --out")) from None
        with run.lock():
            if self._word_counts is not None:
                store_word_counts(run.path, self._word_counts)
            if self._labels:
                write_labels(run.path / LABELS, self._labels)
            for step, sample in self._samples.items():
                run.samples.write(step, sample, model.fitted.sample_invariants)
            invariants = model.fitted.state_invariants
            run.save_checkpoint(record.step, record.arrays, meta, keep=1, invariants=invariants)
            run.set_status("finished", step=record.step)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model written by `save` or ``sgmc train``; `partial_fit` can continue it.

        Parameters
        ----------
        path : str or Path
            A run directory.

        Returns
        -------
        Self
            A fitted estimator. Parameters that the run does not record have their defaults,
            ``total_samples`` is the run's number of training documents, and ``feature_names_in_``
            are the run's words.

        Raises
        ------
        MissingInputError
            A `FileNotFoundError`, if the run is missing.
        UsageError
            A `ValueError`, if the run has another model.
        CheckpointError
            If the run has no checkpoint, or a damaged one.
        """
        run = RunDirectory.open(Path(path))
        model, options = model_and_options(run)
        plain, corpus = run.config["options"], run.config["corpus"]
        if model.name != cls.model:
            raise UsageError(
                f"{path}: the run's model is {model.name}, not {cls.model}; load the run with the "
                f"estimator of {model.name}"
            )
        parameters = run.config.get("command", {}).get("estimator")
        if parameters is None:
            parameters = {
                parameter: plain.get(option) for parameter, option in cls.options_of.items()
            }
            parameters["total_samples"] = corpus["training_documents"]
        checkpoint = run.load_checkpoint(required=True, invariants=model.fitted.state_invariants)
        if checkpoint is None:
            raise CheckpointError(f"{path}: has no checkpoint; train it with 'sgmc train'")
        words, parameter_names = run.vocabulary, cls._parameters()
        estimator = cls(**{name: v for name, v in parameters.items() if name in parameter_names})
        estimator._options, estimator.n_features_in_ = options, len(words)
        estimator._note_parameters()
        estimator._kept = MatrixRecord(
            options,
            len(words),
            corpus["training_documents"],
            corpus["training_tokens"],
            checkpoint.step,
            checkpoint.arrays,
            str(checkpoint.path),
        )
        estimator._samples = StoredSamples(run, estimator._kept)
        with contextlib.suppress(MissingInputError):
            estimator._word_counts = read_word_counts(run.path, run.config, len(words))
        numbers = {"seen": checkpoint.meta.get("documents", 0)} | checkpoint.meta
        vars(estimator).update({f"_{n}": numbers[n] for n in cls.numbers if n in numbers})
        if words != tuple(UNNAMED.format(i + 1) for i in range(len(words))):
            estimator.feature_names_in_ = np.array(words, dtype=object)
        estimator._finish()
        # If the run continues another run, an inherited name is kept only if its topic has stayed
        # the same.
        if labels := labels_of(run.path, len(estimator.components_)):
            fitted, draw = estimator._fitted(), estimator._draw
            phi = partial(fitted.topics_over_words, draw, 0)
            former = read_former_topics(run.path, run.config, phi, fitted.layers[0])
            estimator._labels = labels if former is None else former.names_that_stay(labels)
        return estimator


def as_rows(phi: Floats, topics: int, of_counts: bool = True) -> Floats:
    """Return topics as rows, (K, V) float32; if they are distributions, each row sums to 1.

    Parameters
    ----------
    phi : (V, K or more) float32
        Topics over words.
    topics : int
        Number of topics K.
    of_counts : bool
        True if topics are distributions, which must not be all 0; False if they are directions.
    """
    rows = phi[:, :topics].T
    if not of_counts:
        return np.ascontiguousarray(rows)
    total = rows.sum(axis=1, dtype=np.float64, keepdims=True)
    result: Floats = (rows / total).astype(np.float32)
    return result


def with_days(values: list[Any]) -> list[Any]:
    """Convert dates and times in a column to days (datetime64); leave other columns unchanged.

    pandas' and NumPy's missing times differ from themselves.

    Parameters
    ----------
    values : list
        Values of the column.
    """
    if not any(isinstance(value, date | np.datetime64) for value in values):
        return values
    return [
        None if value is None or value != value else np.datetime64(str(value)[:10], "D")
        for value in values
    ]
