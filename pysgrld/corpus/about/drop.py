"""Texts taken out of a stored corpus again."""

from __future__ import annotations

import json
from pathlib import Path

from pysgrld.corpus.about.finish import FOLDER
from pysgrld.corpus.about.texts import ENDS, FRAMES, ROWS, TEXT
from pysgrld.corpus.store import Corpus
from pysgrld.errors import WriteError
from pysgrld.run.files import fsync_folder, read_small
from pysgrld.run.whole import replace_file


def drop_text(path: Path) -> int:
    """Take the texts out of a stored corpus, and return how many bytes that frees.

    Its fingerprint stays, so that runs on it go on. What a process that was killed left is removed too.

    Raises
    ------
    CorpusError
        If it is no stored corpus, or a damaged one.
    WriteError
        If it cannot be changed.
    """
    Corpus.open(path)
    freed = 0
    try:
        meta = json.loads(read_small(path / "meta.json", links=True))
        names = [f"{FOLDER}/{name}" for name in (TEXT, FRAMES, ENDS, ROWS)]
        listed = meta.get("parts", {})
        meta["parts"] = {name: part for name, part in listed.items() if name not in names}
        if meta["parts"] != listed:
            replace_file(path / "meta.json", [json.dumps(meta, indent=1).encode() + b"\n"], "store")
        for file in (path / name for name in names):
            if file.is_file():
                freed += file.stat().st_size
                file.unlink()
        if (path / FOLDER).is_dir():
            fsync_folder(path / FOLDER, "store")
    except OSError as error:
        raise WriteError(f"{path}: cannot be changed: {error.strerror or error}") from None
    return freed
