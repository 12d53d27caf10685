"""Proportions in parts: rows of the whole, gone on with after a kill, shared among processes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from pysgrld import LDA
from pysgrld.cli import main
from pysgrld.corpus import CorpusOptions
from pysgrld.corpus import steps as module
from pysgrld.errors import CorpusError, OutputError
from pysgrld.reading import infer as infer_module
from pysgrld.reading.infer import (
    RECORD,
    Parts,
    Share,
    inference_record,
    prepare_parts,
    write_parts,
    write_proportions,
)
from pysgrld.reading.proportion_files import Layout
from pysgrld.reading.results import Results

WORDS, TOPICS, ROWS = 9, 4, 1500
ALONE = Share()


class Silent:
    def note(self, line, severity=None):
        pass

    def reading(self, progress):
        pass


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A run, and 1,500 documents with ids, one of them without a known word."""
    pandas = pytest.importorskip("pandas")
    folder, rng = tmp_path_factory.mktemp("parts"), np.random.default_rng(0)
    model = LDA(
        n_components=TOPICS, algo="gibbs", burn_in=10, max_iter=30, random_state=0, holdout=0
    )
    words = np.array([f"word{i}" for i in range(WORDS)])
    model.fit(pandas.DataFrame(rng.poisson(1.0, (40, WORDS)), columns=words))
    model.save(folder / "run")
    with (folder / "x.jsonl").open("w") as file:
        for i in range(ROWS):
            text = " ".join(words[rng.integers(0, WORDS, rng.integers(2, 9))])
            record = {"id": f"d{i}", "text": "none" if i == 700 else text, "n": i}
            file.write(json.dumps(record) + "\n")
    return folder


def opened(place):
    return Results(place / "run", 1)


def whole(place, suffix):
    results, path = opened(place), place / f"whole{suffix}"
    if not path.exists():
        with path.open("wb+") as file:
            documents = results.documents(str(place / "x.jsonl"), Silent(), ["n"])
            write_proportions(results, documents, file, suffix)
    return path


def filled(place, folder, suffix=".jsonl", size=400, share=ALONE, force=False):
    results, source = opened(place), str(place / "x.jsonl")
    layout = Layout(TOPICS, fields=("n",))
    parts = Parts(folder, suffix, size, share)
    record = inference_record(results, source, parts, layout, 0, None)
    parts = prepare_parts(parts, record, force=force)
    documents = results.documents(source, Silent(), ["n"], parts.wanted)
    return write_parts(results, documents, parts, layout)


def files(folder):
    return {path.name: path.read_bytes() for path in folder.glob("part-*")}


def joined(folder):
    return b"".join(data for _, data in sorted(files(folder).items()))


def test_parts_one_after_the_other_are_the_whole(place, tmp_path):
    """Red with: rows counted from 0 in each part; documents keyed by their place in a part."""
    assert filled(place, tmp_path / "p") == (ROWS, 1)
    assert joined(tmp_path / "p") == whole(place, ".jsonl").read_bytes()
    assert sorted(files(tmp_path / "p")) == [f"part-00000{i}.jsonl" for i in range(4)]
    filled(place, tmp_path / "csv", ".csv")
    lines = [data.splitlines() for _, data in sorted(files(tmp_path / "csv").items())]
    assert [len(some) for some in lines] == [401, 401, 401, 301]
    assert [*lines[0], *(row for some in lines[1:] for row in some[1:])] == (
        whole(place, ".csv").read_bytes().splitlines()
    )
    pq = pytest.importorskip("pyarrow.parquet")
    filled(place, tmp_path / "pq", ".parquet")
    assert (
        pq.read_table(tmp_path / "pq", filters=None)
        .drop_columns([])
        .equals(pq.read_table(whole(place, ".parquet")))
    )


