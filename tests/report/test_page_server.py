"""The server of a page's folder, tested with raw sockets."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler

import pytest

from pysgrld.errors import OutputError
from pysgrld.report import page_file, page_server
from pysgrld.report.page_server import PageServer

PAGE = page_file.page({"title": "t"}, {}, ["folder.js"], [], loads=True)
#: Folder of the files of the page.
FILES = "files-0123456789abcdef"
#: Headers of every answer.
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Served:
    """A server of a small page: its port, its token, and its logged lines."""

    def __init__(self, server: PageServer, lines: list[str]) -> None:
        self.server = server
        self.port = server.server_address[1]
        self.token = server.token
        self.address = server.address
        self.lines = lines

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def ask(self, request: bytes) -> tuple[int, dict[str, str], bytes]:
        """Send bytes; return the answer's status, headers and content."""
        with self.connect() as connection:
            connection.sendall(request)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        head, _, content = answer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        return int(first.split()[1]), dict(line.split(": ", 1) for line in lines), content

    def get(self, path: str, host: str | None = None, method: str = "GET"):
        host = f"127.0.0.1:{self.port}" if host is None else host
        return self.ask(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode("latin-1"))

    def wait_for_line(self, line: str, times: int = 1) -> None:
        for _ in range(10_000):
            if self.lines.count(line) >= times:
                return
            time.sleep(0.02)
        raise AssertionError(self.lines)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "page"
    (folder / FILES / "documents").mkdir(parents=True)
    (folder / FILES / "titles").mkdir()
    (folder / "index.html").write_bytes(PAGE)
    (folder / FILES / "documents/000000.bin").write_bytes(b"texts")
    (folder / FILES / "titles/000000.bin").write_bytes(b"titles")
    (tmp_path / "secret.txt").write_text("secret")
    return folder


@pytest.fixture
def served(folder):
    lines = []
    with PageServer(folder, None, lines.append) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield Served(server, lines)
        server.shutdown()
        thread.join(60)


def test_the_page_and_its_files_are_served_to_this_machine(served):
    """Every answer has the headers, and the page its policy."""
    assert served.address == f"http://127.0.0.1:{served.port}/{served.token}/"
    assert len(served.token) >= 32
    for host in (
        f"127.0.0.1:{served.port}",
        f"localhost:{served.port}",
        f"LOCALHOST:{served.port}",
    ):
        for path, content in (
            ("", PAGE),
            ("index.html", PAGE),
            ("?x=1", PAGE),
            (f"{FILES}/documents/000000.bin", b"texts"),
            (f"{FILES}/titles/000000.bin", b"titles"),
        ):
            status, headers, answer = served.get(f"/{served.token}/{path}", host)
            assert (status, answer) == (200, content)
            assert headers.items() >= HEADERS.items()
            assert "Python" not in headers["Server"]
            policy = headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'")
            assert policy.endswith("frame-ancestors 'none'")
            is_page = content is PAGE
            assert ("script-src 'sha256-" in policy) == is_page
            assert headers["Content-Type"].startswith("text/html") == is_page
    status, headers, answer = served.get(f"/{served.token}/", method="HEAD")
    assert (status, answer) == (200, b"")
    assert headers["Content-Length"] == str(len(PAGE))
    assert served.lines == []


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:{port}",
        "evil.example",
        "127.0.0.1",
        "localhost:1",
        "",
        "127.0.0.1:{port}\r\nHost: a",
    ],
)
def test_other_hosts_are_refused(served, host):
    """Red with: any Host header, by which a site in the browser read all texts (DNS rebinding)."""
    status, headers, answer = served.get(f"/{served.token}/", host.format(port=served.port))
    assert status == 403
    assert b"Host header" in answer
    assert headers.items() >= HEADERS.items()
    assert served.lines == [
        "refused a request: the Host header of the request names another machine or port; open the "
        "address that sgmc printed"
    ]


def test_a_request_without_a_host_is_refused(served):
    assert served.ask(f"GET /{served.token}/ HTTP/1.0\r\n\r\n".encode())[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/index.html",
        "/documents/000000.bin",
        "/x/",
        "//",
        "/%00",
        "/\xff/",
        "x",
        "http://a/b",
        "*",
    ],
)
def test_requests_without_the_token_are_refused(served, path):
    """Red with: an address without a token; a traceback for /%00."""
    assert served.get(path)[0] == 403
    assert len(served.lines) == 1
    assert "token" in served.lines[0]


@pytest.mark.parametrize(
    "name",
    [
        f"{FILES}/",
        FILES,
        f"{FILES}/documents/",
        "../secret.txt",
        "%2e%2e/secret.txt",
        f"{FILES}/documents/../../../secret.txt",
        "linked.bin",
        f"{FILES}/documents/000001.bin",
        f"{FILES}/documents/000002.bin",
        f"{FILES}/documents/000003.bin",
        f"{FILES}/documents/000004.bin",
        f"{FILES}/linked/000000.bin",
        "mine.txt",
        f"{FILES}/documents/mine.txt",
        "%00",
        f"{FILES}/documents/000000.bin/",
        f"{FILES}/documents/" + "0" * 5000 + ".bin",
        "/index.html",
    ],
)
def test_only_files_of_the_page_are_served(served, folder, name):
    """Red with: listings of folders, links that lead out of the folder, files of somebody else."""
    (folder / "mine.txt").write_text("mine")
    documents = folder / FILES / "documents"
    (documents / "mine.txt").write_text("mine")
    (documents / "000001.bin").symlink_to("../../../secret.txt")
    (documents / "000002.bin").mkdir()
    os.mkfifo(documents / "000003.bin")
    (documents / "000004.bin").symlink_to("000000.bin")
    status, headers, answer = served.get(f"/{served.token}/{name}")
    assert status == 404
    assert b"secret" not in answer
    assert headers.items() >= HEADERS.items()
    assert served.lines == [
        "refused a request: the report has no such file; open the address that sgmc printed"
    ]


