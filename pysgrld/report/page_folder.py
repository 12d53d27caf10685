"""Page in the form of a folder: an HTML file, and data files that the page loads on demand."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pysgrld.errors import LockedError, OutputError
from pysgrld.run.files import fsync_folder, make_folder, rename, write_new
from pysgrld.run.layout import claim_outputs
from pysgrld.run.lock import hold_folder, scratch_folder
from pysgrld.run.output_files import open_output
from pysgrld.run.ownership import LIST, FileList, is_marked

#: File name of the page.
INDEX = "index.html"

#: Pattern of the names of folders with a page's files. These names contain a digest of the
#: contents.
FILES = re.compile(r"files-[0-9a-f]{16}(?:-[0-9]+)?")


class PageFolder:
    """Writer of a page and its files into a folder; the old page stays until the new page is done.

    It is a context manager. Files are written into a scratch folder inside it. `finish_files`
    renames the scratch folder to ``files-`` and a digest of the contents. `finish` then replaces
    ``index.html``, which refers to the folder of files, by one rename, and deletes the files of the
    previous page. If the process is killed, the next one deletes the files that no page refers to.
    Only files that sgmc wrote are deleted (`pysgrld.run.ownership`).

    Parameters
    ----------
    path : Path
        A path that does not exist, an empty folder, or a folder to which another page was written.
    force : bool
        Whether an existing page may be replaced.

    Raises
    ------
    OutputError
        If the folder has other files, or has a page and `force` is not set, or cannot be made.
    LockedError
        If another process is writing a page to the folder.
    """

    def __init__(self, path: Path, *, force: bool) -> None:
        self.path = path
        self._digest = hashlib.sha256()
        self._written: list[dict[str, Any]] = []
        self._name: str | None = None
        self._held = contextlib.ExitStack()
        claim_outputs(path, [], force=force)
        try:
            make_folder(path, "output")
            if (lock := hold_folder(path)) is not None:
                self._held.callback(os.close, lock)
            for entry in sorted(path.iterdir()):
                if other := self._foreign(entry):
                    raise OutputError(
                        f"{path}: the folder has {other}, which is not part of a report; choose "
                        "another folder"
                    )
            claim_outputs(path, [INDEX], force=force)
            self._scratch = self._held.enter_context(scratch_folder(path)) / "files"
            self._scratch.mkdir()
        except BlockingIOError:
            raise LockedError(
                f"{path}: another process is writing a report there; wait for it, or choose "
                "another folder"
            ) from None
        except OSError as error:
            self._held.close()
            raise OutputError(
                f"{path}: cannot be written: {error.strerror or error}; choose another folder"
            ) from None
        except BaseException:
            self._held.close()
            raise

    def _foreign(self, entry: Path) -> str | None:
        """Return the path of a file at or below `entry` that is not part of a page, or None."""
        if entry.name in (LIST, INDEX) or is_marked(entry.name):
            return None
        if not FILES.fullmatch(entry.name) or entry.is_symlink() or not entry.is_dir():
            return entry.name
        files = FileList(entry)
        other = next(files.foreign(), None)
        return None if other is None else f"{entry.name}/{other}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._held.close()

    def write(self, name: str, content: bytes) -> None:
        """Write a file that the page loads on demand.

        Parameters
        ----------
        name : str
            Path of the file, relative to the folder of files.
        content : bytes

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        path = self._scratch / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            written = write_new(path, [content], "output")
        except OSError as error:
            raise OutputError(
                f"{path}: cannot be written: {error.strerror or error}; choose another folder"
            ) from None
        self._written.append({"name": name, **written._asdict()})
        self._digest.update(json.dumps(self._written[-1]).encode())

    def finish_files(self) -> str:
        """Give the folder of files its final name when all files are written; return the name."""
        try:
            FileList(self._scratch).append(self._written)
            for folder in (*(p for p in self._scratch.iterdir() if p.is_dir()), self._scratch):
                fsync_folder(folder, "output")
            name, number = f"files-{self._digest.hexdigest()[:16]}", 1
            while os.path.lexists(self.path / name):
                files = FileList(self.path / name)
                if all(files.owns(entry["name"]) for entry in self._written):
                    break  # A previous page has the same files, so they are used again.
                number += 1
                name = f"files-{self._digest.hexdigest()[:16]}-{number}"
            else:
                rename(self._scratch, self.path / name, "output")
        except OSError as error:
            raise OutputError(
                f"{self.path}: cannot be written: {error.strerror or error}; choose another folder"
            ) from None
        self._name = name
        return name

    def finish(self, page: bytes) -> Path:
        """Write the page, delete the files of the previous page, and return the page's path."""
        with open_output(self.path / INDEX) as file:
            file.write(page)
        # Files that cannot be deleted now are deleted together with the next page.
        with contextlib.suppress(OSError):
            for entry in list(self.path.iterdir()):
                if FILES.fullmatch(entry.name) and entry.name != self._name:
                    FileList(entry).remove_all()
        self._held.close()
        return self.path / INDEX