def test_a_part_that_is_interrupted_is_not_there_and_the_rest_comes_the_next_time(
    place, tmp_path, monkeypatch
):
    """Red with: a part under its name before it is whole; parts that are there inferred again."""

    folder, real = tmp_path / "p", infer_module.infer

    def broken(results, blocks, at, steps, first):
        yield from real(results, blocks, at, steps, first)
        if first >= 500:
            raise CorpusError("line 500 is bad")

    with monkeypatch.context() as patched:
        patched.setattr(infer_module, "infer", broken)
        with pytest.raises(CorpusError, match="line 500"):
            filled(place, folder, size=100)
    before = {path.name: path.stat().st_ino for path in folder.glob("part-*")}
    assert len(before) == 5
    assert filled(place, folder, size=100).documents == ROWS - 100 * len(before)
    assert joined(folder) == whole(place, ".jsonl").read_bytes()
    assert before.items() <= {path.name: path.stat().st_ino for path in folder.iterdir()}.items()
    assert filled(place, folder, size=100) == (0, 0)


def test_processes_that_share_the_parts_write_the_whole_together(place, tmp_path):
    """Red with: a part that two write, or nobody; rows that depend on who writes them."""
    done = [filled(place, tmp_path / "p", size=100, share=Share(i, 4)) for i in (3, 1, 4, 2)]
    assert [found.documents for found in done] == [400, 400, 300, 400]
    assert joined(tmp_path / "p") == whole(place, ".jsonl").read_bytes()


def test_words_of_documents_that_nobody_wants_are_not_looked_for(tmp_path, monkeypatch):
    """Red with: all documents counted, and then dropped."""
    counted = []
    real = module.count_words

    def count_words(documents, *how):
        counted.append(len(documents))
        return real(documents, *how)

    monkeypatch.setattr(module, "count_words", count_words)
    (tmp_path / "x.txt").write_text("some words\n" * 400_000)
    steps = list(
        module.read(
            [str(tmp_path / "x.txt")],
            CorpusOptions(),
            keep_empty=True,
            threads=1,
            waiting=lambda: None,
            wanted=lambda first, end: first <= 200_000 < end,
        )
    )
    assert len(counted) == 1
    assert sum(counted) + sum(step.unwanted for step in steps) == 400_000


def test_a_folder_of_something_else_is_refused_and_force_removes_parts_alone(place, tmp_path):
    """Red with: parts of two inferences in one folder; a file of others removed."""
    folder = tmp_path / "p"
    filled(place, folder)
    with pytest.raises(OutputError, match=r"another inference \(different: documents of a part\)"):
        filled(place, folder, size=300)
    with pytest.raises(OutputError, match="different: format"):
        filled(place, folder, ".csv")
    (folder / "mine.txt").write_text("kept")
    assert filled(place, folder, size=750, force=True).documents == ROWS
    assert sorted(path.name for path in folder.glob("[!.]*")) == [
        *(RECORD, "mine.txt", "part-000000.jsonl", "part-000001.jsonl")
    ]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(OutputError, match="has no parts of an inference"):
        filled(place, tmp_path / "full")


@pytest.mark.parametrize("harm", ["cut", "flipped", "missing"])
def test_a_damaged_part_is_written_again_by_its_own_process(place, tmp_path, harm):
    """Red with: parts taken for complete by their names; a damaged file that is removed."""
    folder = tmp_path / "p"
    for i in (1, 2):
        filled(place, folder, share=Share(i, 2))
    whole_parts = files(folder)
    part = folder / "part-000002.jsonl"
    data = part.read_bytes()
    part.unlink()
    if harm != "missing":
        part.write_bytes(data[:-9] if harm == "cut" else data[:-9] + b"x" + data[-8:])
    assert filled(place, folder, share=Share(2, 2)).documents == 0
    assert filled(place, folder, share=Share(1, 2)).documents == 400
    assert files(folder) == whole_parts
    moved = list(folder.glob("_part-000002.jsonl.damaged-1"))
    assert len(moved) == (harm != "missing")


