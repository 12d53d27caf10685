"""The stored corpus that a run was trained on, wherever it lies now."""

from __future__ import annotations

import contextlib
from pathlib import Path

from pysgrld.corpus import Corpus
from pysgrld.errors import SgmcError
from pysgrld.run import RunDirectory


def training_corpus(run: RunDirectory) -> Corpus | None:
    """Open the stored corpus that a run was trained on; None if it is not where it was."""
    # its own, or that of the folder of chains, or of the search, that it is in
    places = [folder / "corpus" for folder in (run.path, *run.path.parents[:2])]
    if found := run.config.get("command", {}).get("corpus"):
        places.append(Path(found))
    for place in places:
        with contextlib.suppress(SgmcError):
            corpus = Corpus.open(place)
            if corpus.fingerprint == run.config["corpus"]["fingerprint"]:
                return corpus
    return None


def corpus_gone(run: RunDirectory) -> str:
    """Say which training corpus is missing, and from where."""
    place = run.config.get("command", {}).get("corpus") or run.path / "corpus"
    return f"{run.path}: its training corpus is not at {place}, or was changed"
