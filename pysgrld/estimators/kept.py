"""Topic models after `fit`: read, pickled, saved and loaded, and their posterior samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from pysgrld.chain.posterior import Posterior, Thinning, score_in
from pysgrld.core.draws import Draw
from pysgrld.errors import OutputError, UsageError
from pysgrld.estimators.dataframes import Framed, unnamed
from pysgrld.estimators.resources import jobs
from pysgrld.estimators.saved import MatrixRecord, Sample, Saved, load, save
from pysgrld.models.fitted import Fitted
from pysgrld.models.table import model_of
from pysgrld.options.option import Resolved
from pysgrld.types import Floats


class KeptModel(Framed):
    """Base of estimators that keep a chain, or the record of one that is gone.

    Attributes
    ----------
    model : str
        Name of the model, as after ``--model``.
    options_of : dict of str to str
        Parameters of a model that is read from a run, and the options that they were.
    numbers : tuple of str
        Numbers beside the chain that are saved: attributes, without the underscore before them.
    """

    model: ClassVar[str]
    options_of: ClassVar[dict[str, str]]
    numbers: ClassVar[tuple[str, ...]] = ("seen",)

    keep_samples: int
    components_: Floats
    n_iter_: int
    n_samples_: int

    _options: Resolved
    _posterior: Posterior  # in the process that fitted it; elsewhere, until `partial_fit`,
    _kept: MatrixRecord  # what it was when it was pickled or saved
    _samples: Mapping[int, Sample]
    _seen: int  # documents of minibatches that `partial_fit` was given
    _draw: Draw

    @property
    def _record(self) -> MatrixRecord:
        """The chain as it stands, or as it stood."""
        if hasattr(self, "_posterior"):
            return MatrixRecord.of(self._options, self.n_features_in_, self._posterior)
        return self._kept

    def _fitted(self) -> Fitted:
        """Give this model as its model reads it, to infer documents and score them."""
        return model_of(self.model).fitted(self._record, jobs(self.n_jobs))

    def _resume(self) -> None:
        """Make the chain again where only its record is there."""
        if not hasattr(self, "_posterior"):
            self._posterior = self._kept.resumed(jobs(self.n_jobs))
            del self._kept

    def _finish(self) -> None:
        """Set what a person reads of the chain as it stands."""
        record, fitted = self._record, self._fitted()
        self._draw = fitted.mean or fitted.current
        self.components_ = self._rows(fitted.over_words(self._draw, 0), fitted.layers[0])
        self.n_iter_, self.n_samples_ = record.step, fitted.samples
        name, score = f"{model_of(self.model).score.name}_", score_in(record.arrays)
        if math.isnan(score) and hasattr(self, "_posterior"):
            score = float(self._posterior.point())
        vars(self).pop(name, None)
        if not math.isnan(score):
            setattr(self, name, score)

    def _rows(self, phi: Floats, topics: int) -> Floats:
        """Give topics over words, (V, K or more), as rows that a person reads, (K, V)."""
        return normalised(phi[:, :topics].T)

    @property
    def _token_pattern(self) -> str | None:
        return self._options.token_pattern

    @property
    def _phrases(self) -> tuple[str, ...] | None:
        return self._options.phrases

    # ---- posterior samples

    def _keep_sample(self) -> None:
        """Keep the chain's state if it is the turn of its posterior sample, and drop what is too many."""
        posterior = self._posterior
        if not self.keep_samples or not posterior.draws:
            return
        spread = Thinning(self.keep_samples).kept(posterior.samples)
        kept = {posterior.burn_in + n * posterior.every for n in spread}
        self._samples = {step: sample for step, sample in self._samples.items() if step in kept}
        if posterior.chain.step in kept:
            self._samples[posterior.chain.step] = posterior.chain.sample()

    def samples(self, layer: int = 1) -> Floats:
        """Give the topics in each posterior sample that is kept: ``keep_samples`` of them at most.

        Of a run that `load` has read they are those that ``sgmc train`` kept, read from disk.

        Parameters
        ----------
        layer : int
            The layer, counted from 1, which is the lowest.

        Returns
        -------
        (S, K, V) float32
            In the order of iterations; rows as those of ``components_``, which is their mean as far as
            samples are kept.

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit` or `partial_fit`.
        UsageError
            A `ValueError`, if none is kept, or there is no such layer.
        """
        found = list(self._each_sample(layer))
        if not found:
            raise UsageError(
                "no posterior sample is kept: set keep_samples before fit, and max_iter beyond burn_in"
            )
        return np.stack(found)

    def _each_sample(self, layer: int) -> Iterator[Floats]:
        at, fitted = self._at(layer), self._fitted()
        return (fitted.rows_of(sample, at) for sample in self._samples.values())

    def _faithful(self) -> bool:
        return self._fitted().faithful(self.n_iter_)

    def _topics(self, layer: int) -> Floats:
        at, fitted = self._at(layer), self._fitted()
        return self._rows(fitted.over_words(self._draw, at), fitted.layers[at])

    def _at(self, layer: int) -> int:
        """Give the place of a layer, from 0."""
        self._check_fitted()
        depth = self._options.depth
        if isinstance(layer, bool) or layer not in range(1, depth + 1):
            raise UsageError(f"layer: wanted 1 to {depth}, found {layer!r}")
        return int(layer) - 1

    # ---- pickled, saved, loaded

    def __getstate__(self) -> dict[str, Any]:
        state = {name: v for name, v in vars(self).items() if name not in ("_posterior", "_draw")}
        if self.__sklearn_is_fitted__():
            state["_kept"] = self._record
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self.__sklearn_is_fitted__():
            fitted = self._fitted()
            self._draw = fitted.mean or fitted.current

    def save(self, path: str | Path, vocabulary: Sequence[str] | None = None) -> None:
        """Write a run directory, which `load`, ``sgmc topics`` and ``sgmc export`` read.

        It holds the chain and its averages, so that `partial_fit` goes on to the bit after `load`, and
        the posterior samples that are kept; docs/run-directory.md says where.

        Parameters
        ----------
        path : str or Path
            The folder to write; there must be none yet.
        vocabulary : sequence of V str, optional
            Words of the columns; by default ``feature_names_in_``, else word1, word2, ...

        Raises
        ------
        NotFittedError
            A `ValueError`, before `fit` or `partial_fit`.
        UsageError
            A `ValueError`, if there are more or fewer words than columns.
        OutputError
            If the folder exists or cannot be made.
        WriteError
            If the disk is full or fails.
        """
        words = self._words(vocabulary)
        parameters = self.get_params()
        own = {
            name: getattr(self, f"_{name}") for name in self.numbers if hasattr(self, f"_{name}")
        }
        try:
            save(Path(path), Saved(parameters, self._record, words, self._samples, own))
        except OutputError as error:  # of the command, which has an option for it
            raise OutputError(str(error).removesuffix(" with --out")) from None

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that `save` or ``sgmc train`` wrote; `partial_fit` goes on from it.

        Parameters
        ----------
        path : str or Path
            A run directory.

        Returns
        -------
        Self
            A fitted estimator. Parameters that the run does not tell have their defaults,
            ``total_samples`` is the number of documents that it was trained on, and
            ``feature_names_in_`` are its words.

        Raises
        ------
        MissingInputError
            A `FileNotFoundError`, if there is no run.
        UsageError
            A `ValueError`, if it is a run of another model.
        CheckpointError
            If the run has no checkpoint, or a damaged one.
        """
        saved = load(Path(path), cls.model, cls.options_of)
        known = cls._parameters()
        found = cls(**{name: v for name, v in saved.parameters.items() if name in known})
        found._options, found._kept = saved.record.options, saved.record
        found._samples = saved.samples
        vars(found).update({f"_{n}": saved.own[n] for n in cls.numbers if n in saved.own})
        found.n_features_in_ = len(saved.words)
        named = saved.words != unnamed(len(saved.words))
        found._take_names(np.array(saved.words, dtype=object) if named else None)
        found._finish()
        return found


def normalised(phi: Floats) -> Floats:
    """Divide rows by their sums, which are taken in double precision.

    Parameters
    ----------
    phi : (K, V) float32
        Non-negative, no row all 0.
    """
    total = phi.sum(axis=1, dtype=np.float64, keepdims=True)
    result: Floats = (phi / total).astype(np.float32)
    return result
