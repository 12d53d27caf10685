"""The files of folders that a corpus was read from: a list beside the header, which stays small.

A record of what a corpus was read from (`pysgrld.corpus.sources`) has every file of a folder, and there
may be millions. The header has their number in place of them, and the list has them one after the other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from pysgrld.corpus.about.finish import FOLDER
from pysgrld.corpus.vectors import stamp_of
from pysgrld.run.files import fsync_folder, read_small, write_new

#: The list, by its name in the corpus's folder.
INPUTS = f"{FOLDER}/inputs.jsonl"

#: Records that are written together, and bytes of the list at most.
_TOGETHER, _LONGEST = 1024, 2**30


def store_files(
    corpus: Path, provenance: Mapping[str, Any], parts: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Write the files of folders to their list, where there are any.

    Parameters
    ----------
    corpus : Path
        Folder of the corpus.
    provenance : mapping
        With all files.
    parts : mapping
        Digest and stamp of each file beside the counts.

    Returns
    -------
    provenance, parts : dict
        As the header has them.
    """
    records: list[dict[str, Any]] = []

    def counted(files: Any) -> Any:
        records.extend(files)
        return len(files)

    header = _replaced(provenance, list, counted)
    if not records:
        return dict(provenance), dict(parts)
    path, sha256 = corpus / INPUTS, hashlib.sha256()

    def lines() -> Iterator[bytes]:
        for start in range(0, len(records), _TOGETHER):
            some = records[start : start + _TOGETHER]
            written = "".join(json.dumps(record) + "\n" for record in some).encode()
            sha256.update(written)
            yield written

    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)  # of a process that was killed before it had committed
    write_new(path, lines(), "store")
    fsync_folder(path.parent, "store")
    part = {"sha256": sha256.hexdigest(), "stamp": stamp_of(path.stat())}
    return header, {**parts, INPUTS: part}


def with_files(
    corpus: Path, provenance: Mapping[str, Any], parts: Mapping[str, Any]
) -> dict[str, Any]:
    """Put the files of folders back into what the header says; none where the list is damaged.

    A corpus whose header has them itself, as 0.1.0 has written it, keeps them.
    """
    records: Iterator[Any] | None = None

    def taken(number: int) -> list[Any]:
        nonlocal records
        if records is None:
            records = iter(_records(corpus, parts.get(INPUTS)))
        return list(islice(records, max(number, 0)))

    return _replaced(provenance, int, taken)


def _records(corpus: Path, part: Any) -> list[Any]:
    try:
        written = read_small(corpus / INPUTS, _LONGEST, links=True)
    except OSError:
        return []
    if not isinstance(part, dict) or hashlib.sha256(written).hexdigest() != part.get("sha256"):
        return []
    return [json.loads(line) for line in written.splitlines()]


def _replaced(provenance: Mapping[str, Any], kind: type, change: Any) -> dict[str, Any]:
    """Copy a record with the files of each folder changed, those of what it is a sample of too."""
    found = dict(provenance)
    if isinstance(found.get("inputs"), list):
        found["inputs"] = [
            record | {"files": change(record["files"])}
            if isinstance(record, dict) and isinstance(record.get("files"), kind)
            else record
            for record in found["inputs"]
        ]
    if isinstance(found.get("of"), dict):
        found["of"] = _replaced(found["of"], kind, change)
    return found
