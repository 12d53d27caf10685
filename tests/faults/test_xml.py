"""Rows 53 and 54 of the fault matrix: XML that attacks its reader, and XML without limits."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.corpus.about.details import WantedFields
from pysgrld.corpus.formats import Context, Noticed, mediawiki
from pysgrld.corpus.formats.protocol import BadDocuments, RecordCounter
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError

MIB = 2**20
#: Reads the files argv[3:], with pages of argv[2] bytes at most, within argv[1] bytes of memory beyond
#: what the imports took. For each it says what was opened, the processor time in seconds, and how it
#: ended.
CHILD = """
import json, resource, sys, time
from pathlib import Path
from pysgrld.corpus import CorpusOptions, open_corpus
from pysgrld.errors import SgmcError
import socket, urllib.request, encodings.idna, encodings.utf_16, pysgrld.corpus.formats.mediawiki
opened, said = [], []
sys.addaudithook(lambda event, args: opened.append([event, str(args[0])])
                 if event == "open" or event.startswith("socket.") else None)
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]),) * 2)
for path in sys.argv[3:]:
    opened.clear()
    begin = time.process_time()
    try:
        options = CorpusOptions(max_line=int(sys.argv[2]))
        open_corpus([path], options, store=Path(path + ".store"))
        message, code = "", 0
    except SgmcError as error:
        message, code = str(error), error.exit_code
    said.append([list(opened), time.process_time() - begin, message, code])
print(json.dumps(said))
"""

HEAD = "<mediawiki version='0.11'>\n"
PAGE = "<page><title>a</title><ns>0</ns><revision><text>%s</text></revision></page>\n"


def ends(
    paths: list[Path], memory: int, page: int = 64 * MIB
) -> list[tuple[list[list[str]], float, str, int]]:
    child = subprocess.run(
        [sys.executable, "-P", "-c", CHILD, str(memory), str(page), *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert child.returncode == 0, child.stderr[-2000:]
    return [tuple(end) for end in json.loads(child.stdout)]


def laughs(levels: int) -> str:
    entities = '<!ENTITY l0 "lol">' + "".join(
        f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, levels)
    )
    return f"<!DOCTYPE mediawiki [{entities}]>\n{HEAD}{PAGE % f'&l{levels - 1};'}</mediawiki>"


def doctype(inside: str, text: str) -> str:
    return f"<?xml version='1.0'?>\n<!DOCTYPE mediawiki {inside}>\n{HEAD}{PAGE % text}</mediawiki>"


ATTACKS = {
    "billion laughs": laughs(10),
    "quadratic": doctype(f'[<!ENTITY a "{"a" * 100_000}">]', "&a;" * 10_000),
    "external entity": doctype('[<!ENTITY x SYSTEM "file://{canary}">]', "&x;"),
    "external DTD": doctype('SYSTEM "http://127.0.0.1:9/x.dtd"', "a"),
    "parameter entity": doctype('[<!ENTITY % x SYSTEM "file://{canary}"> %x;]', "a"),
}


@pytest.mark.row(53)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_is_refused_before_anything_it_declares_is_read(tmp_path, trials, encoding):
    """Exit 65, in one line, without a file or a socket opened.

    Red with: no handler of the document type (expat then expands what is within its own limit).
    """
    canary = tmp_path / "canary"
    canary.write_text("canary")
    paths = []
    for name, text in ATTACKS.items():
        paths.append(tmp_path / f"{name}.xml")
        paths[-1].write_text(text.replace("{canary}", str(canary)), encoding=encoding)
    for path, (opened, seconds, message, code) in zip(paths, ends(paths, 256 * MIB), strict=True):
        assert code == 65
        assert "document type declaration (DTD)" in message
        assert "\n" not in message
        assert message.startswith(f"{path}:")
        own = (str(path), str(path.with_name(f".{path.name}.store")))  # its store is made beside it
        strange = [e for e in opened if e[0] != "open" or not e[1].startswith(own)]
        assert not [e for e in strange if e[0] != "open" or "/" in e[1]]
        assert seconds < 1  # the limit of the row; reading takes a few milliseconds
        trials()


@pytest.mark.row(53)
def test_entities_do_not_grow_while_their_document_type_is_refused(tmp_path, trials, monkeypatch):
    """Too little is given to expat at once for an entity to grow in it.

    Red with: the first block given whole (after an exception, pyexpat parses on to its end).
    """
    path = tmp_path / "x.xml"
    path.write_text(laughs(10))
    fed, feed = [], mediawiki._Dump.feed
    monkeypatch.setattr(
        mediawiki._Dump, "feed", lambda self, piece: fed.append(len(piece)) or feed(self, piece)
    )
    chosen, bad = CorpusOptions(), BadDocuments(False)
    context = Context(
        chosen,
        WantedFields.of(chosen),
        bad,
        False,
        lambda _: None,
        lambda _: None,
        Noticed(),
        RecordCounter(),
    )
    with Lines(path, MIB) as source, pytest.raises(CorpusError, match="document type"):
        list(mediawiki.read(source, context))
    assert len(fed) == 1
    assert fed[0] <= 64
    trials()


@pytest.mark.row(54)
def test_elements_a_million_deep_are_refused_at_once(tmp_path, trials):
    """Red with: no limit on depth (expat's own is its memory)."""
    path = tmp_path / "deep.xml"
    path.write_text(HEAD + "<a>" * 1_000_000)
    [(_, _, message, code)] = ends([path], 64 * MIB)
    assert code == 65
    assert "nested more than" in message
    assert message.startswith(f"{path}:2: ")
    trials()


@pytest.mark.row(54)
@pytest.mark.parametrize(
    ("mib", "page", "memory"),
    [(176, 8, 160), pytest.param(1024, 64, 640, marks=pytest.mark.nightly)],
)
def test_a_gigabyte_in_one_place_takes_bounded_memory(mib, page, memory, tmp_path, trials):
    """By day a sixth of it, and pages of 8 MiB; at night the usual ones of 64.

    Red with: parts that are kept beyond the limit; tags that are waited for without a limit.
    """
    places = {
        "<page><title>a</title><ns>0</ns><revision><text>": "the page has more than",
        "<page><!--": "is never closed",
        "<page><title>a</title><ns>0</ns><revision><text bytes='": "is never closed",
        "<page><title>": "an element <title> has more than",
    }
    much = gzip.compress(b"a" * (16 * MIB), 1) * (mib // 16)
    end = gzip.compress(b"</text></revision></page></mediawiki>")
    paths = [tmp_path / f"{i}.xml.gz" for i in range(len(places))]
    for path, begin in zip(paths, places, strict=True):
        path.write_bytes(gzip.compress((HEAD + begin).encode()) + much + end)
    ended = ends(paths, memory * MIB, page * MIB)
    for says, (_, _, message, code) in zip(places.values(), ended, strict=True):
        assert code == 65
        assert says in message
        trials()


@pytest.mark.row(54)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_dump_is_refused_with_the_articles_before_it(tmp_path, trials, share):
    """Red with: expat not told of the end."""
    whole = (HEAD + PAGE % ("bread " * 40) * 500 + "</mediawiki>").encode()
    path = tmp_path / "cut.xml"
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(CorpusError, match="is incomplete") as found:
        open_corpus([str(path)], CorpusOptions(), store=tmp_path / "store")
    articles = path.read_bytes().count(b"</page>")
    assert f"(after {articles} article" in str(found.value)
    assert str(found.value).startswith(f"{path}:{articles + 2}: ")
    assert not (tmp_path / "store").exists()
    trials()
