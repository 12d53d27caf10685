"""Writing and reading of JSON files (sorted keys, no NaN) and JSON lines."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import json
import logging
import math
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any, NoReturn

import numpy as np

from pysgrld.errors import MissingInputError
from pysgrld.run.files import fail_point, open_regular, write_all

logger = logging.getLogger(__name__)

#: Maximum length of a line in bytes. sgmc does not write longer lines.
LONGEST = 16 << 20
#: Key under which a file stores the digest of its other keys and values.
SEAL = "digest"
#: Files about which a warning was logged, each with its content at that time.
_warned: set[tuple[str, bytes]] = set()


def utc_now() -> str:
    """Return the current UTC time to milliseconds, as in ``2026-01-31T12:00:00.000Z``."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def plain(value: Any, *, nonfinite_is_null: bool = False, where: str = "") -> Any:
    """Convert NumPy values, tuples, sets and paths to JSON types.

    Raises
    ------
    ValueError
        For NaN or infinity, unless `nonfinite_is_null`.
    TypeError
        For a type that has no equivalent in JSON.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        if nonfinite_is_null:
            return None
        raise ValueError(f"{where or 'a value'} is {value}, which JSON cannot represent")
    if isinstance(value, dict):
        return {
            str(key): plain(item, nonfinite_is_null=nonfinite_is_null, where=f"{where}.{key}")
            for key, item in value.items()
        }
    if isinstance(value, set | frozenset):
        value = sorted(value)
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item, nonfinite_is_null=nonfinite_is_null, where=where) for item in value]
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(
        f"{where or 'a value'} has the type {type(value).__name__}, which JSON cannot represent"
    )


def pretty(value: Any) -> bytes:
    """Format a value as indented JSON; return bytes."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return text.encode("ascii") + b"\n"


def format_sealed(value: Mapping[str, Any]) -> bytes:
    """Format a JSON object with a digest of its content, which `parse_sealed` checks; return bytes."""
    return pretty({**value, SEAL: _seal(value)})


def parse_sealed(data: bytes, place: Path) -> Any:
    """Parse a file made by `format_sealed`, remove its digest, and warn if the digest does not match.

    A file without a digest is accepted, and so is JSON that is not an object.

    Raises
    ------
    ValueError
        As for `parse`.
    """
    value = parse(data)
    if not isinstance(value, dict) or SEAL not in value:
        return value
    seal = value.pop(SEAL)
    if seal != _expected_digest(data) and (warned := (str(place), data)) not in _warned:
        _warned.add(warned)
        logger.warning(
            "%s: was changed since it was written (edited or damaged), so its values may be wrong; "
            "restore it from a backup if possible",
            place,
        )
    return value


@lru_cache(maxsize=4)
def _expected_digest(data: bytes) -> str:
    """Compute the digest that a sealed file should have; results for the same bytes are cached."""
    value = parse(data)
    del value[SEAL]
    return _seal(value)


def _seal(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(pretty(value)).hexdigest()


def line(value: Any) -> bytes:
    """Return a line of a ``.jsonl`` file, with keys in the given order."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key occurs twice")
    return result


def parse(data: bytes) -> Any:
    """Parse strict JSON, in which NaN, duplicate keys and deep nesting are refused.

    Raises
    ------
    ValueError
        If the data are not strict JSON.
    """
    try:
        return json.loads(
            data.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_unique
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None


# ---- append-only files with one object per line


def append_line(path: Path, record: dict[str, Any], point: str) -> None:
    """Append an object to a file as one line; NaN and infinity become null.

    The file must exist, so that the removal of a folder is noticed.

    Raises
    ------
    OSError
        If the object could not be written; no part of its line is then in the file.
    """
    data = line(plain(record, nonfinite_is_null=True))
    fail_point(f"{point}.open")
    with open_regular(path, append=True) as (fd, size):
        # If a process was killed while it wrote a line, end that line before the new line.
        if size and os.pread(fd, 1, size - 1) != b"\n":
            data = b"\n" + data
        try:
            write_all(fd, data, point)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(fd, size)
            raise


def read_lines(path: Path, last: int | None = None) -> list[dict[str, Any]]:
    """Read all objects of a file of JSON lines, except an incomplete last line.

    Parameters
    ----------
    path : Path
    last : int, optional
        Read only complete lines among the last `last` bytes, so that memory does not grow with the
        file.

    Raises
    ------
    MissingInputError
        If the file cannot be read.
    """
    records = []
    try:
        with open_regular(path) as (fd, size), os.fdopen(os.dup(fd), "rb") as file:
            where = str(path)
            whole = last is None or size <= last
            if last is not None and size > last:
                file.seek(size - last - 1)
                file.readline(LONGEST)  # Move to the first complete line.
            for number in itertools.count(1):
                if whole:
                    where = f"{path}:{number}"
                line = file.readline(min(LONGEST, size - file.tell()))
                if not line.endswith(b"\n"):
                    if len(line) < LONGEST:
                        break
                    raise OSError(
                        errno.EFBIG,
                        "a line is longer than any line that sgmc writes; the file is damaged",
                        where,
                    )
                if line == b"\n":
                    continue
                try:
                    record = parse(line)
                    if not isinstance(record, dict):
                        raise ValueError("not an object")
                except ValueError as error:
                    logger.warning("%s: skipped: %s", where, error)
                    continue
                records.append(record)
    except OSError as error:
        raise MissingInputError(
            f"{path}: cannot be read: {error.strerror}; make it readable, then try again"
        ) from error
    return records
