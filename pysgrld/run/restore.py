"""Restoration of files that someone removed from a run's folder while it trains."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path

from pysgrld.run.files import make_folder, replace_file
from pysgrld.run.layout import CHECKPOINTS, CONFIG, SAMPLES, VOCABULARY

logger = logging.getLogger(__name__)


def vocabulary_text(words: Sequence[str]) -> bytes:
    """Return the content of ``vocab.txt`` for the given words.

    Raises
    ------
    UnicodeEncodeError
        If a word has half of a surrogate pair.
    """
    return "".join(f"{word}\n" for word in words).encode("utf-8")


def restore_removed(run: Path, settings: bytes, words: Sequence[str]) -> None:
    """Write the folders, ``config.json`` and ``vocab.txt`` of a run again if they were removed.

    Parameters
    ----------
    run : Path
    settings : bytes
        Content of ``config.json``.
    words : sequence of str
        Words of ``vocab.txt``; empty if the words are not known.

    Raises
    ------
    OSError
        If a file or folder cannot be written.
    """
    for name in (CHECKPOINTS, SAMPLES):
        make_folder(run / name, "restore")
    if not os.path.lexists(run / CONFIG):
        _write(run / CONFIG, settings)
    if words and not os.path.lexists(run / VOCABULARY):
        _write(run / VOCABULARY, vocabulary_text(words))


def _write(path: Path, content: bytes) -> None:
    replace_file(path, [content], "restore")
    logger.warning("%s: was missing and has been written again", path)