def test_a_folder_that_is_a_link_is_not_followed(served, folder, tmp_path):
    titles = folder / FILES / "titles"
    (tmp_path / "others").mkdir()
    titles.rename(tmp_path / "others/titles")
    titles.symlink_to(tmp_path / "others/titles")
    assert served.get(f"/{served.token}/{FILES}/titles/000000.bin")[0] == 404


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\n\r\n", 505),
        (b"GET / HTTP/x\r\n\r\n", 400),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 70_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", 431),
        (b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde", 501),
        (b"OPTIONS * HTTP/1.1\r\n\r\n", 501),
    ],
)
def test_odd_requests_are_refused_in_one_line(served, request_bytes, status, capfd):
    """Red with: tracebacks on standard error."""
    with served.connect() as connection:
        try:
            connection.sendall(request_bytes)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        except ConnectionError:  # it closes before it has read everything
            answer = b""
    if answer:
        assert int(answer.split()[1]) == status
        assert b"nosniff" in answer
    assert served.get(f"/{served.token}/")[0] == 200
    assert all("\n" not in line for line in served.lines)
    assert len(served.lines) <= 1
    assert capfd.readouterr().err == ""


def test_a_browser_that_leaves_costs_one_line(served, folder, capfd):
    """Red with: a traceback for every browser that closes a page that is still loading."""
    (folder / "index.html").write_bytes(PAGE + b" " * 20_000_000)
    connection = served.connect()
    request = f"GET /{served.token}/ HTTP/1.1\r\nHost: localhost:{served.port}\r\n\r\n"
    connection.sendall(request.encode())
    connection.recv(10)
    # closed by a reset, which the server meets while it writes
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    served.wait_for_line("a browser closed the connection before it received the whole answer")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("sent", [b"", b"GET /x HT", b"GET /x HTTP/1.1\r\nHost: a\r\nA"])
@pytest.mark.parametrize("slow", [False, True])
def test_a_request_that_stays_half_sent_is_closed(served, sent, slow, monkeypatch, capfd):
    """Also one that sends a byte now and then. Red with: a thread for ever, for each of them."""
    monkeypatch.setattr(page_server, "PATIENCE", 0.3)
    with served.connect() as connection:
        connection.sendall(sent)
        try:
            for _ in range(600 if slow else 0):
                connection.sendall(b"a")
                time.sleep(0.05)
        except ConnectionError:
            pass
        else:
            assert not slow
            assert connection.recv(1000) == b""
    served.wait_for_line("closed a request that was incomplete after 0.3 s")
    assert len(served.lines) == 1
    assert capfd.readouterr().err == ""


def test_a_late_request_that_resets_its_connection_is_said_to_be_late(served, monkeypatch, capfd):
    """Red with: the line of a browser that left."""
    handle = BaseHTTPRequestHandler.handle

    def handle_and_reset(self):
        handle(self)
        raise ConnectionResetError

    monkeypatch.setattr(page_server, "PATIENCE", 0.1)
    monkeypatch.setattr(BaseHTTPRequestHandler, "handle", handle_and_reset)
    with served.connect() as connection:
        assert connection.recv(1000) == b""
    served.wait_for_line("closed a request that was incomplete after 0.1 s")
    assert len(served.lines) == 1
    assert capfd.readouterr().err == ""


def test_many_half_sent_requests_do_not_keep_others_waiting_for_ever(served, monkeypatch):
    """Red with: a thread for each connection, without a bound."""
    monkeypatch.setattr(page_server, "PATIENCE", 0.3)
    places, before = 4, threading.active_count()
    served.server.places = threading.BoundedSemaphore(places)
    # no more than the system lets wait: beyond that a connection is tried again after seconds
    connections = [served.connect() for _ in range(2 * places)]
    time.sleep(0.2)
    assert threading.active_count() - before <= 2 * places  # a thread and a timer of each
    for number in range(1, 2 * places + 1):
        served.wait_for_line("closed a request that was incomplete after 0.3 s", number)
    monkeypatch.setattr(page_server, "PATIENCE", 60.0)
    assert served.get(f"/{served.token}/")[0] == 200
    for connection in connections:
        connection.close()


def test_a_port_that_is_taken_is_refused_or_another_is_used(folder, monkeypatch):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(
            OutputError, match=f"^--port {port}: Address already in use; choose another port"
        ):
            PageServer(folder, port, print)
        monkeypatch.setattr(page_server, "PORT", port)
        with PageServer(folder, None, print) as server:
            assert server.server_address[1] != port
            assert server.token not in PageServer.__doc__
