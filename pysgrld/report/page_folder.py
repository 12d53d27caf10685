"""A page that is a folder with files that it loads as they are looked at, and a server of it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pysgrld.errors import OutputError
from pysgrld.run.files import make_folder, replace_file, whole_file
from pysgrld.run.layout import check_outputs

#: The page; it is written last.
INDEX = "index.html"
#: Folders of files beside it.
FOLDERS = ("documents", "titles")
#: Where pages are served, unless that is taken.
PORT = 8000


class PageFolder:
    """A folder that a page and its files are written to. It is whole when `INDEX` is there.

    Parameters
    ----------
    path : Path
        Not there, empty, or what another page was written to.
    force : bool
        Whether a page that is there may be replaced.

    Raises
    ------
    OutputError
        If it has anything else, or a page that is to stay; or cannot be made.
    """

    def __init__(self, path: Path, *, force: bool) -> None:
        self.path = path
        if path.exists() and not path.is_dir():
            raise OutputError(f"{path}: is a file; name a folder")
        there = {entry.name for entry in path.iterdir()} if path.is_dir() else set()
        if others := sorted(there - {INDEX, *FOLDERS}):
            raise OutputError(f"{path}: has {others[0]}, which is of no page; name another folder")
        check_outputs([path / INDEX], force=force)
        try:
            make_folder(path, "output")
            (path / INDEX).unlink(missing_ok=True)
            for name in FOLDERS:
                with contextlib.suppress(FileNotFoundError):
                    shutil.rmtree(path / name)
                make_folder(path / name, "output")
        except OSError as error:
            raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from None

    def write(self, name: str, content: bytes) -> None:
        """Write a file beside the page.

        Parameters
        ----------
        name : str
            Its path in the folder.
        content : bytes

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        try:
            replace_file(self.path / name, [content], "output")
        except OSError as error:
            where = f"{self.path / name}: cannot be written"
            raise OutputError(f"{where}: {error.strerror or error}") from None

    def finish(self, page: bytes) -> Path:
        """Write the page, and return where it is."""
        with whole_file(self.path / INDEX) as file:
            file.write(page)
        return self.path / INDEX


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing of it."""

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


def serve(folder: Path, port: int | None, tell: Callable[[str], None]) -> None:
    """Serve a folder on this machine alone, until Ctrl-C.

    Parameters
    ----------
    folder : Path
    port : int or None
        None: `PORT`, or any other that is free where it is taken.
    tell : callable (address)
        Told the address of the page when it is served.

    Raises
    ------
    OutputError
        If the port is taken.
    """
    handler = partial(_Quiet, directory=str(folder))
    try:
        server = ThreadingHTTPServer(("127.0.0.1", PORT if port is None else port), handler)
    except OSError as error:
        if port is not None:
            raise OutputError(f"--port {port}: {error.strerror or error}; name another") from None
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    with server:
        tell(f"http://127.0.0.1:{server.server_address[1]}/")
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