def test_the_command_names_a_damaged_part(place, tmp_path):
    """Red with: resuming after 2 finished parts, one of which is half a file."""
    given = arguments(place, "-o", f"{tmp_path}/p/", "--part-documents", 1000, "--format", "csv")
    assert CliRunner().invoke(main, given).exit_code == 0
    part = tmp_path / "p" / "part-000001.csv"
    data = part.read_bytes()
    part.write_bytes(data[: len(data) // 2])
    done = CliRunner().invoke(main, given)
    assert done.exit_code == 0, done.output
    assert (
        "_part-000001.csv.damaged-1: is the new name of a damaged part, which is written again"
        in done.output
    )
    assert "resuming after 1 finished part" in done.output
    assert part.read_bytes() == data


def test_an_input_that_was_changed_is_another_inference(place, tmp_path):
    (tmp_path / "p").mkdir()
    filled(place, tmp_path / "p")
    source = place / "x.jsonl"
    old = source.stat()
    os.utime(source, ns=(old.st_atime_ns, old.st_mtime_ns + 10**9))
    with pytest.raises(OutputError, match="different: input"):
        filled(place, tmp_path / "p")
    os.utime(source, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert filled(place, tmp_path / "p") == (0, 0)


# ---- the command


def arguments(place, *more):
    return ["infer", str(place / "run"), str(place / "x.jsonl"), *map(str, more)]


def test_a_command_that_was_killed_goes_on(place, tmp_path):
    """Red with: a lock, or half a part, that is left."""
    one = CliRunner().invoke(main, arguments(place, "-o", tmp_path / "one.jsonl"))
    assert one.exit_code == 0, one.output
    out = tmp_path / "p"
    given = arguments(place, "-o", f"{out}/", "--format", "jsonl", "--part-documents", 20)
    for _ in range(10):
        with subprocess.Popen([sys.executable, "-m", "pysgrld", *given], cwd=tmp_path) as process:
            while len(list(out.glob("part-*"))) < 3 and process.poll() is None:
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
        if process.returncode == -signal.SIGKILL:
            break
        shutil.rmtree(out)  # it was faster
    assert process.returncode == -signal.SIGKILL
    there = len(list(out.glob("part-*.jsonl")))
    assert 3 <= there < 75
    done = CliRunner().invoke(main, given)
    assert done.exit_code == 0, done.output
    assert f"resuming after {there} finished parts" in done.output
    assert joined(out) == (tmp_path / "one.jsonl").read_bytes()


def test_a_signal_ends_the_command_with_85_between_parts(place, tmp_path):
    """Red with: 143 and an empty log."""
    out = tmp_path / "p"
    given = arguments(place, "-o", f"{out}/", "--format", "jsonl", "--part-documents", 100)
    real = infer_module.infer

    def signalled(results, blocks, at, steps, first):
        yield from real(results, blocks, at, steps, first)
        if first >= 300:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(infer_module, "infer", signalled)
        done = CliRunner().invoke(main, given)
    assert done.exit_code == 85, done.output
    assert f"SIGTERM: stopped; finished parts are kept in {out}/; run the same" in done.output
    there = len(list(out.glob("part-*")))
    assert 1 <= there < 15
    done = CliRunner().invoke(main, given)
    assert f"resuming after {there} finished part" in done.output
    assert len(list(out.glob("part-*"))) == 15


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--part", "3/2", "-o", "p/"], "is not of the form I/N"),
        (["--part", "x", "-o", "p/"], "is not of the form I/N"),
        (["--part", "1/2", "-o", "x.csv"], "require a folder of parts; give -o DIR/"),
        (["--format", "csv"], "require a folder of parts; give -o DIR/"),
        (["--part", "1/2", "-o", "p/", "--force"], "would remove parts of other jobs"),
        (
            ["--top", "3", "-o", "p/", "--format", "csv"],
            "--format csv: --top applies only to .parquet and .jsonl",
        ),
    ],
)
def test_what_parts_cannot_be_is_refused(place, tmp_path, monkeypatch, more, message):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, arguments(place, *more))
    assert done.exit_code == 2
    assert message in done.output
    assert not list(Path(tmp_path).iterdir())
