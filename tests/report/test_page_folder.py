"""A page that is a folder with all documents, and its server on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request
import zlib

import pytest
from click.testing import CliRunner

from pysgrld.cli import main
from pysgrld.errors import OutputError
from pysgrld.report.making import report
from pysgrld.report.page_folder import PageFolder
from pysgrld.report.page_server import PageServer
from pysgrld.report.sections import documents

DOCUMENTS = 600


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("folder")
    lines = []
    for i in range(DOCUMENTS):
        of = "sea ship wind sail" if i % 2 else "bread oven flour yeast"
        lines.append(json.dumps({"title": f"letter no{i:03}x", "text": f"{of} {of} paper"}))
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    typed = [
        "train",
        str(folder / "corpus.jsonl"),
        "-k",
        "2",
        "--iterations",
        "60",
        "--set",
        "starts=1",
    ]
    typed += ["--set", "burn-in=10", "--max-df", "1.0", "--holdout", "20", "-q"]
    done = CliRunner().invoke(main, [*typed, "--out", str(folder / "run")])
    assert done.exit_code == 0, done.output
    return folder / "run"


def made(run, path, monkeypatch, looked_at=100):
    """A folder for a run of which a sixth of the documents were analysed."""
    monkeypatch.setattr("pysgrld.report.document_pass.DOCUMENTS", looked_at)
    monkeypatch.setattr(documents, "TITLES", 512)
    with PageFolder(path, force=False) as folder:
        page = report(run, beside=folder, threads=1)
        folder.finish(page.html)
    return page


def files_of(path):
    """Return the folder that has the page's files."""
    (found,) = path.glob("files-*")
    return found


@pytest.fixture(scope="module")
def whole(run, tmp_path_factory):
    """A page and its folder. Not to be changed."""
    path = tmp_path_factory.mktemp("whole") / "page"
    with pytest.MonkeyPatch.context() as patch:
        return made(run, path, patch), path


def test_all_documents_lie_beside_the_page(whole):
    """Red with: those alone that were looked at; rows of another document; a file that lacks its end."""
    page, path = whole
    assert page.summary == f"2 topics, texts of {DOCUMENTS} documents"
    parts = sorted((files_of(path) / "documents").iterdir())
    found = [r for part in parts for r in json.loads(zlib.decompress(part.read_bytes()))]
    assert [r["title"] for r in found] == [f"letter no{i:03}x" for i in range(DOCUMENTS)]
    parts = sorted((files_of(path) / "titles").iterdir())
    titles = [json.loads(zlib.decompress(part.read_bytes())) for part in parts]
    assert [len(part) for part in titles] == [512, DOCUMENTS - 512]
    assert [title for part in titles for title in part] == [r["title"] for r in found]
    sea = min(page.main["topics"], key=lambda t: [*t["top"], "ship"].index("ship"))["id"]
    of_sea = [max(r["theta"], key=lambda part: part[1])[0] == sea for r in found]
    assert of_sea == [i % 2 == 1 for i in range(DOCUMENTS)]
    assert all("ship" in r["text"] for r in found[1::2])
    looked_at = {row for row in range(DOCUMENTS) if found[row]["theta"][0][2] is not None}
    assert len(looked_at) in (0, 100)  # with intervals, where samples are kept
    by_row = dict(zip(page.main["docs"]["row"], page.main["docs"]["held"], strict=True))
    assert sum(r["held"] for r in found) == 20
    assert all(found[row]["held"] == held for row, held in by_row.items())


@contextlib.contextmanager
def served_page(path):
    with PageServer(path, None, lambda line: None) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.address
        server.shutdown()
        thread.join(10)


@pytest.fixture
def served(whole):
    with served_page(whole[1]) as address:
        yield address


def test_a_document_that_is_not_in_the_page_is_found_and_read(browser, served):
    """Red with: titles of the page alone; a policy that loads nothing; a row that is off by one."""
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{served}#row/596")
    page.wait_for_selector("body[data-ready='#row/596']")
    text = page.inner_text("main")
    assert "letter no595x" in text
    assert "number 596 of 600" in text
    page.keyboard.press("j")
    page.wait_for_selector("body[data-ready='#row/597']")
    page.get_by_role("combobox", name="find a word").fill("no501x")
    page.get_by_role("option", name="letter no501x").click()
    page.wait_for_selector("body[data-ready='#row/502']")
    assert page.locator("mark").count() > 4
    for wrong in ("0", "601", "x"):
        page.goto(f"{served}#row/{wrong}")
        page.wait_for_selector(f"body[data-ready='#row/{wrong}']")
        assert "there are 600" in page.inner_text("main")
    assert said == []
    context.close()


