"""docs/internals/adding-a-section.md cites code as it is, and a section is two files and a row."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld.cli import main
from pysgrld.report import report
from pysgrld.report.document_pass import DocumentVisitor
from pysgrld.report.reported_run import Definition, Section
from pysgrld.report.sections import SECTIONS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/internals/adding-a-section.md").read_text("utf-8")
EXCERPTS = re.findall(
    r"^```(?:python|js)\n(?:#|//) (\S+)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL
)


@pytest.mark.parametrize(("name", "excerpt"), EXCERPTS, ids=[name for name, _ in EXCERPTS])
def test_an_excerpt_is_in_the_file_that_it_names(name, excerpt):
    assert f"\n{excerpt}" in (ROOT / name).read_text("utf-8")


def test_the_files_of_the_program_that_know_the_section_are_those_of_the_table():
    """Red with: a name of the section in app.js, or in a list of scripts."""
    said = {name for name in re.findall(r"^\| `(\S+)` \|", PAGE, re.MULTILINE) if "/" in name}
    folders = (ROOT / "pysgrld", ROOT / "cli")
    texts = [
        p for f in folders for p in f.rglob("*") if p.suffix in (".py", ".js", ".css", ".html")
    ]
    know = {
        path.relative_to(ROOT).as_posix()
        for path in texts
        if re.search(
            r"predictions(Page\b|\.js|\"|\.groups)|PredictionsByLength", path.read_text("utf-8")
        )
        and "pysgrld/cli" not in path.as_posix()
    }
    assert know == said == {name for name, _ in EXCERPTS}
    assert {f"{p.stem}" for p in (ROOT / "pysgrld/report/page/views").iterdir()} == set(SECTIONS)


class Counting(DocumentVisitor):
    """A visitor of both passes that counts what it is shown."""

    def begin(self, draws, documents, topics):
        self.documents = 0

    def add(self, shown):
        if hasattr(shown, "lengths"):
            self.documents += len(shown.lengths)
        else:
            self.samples = getattr(self, "samples", 0) + 1


class Skeleton(Section):
    """A section that has something of everything."""

    def __init__(self, run):
        super().__init__(run)
        self.seen = Counting()
        run.visit_documents(self.seen)
        run.sample_visitors.append(self.seen.add)

    def main(self):
        return {"skeleton": [self.seen.documents, self.seen.samples]}

    def of_topic(self, k):
        return {"bone": 2 * k}

    def definitions(self):
        return [Definition("Bone", "Twice a topic's number.")]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("section")
    rng = np.random.default_rng(0)
    lines = [" ".join(f"w{w}" for w in rng.integers(0, 40, 30)) for _ in range(60)]
    (folder / "corpus.txt").write_text("\n".join(lines))
    typed = [
        "train",
        str(folder / "corpus.txt"),
        "-k",
        "3",
        "--iterations",
        "30",
        "--set",
        "burn-in=4",
    ]
    typed += ["--set", "sample-every=1", "--min-df", "1", "--max-df", "1.0", "-q"]
    done = CliRunner().invoke(main, [*typed, "--out", str(folder / "run")])
    assert done.exit_code == 0, done.output
    return folder / "run"


@pytest.mark.parametrize(("share", "line"), [(0.0, None), (0.95, "of 3 ")])
def test_topics_of_a_small_share_of_the_corpus_are_marked(run, monkeypatch, share, line):
    """Red with: no line where there are some; a mark where the share is large enough."""
    monkeypatch.setattr("pysgrld.reading.use.HARDLY", share)
    monkeypatch.setattr("pysgrld.reading.use.LIGHT", 0.0)  # topics of chance are copies
    main = report(run, threads=1).main
    few = sum(topic["weight"][0] * 3 < share for topic in main["topics"])
    assert sum(topic["hardly"] for topic in main["topics"]) == few
    assert (main["hardly_used"] is None) == (few == 0) == (line is None)
    assert all(topic["hardly"] == (topic["weight"][0] * 3 < share) for topic in main["topics"])


def test_a_row_adds_a_section_and_changes_nothing_else(run, tmp_path, monkeypatch):
    """Its passes are those of all: no document and no sample is read once more.

    Red with: a list of sections, of views or of definitions that is written anywhere else.
    """
    from pysgrld.reading.results import Results
    from pysgrld.report import page_file

    read = []
    monkeypatch.setattr(
        Results,
        "document_draws",
        lambda self, *given, _real=Results.document_draws: read.append("d") or _real(self, *given),
    )
    monkeypatch.setattr(
        Results,
        "read_sample",
        lambda self, step, _real=Results.read_sample: read.append("s") or _real(self, step),
    )
    before, once = report(run, threads=1).main, list(read)
    read.clear()
    folder = tmp_path / "page"
    shutil.copytree(page_file._HERE, folder)
    (folder / "views/skeleton.js").write_text('view("Bones", { bones }, report.skeleton);\n')
    monkeypatch.setattr(page_file, "_HERE", folder)
    monkeypatch.setitem(SECTIONS, "skeleton", Skeleton)
    page = report(run, threads=1)
    assert read == once
    assert page.main["skeleton"] == [60, 26]
    assert b'view("Bones", { bones }, report.skeleton);' in page.html
    assert [topic.pop("bone") for topic in page.main["topics"]] == [
        2 * topic["id"] for topic in page.main["topics"]
    ]
    assert page.main["method"].pop() == Definition("Bone", "Twice a topic's number.")._asdict()
    assert {k: v for k, v in page.main.items() if k != "skeleton"} == before
