"""Reading of ``config.json``, the record of a run, and types of the parts of this file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pysgrld.errors import CheckpointError, MissingInputError
from pysgrld.run import jsonio
from pysgrld.run.files import read_small
from pysgrld.run.layout import CONFIG, SCHEMA
from pysgrld.run.schema import misfit

#: Types of the parts of ``config.json`` that all models have in common.
_RECORD = {
    "options": dict[str, Any],
    "corpus": {
        "fingerprint": str | None,
        "name": str | None,
        "reading": dict[str, Any] | None,
        "word_counts": str | None,
        "words": int | None,
        "documents": int | None,
        "tokens": int | None,
    },
    "vocabulary": {"words": int | None, "sha256": str | None},
    "command": {
        "corpus": str | None,
        "inputs": list[str] | None,
        "estimator": dict[str, Any] | None,
    },
    "defaults": list[str] | None,
    "free": list[str],
    "parent": dict[str, Any] | None,
    "versions": dict[str, Any] | None,
    "isa": str | None,
}


def read_config(path: Path) -> bytes:
    """Verify a run's ``config.json``, and return its content.

    Raises
    ------
    MissingInputError
        If the folder has no run, or the file cannot be read.
    CheckpointError
        If the file is damaged, or has another format.
    """
    file = path / CONFIG
    try:
        settings = read_small(file)
        config = jsonio.parse_sealed(settings, file)
        if not isinstance(config, dict):
            raise ValueError("not a table of options")
        record = {"free": [], **config} if "schema" not in config else config
        if config.get("schema", SCHEMA) == SCHEMA and (problem := misfit(record, _RECORD)):
            raise ValueError(problem)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingInputError(
            f"{path}: is not a run (it has no {CONFIG}); check the path"
        ) from None
    except OSError as error:
        raise MissingInputError(
            f"{file}: cannot be read: {error.strerror}; make it readable, then try again"
        ) from error
    except ValueError as error:
        raise CheckpointError(f"{file}: is damaged: {error}; restore it") from None
    if (schema := config.get("schema")) != SCHEMA:
        release = (config.get("versions") or {}).get("pysgrld", "another release")
        raise CheckpointError(
            f"{file}: the run has format {schema!r}, written by sgmc {release}, but this sgmc "
            f"reads format {SCHEMA}; use the sgmc that wrote it, or train a new run in another "
            "folder"
        )
    return settings
