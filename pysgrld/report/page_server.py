"""HTTP server of a page that is a folder, for browsers on this machine."""

from __future__ import annotations

import contextlib
import hmac
import os
import re
import secrets
import socketserver
import stat
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pysgrld.errors import Log, OutputError
from pysgrld.report.page_file import policy_of
from pysgrld.report.page_folder import FILES, INDEX

#: Default port of the server. If it is taken, any free port is used.
PORT = 8000
#: Maximum number of seconds within which a browser must send its request.
PATIENCE = 10.0
#: Maximum number of seconds within which a browser must receive a part of the answer.
PATIENCE_OF_ANSWERS = 30.0
#: Maximum number of requests that are answered at the same time. A browser sends six at a time.
REQUESTS = 64
_HOST = "127.0.0.1"
#: Pattern of the paths that are served. They are the page (its name or an empty path), and the
#: files that the page loads.
_NAME = re.compile(rf"|{re.escape(INDEX)}|{FILES.pattern}/[a-z]+/[0-9]{{6,18}}\.bin")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class PageServer(ThreadingHTTPServer):
    """HTTP server of one page, which stops at the end of its ``with`` block.

    The address has a random token, and only requests that name this machine as their host are answered:
    another user of the machine does not know the token, and a site in the browser that points its own
    name to 127.0.0.1 is refused. Only the page and the files that it loads are served: no listings, no
    other files, and no links.

    Parameters
    ----------
    folder : Path
        Folder of the page.
    port : int or None
        Port of the server, or None for `PORT`, or any free port if `PORT` is taken.
    log : callable (line)
        Called with a line for every request that is refused or fails, from any thread.

    Attributes
    ----------
    address : str
        Address of the page, token included.

    Raises
    ------
    OutputError
        If the port is taken or forbidden.
    """

    daemon_threads = True

    def __init__(self, folder: Path, port: int | None, log: Log) -> None:
        self.folder = folder
        self.log = log
        self.token = secrets.token_urlsafe(24)
        self.places = threading.BoundedSemaphore(REQUESTS)
        try:
            super().__init__((_HOST, PORT if port is None else port), _Handler)
        except OSError as error:
            if port is not None:
                reason = error.strerror or error
                raise OutputError(f"--port {port}: {reason}; choose another port") from None
            super().__init__((_HOST, 0), _Handler)
        port = self.server_address[1]
        # Browsers omit port 80 in the host name.
        self.hosts = {f"{name}:{port}" for name in (_HOST, "localhost")}
        if port == 80:
            self.hosts |= {_HOST, "localhost"}
        self.address = f"http://{_HOST}:{port}/{self.token}/"

    def server_bind(self) -> None:
        """Bind the socket, without looking up the machine's network name."""
        socketserver.TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Wait until fewer than `REQUESTS` requests are running, then answer on another thread."""
        self.places.acquire()
        try:
            super().process_request(request, client_address)
        except BaseException:
            self.places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a request on the calling thread, then let another request start."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log a request's error as one line; the server continues."""
        del request, client_address
        error = sys.exception()
        if isinstance(error, TimeoutError | ConnectionError):
            self.log("a browser closed the connection before it received the whole answer")
        else:
            self.log(f"a request failed: {type(error).__name__}: {error}")


class _Handler(BaseHTTPRequestHandler):
    """Handler of one HTTP request to the server of a page."""

    server: PageServer
    server_version = "sgmc"
    sys_version = ""
    # A request without a version counts as HTTP/1.0, because answers in HTTP/0.9 have no headers.
    default_request_version = "HTTP/1.0"
    timeout = PATIENCE_OF_ANSWERS

    def handle(self) -> None:
        """Read a request within `PATIENCE` seconds, and answer it."""
        # A timer limits the time of the whole request, because the socket's timeout restarts with
        # every byte.
        self._limit = threading.Timer(PATIENCE, self._give_up)
        self._limit.daemon = True
        self._late = False
        self._limit.start()
        try:
            super().handle()
        except ConnectionError:
            # This error is expected if the request was late and `_give_up` has closed its
            # connection.
            if not self._late:
                raise
        finally:
            self._limit.cancel()
        if self._late:
            self.server.log(f"closed a request that was incomplete after {PATIENCE:g} s")

    def _give_up(self) -> None:
        self._late = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(2)

    def do_GET(self) -> None:
        """Send a file of the page, or refuse the request."""
        self._limit.cancel()
        if self._late:
            return
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0].strip().lower() not in self.server.hosts:
            self._refuse(
                HTTPStatus.FORBIDDEN,
                "the Host header of the request names another machine or port; open the address "
                "that sgmc printed",
            )
            return
        token, _, name = self.path.removeprefix("/").partition("/")
        is_authorised = hmac.compare_digest(
            token.encode("utf-8", "replace"), self.server.token.encode()
        )
        if not is_authorised or not self.path.startswith("/"):
            self._refuse(
                HTTPStatus.FORBIDDEN,
                "the address of the request lacks the token; open the address that sgmc printed",
            )
            return
        name = name.partition("?")[0]
        content = _read(self.server.folder, name or INDEX) if _NAME.fullmatch(name) else None
        if content is None:
            self._refuse(
                HTTPStatus.NOT_FOUND,
                "the report has no such file; open the address that sgmc printed",
            )
            return
        if name.endswith(".bin"):
            kind, policy = "application/octet-stream", "default-src 'none'"
        else:
            kind, policy = "text/html; charset=utf-8", policy_of(content)
        self._send(HTTPStatus.OK, kind, policy, content)

    do_HEAD = do_GET

    def _send(self, status: HTTPStatus, kind: str, policy: str, content: bytes) -> None:
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(content)), **_HEADERS}
        headers["Content-Security-Policy"] = f"{policy}; frame-ancestors 'none'"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        self.close_connection = True
        if self._late:
            return
        self.server.log(f"refused a request: {reason}")
        text = f"Refused: {reason}.\n".encode()
        self._send(status, "text/plain; charset=utf-8", "default-src 'none'", text)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse a request that is not valid HTTP or asks for something other than a file."""
        # `message` and `explain` are not sent, because they repeat parts of the request.
        del message, explain
        status = HTTPStatus(code)
        self._refuse(status, f"{status.phrase.lower()} ({code})")

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing about a request, because `PageServer.log` reports all errors."""
        del format, args


def _read(folder: Path, name: str) -> bytes | None:
    """Return the content of a regular file; None if it is missing or its path contains a link."""
    *folders, last = name.split("/")
    try:
        with contextlib.ExitStack() as stack:
            place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, place)
            for inner in folders:
                place = os.open(inner, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
                stack.callback(os.close, place)
            # O_NONBLOCK prevents a wait if another program has replaced the file by a pipe.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            with open(os.open(last, flags, dir_fd=place), "rb") as file:
                is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
                return file.read() if is_file else None
    except OSError:
        return None