def test_documents_beyond_the_page_are_on_the_map_of_a_folder(browser, run, tmp_path, monkeypatch):
    """Each once, with its topic and its title. Red with: a map of the page's documents alone."""
    monkeypatch.setattr("pysgrld.report.document_pass.MAPPED", 200)
    monkeypatch.setattr("pysgrld.report.document_pass.PLACED", 256)
    page = made(run, tmp_path / "page", monkeypatch)
    assert page.main["dots"]["beside"] == [256, 144]
    sea = min(page.main["topics"], key=lambda t: [*t["top"], "ship"].index("ship"))["id"]
    with served_page(tmp_path / "page") as address:
        context = browser.new_context(viewport={"width": 1200, "height": 800})
        page, said = context.new_page(), []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(address)
        page.wait_for_selector(".dot-stage[data-dots='600']")
        rows, topics, names = page.evaluate("""async () => {
            const dots = await dotsOfCorpus();
            const last = await Promise.all([199, 200, 599].map((i) => dotName(dots, i)));
            return [[...dots.row], [...dots.topic], last];
        }""")
        assert sorted(rows) == list(range(DOCUMENTS))
        assert [topic == sea for topic in topics] == [row % 2 == 1 for row in rows]
        assert names == [f"letter no{rows[i]:03}x" for i in (199, 200, 599)]
        assert "200 evenly spaced documents are laid out" in page.inner_text("main")
        assert said == []
        context.close()


def test_from_a_file_the_page_says_what_it_needs(browser, whole):
    context = browser.new_context()
    page = context.new_page()
    page.goto((whole[1] / "index.html").as_uri() + "#row/3")
    page.wait_for_selector("body[data-ready='#row/3']")
    assert "from a web server only: run sgmc report --serve" in page.inner_text("main")
    context.close()


def test_a_folder_of_something_else_is_left_alone(run, tmp_path):
    (tmp_path / "page").mkdir()
    (tmp_path / "page/mine.txt").write_text("mine")
    with pytest.raises(
        OutputError, match=r"page: the folder has mine\.txt, which is not part of a report"
    ):
        PageFolder(tmp_path / "page", force=True)
    with pytest.raises(OutputError, match="is a file; give a folder"):
        PageFolder(tmp_path / "page/mine.txt", force=True)
    assert (tmp_path / "page/mine.txt").read_text() == "mine"


def test_a_page_is_replaced_if_that_is_wanted_and_nothing_of_it_stays(run, tmp_path):
    path = tmp_path / "page"
    with PageFolder(path, force=False) as folder:
        folder.write("documents/000009.bin", b"old")
        old = folder.finish_files()
        folder.finish(b"old page")
    with pytest.raises(OutputError, match=r"index\.html: is there already; --force"):
        PageFolder(path, force=False)
    assert (path / old / "documents/000009.bin").exists()
    typed = ["report", str(run), "--folder", str(path), "--force", "-q"]
    done = CliRunner().invoke(main, typed)
    assert done.exit_code == 0, done.output
    assert not (path / old).exists()
    assert len(list((files_of(path) / "documents").iterdir())) == 3
    before = {p: p.read_bytes() for p in path.rglob("*") if p.is_file()}
    assert CliRunner().invoke(main, typed).exit_code == 0
    assert before == {p: p.read_bytes() for p in path.rglob("*") if p.is_file()}


def test_a_corpus_is_not_taken_for_the_files_of_a_page(run, tmp_path):
    """Red with: the folder ``documents`` of a project deleted, whoever wrote it, without a word."""
    texts = [tmp_path / "project/documents" / f"{n}.txt" for n in range(20)]
    texts[0].parent.mkdir(parents=True)
    for text in texts:
        text.write_text(text.name)
    for force in ([], ["--force"]):
        typed = ["report", str(run), "--folder", str(tmp_path / "project"), *force]
        done = CliRunner().invoke(main, typed)
        assert done.exit_code == 73
        assert "project: the folder has documents, which is not part of a report" in done.output
    assert all(text.read_text() == text.name for text in texts)


def test_a_file_of_the_user_between_those_of_a_page_is_left_alone(run, tmp_path):
    path = tmp_path / "page"
    with PageFolder(path, force=False) as folder:
        folder.write("documents/000000.bin", b"old")
        mine = path / folder.finish_files() / "documents" / "notes.txt"
        folder.finish(b"old page")
    mine.write_text("mine")
    with pytest.raises(
        OutputError, match=r"has files-\w+/documents/notes\.txt, which is not part of a report"
    ):
        PageFolder(path, force=True)
    mine.unlink()
    (path / "index.html").write_text("edited")
    with pytest.raises(OutputError, match=r"index\.html: was not written by sgmc, or was changed"):
        PageFolder(path, force=True)


CHILD = """
import os, sys
from pathlib import Path
from pysgrld.run import _failpoints, files
from pysgrld.report import page_folder
from pysgrld.report.page_folder import PageFolder

passed = 0

def point(name):
    global passed
    passed += 1
    if passed == int(sys.argv[2]):
        os.kill(os.getpid(), int(sys.argv[3]))
    return False

def before(name):
    call = getattr(Path, name)
    return lambda self, **how: (point(name), call(self, **how))[1]

files.fail_point = point
Path.unlink, Path.rmdir = before("unlink"), before("rmdir")
with PageFolder(Path(sys.argv[1]), force=True) as folder:
    for n in range(3):
        folder.write(f"documents/00000{n}.bin", b"new")
    folder.write("titles/000000.bin", b"new")
    name = folder.finish_files()
    folder.finish(f"new page {name}".encode())
print(passed)
"""


def whole_page(path):
    """Return what the page in a folder shows, after checking that all its files exist."""
    said = (path / "index.html").read_text().split()
    files = sorted(p for p in (path / said[2]).rglob("*.bin"))
    assert len(files) == 4
    assert {p.read_text() for p in files} == {said[0]}
    return said[0]


@pytest.mark.parametrize(
    ("number", "step"),
    [
        (signal.SIGKILL, 11),
        *(pytest.param(n, 2, marks=pytest.mark.nightly) for n in (signal.SIGKILL, signal.SIGTERM)),
    ],
)
def test_a_signal_at_any_moment_leaves_the_old_page_or_the_new_one(tmp_path, number, step):
    """Red with: files that are deleted before the page that names others is there."""
    path = tmp_path / "page"

    def child(moment):
        typed = [sys.executable, "-c", CHILD, str(path), str(moment), str(int(number))]
        return subprocess.run(
            typed, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
        )

    seen, moment = set(), 1
    while True:
        shutil.rmtree(path, ignore_errors=True)
        with PageFolder(path, force=False) as folder:
            for n in range(3):
                folder.write(f"documents/00000{n}.bin", b"old")
            folder.write("titles/000000.bin", b"old")
            name = folder.finish_files()
            folder.finish(f"old page {name}".encode())
        done = child(moment)
        seen.add(whole_page(path))
        if done.returncode == 0:
            break
        assert done.returncode == -number, done.stderr
        assert child(0).returncode == 0  # the next command cleans what this one has left
        assert whole_page(path) == "new"
        names = {p.name for p in path.iterdir()} - {"index.html", ".sgmc-files.jsonl"}
        assert names == {files_of(path).name}
        moment += step
    assert seen == {"old", "new"}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["-o", "a.html", "--folder", "b"], "give one of them"),
        (["-o", "a.html", "--serve"], "give one of them"),
        (["--port", "8001"], "--port requires --serve"),
        (["--serve", "--port", "65536"], "'65536' is not a whole number from 1 to 65535"),
    ],
)
def test_options_that_contradict_each_other_are_wrong_usage(run, typed, said):
    done = CliRunner().invoke(main, ["report", str(run), *typed])
    assert done.exit_code == 2
    assert said in done.output


def test_the_command_serves_until_it_is_interrupted(run, tmp_path):
    """Red with: a traceback, or 130, at Ctrl-C; a server that others can reach."""
    typed = [sys.executable, "-m", "pysgrld", "report", str(run), "--serve", "-q"]
    typed += ["--folder", str(tmp_path / "page")]
    with subprocess.Popen(
        typed,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        # in the background of a shell, where these tests may run, SIGINT is ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            for line in process.stderr:
                if "stop with Ctrl-C" in line:
                    break
            address = next(word for word in line.split() if word.startswith("http://"))
            assert address.startswith("http://127.0.0.1:")
            files = files_of(tmp_path / "page").name
            with urllib.request.urlopen(f"{address}{files}/documents/000000.bin") as answer:
                assert len(json.loads(zlib.decompress(answer.read()))) == 256
            os.kill(process.pid, signal.SIGINT)
            assert process.wait(20) == 0
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()
