"""The page of a run: written completely, refused with one line, and with named topics."""

import json
import resource
import shutil
import signal
import time

import pytest

from pysgrld.cli import main

pytestmark = pytest.mark.cli

RUN = "sgmc-runs/bible-scir"


@pytest.fixture
def copied(sgmc, trained):
    """The command in its own folder, with a copy of the run that tests may change."""
    shutil.copytree(trained.folder / "sgmc-runs", sgmc.folder / "sgmc-runs", symlinks=True)
    return sgmc


def test_a_page_is_made_and_never_written_over(copied):
    """Red with: a page that is made before it is asked whether it may be written."""
    done = copied("report", "--json", "facts.json", "--noun", "chapters", "--documents", "30")
    page = copied.folder / RUN / "report.html"
    size = f"{page.stat().st_size / 1e6:.1f} MB"
    assert done.stderr.splitlines()[-1] == (
        f"{RUN}/report.html: {size}, 8 topics, words of 30 chapters"
    )
    assert done.stdout == ""
    facts = json.loads((copied.folder / "facts.json").read_text())
    assert facts["run"] == "bible-scir"
    assert len(facts["docs"]["records"]) == 30
    before = page.read_bytes()
    refused = copied("report", "--documents", "30", code=73)
    assert f"{RUN}/report.html: is there already; --force replaces it" in refused.stderr
    copied("report", "-o", "other.html", "--json", "facts.json", "--documents", "30", code=73)
    assert not (copied.folder / "other.html").exists()
    copied("report", "--force", "--noun", "chapters", "--documents", "30", "-q")
    assert page.read_bytes() == before


def test_a_folder_of_chains_has_its_page(sgmc, several):
    out = ("-o", sgmc.folder / "chains.html", "--json", sgmc.folder / "f.json")
    done = several("report", *out, "--documents", "30")
    assert "8 topics" in done.stderr
    facts = json.loads((sgmc.folder / "f.json").read_text())
    assert facts["chains"]["names"] == ["chain-1", "chain-2", "chain-3"]
    assert all(1 <= t["found"][0] <= t["found"][1] == 3 for t in facts["topics"])


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("nothing",), 66, "nothing: is not a run"),
        (("--layer", "2"), 2, "has 1 layer"),
        (("--by", "../x"), 2, "--by '../x': the corpus has no such column"),
        (("--along", "date"), 2, "--along 'date': the corpus has no such column"),
        (("--labels", "none.json"), 66, "none.json: no such file"),
        (("--texts", "none.txt"), 66, "none.txt"),
        (("--metadata", "none.csv"), 66, "none.csv"),
        (("-o", "."), 73, ".: is a folder"),
        (("-o", "/proc/x/report.html"), 73, "cannot be created"),
        (("--documents", "many"), 2, "--documents"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(trained, tmp_path, monkeypatch, capsys, args, code, said):
    monkeypatch.chdir(trained.folder)
    if "--documents" not in args:
        args += ("--documents", "30")
    out = () if "-o" in args else ("-o", str(tmp_path / "page.html"))
    with pytest.raises(SystemExit) as ended:
        main(["report", *args, *out, "-q"])
    assert ended.value.code == code
    line = capsys.readouterr().err
    assert said in line
    assert len(line.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_names_of_topics_are_in_every_output(copied):
    """Red with: any output that does not read labels.json."""
    (copied.folder / RUN / "labels.json").write_text('{"3": "Sacrifice"}')
    assert "Sacrifice: " in copied("topics").stdout
    topics = json.loads(copied("topics", "--names", "--json").stdout)["topics"]
    names = {topic["id"]: topic["label"] for topic in topics}
    assert names[3] == "Sacrifice"
    assert all(name.count(" · ") == 2 for k, name in names.items() if k != 3)
    assert len({name.split(" · ")[0] for name in names.values()}) == 8
    assert "Sacrifice: " in copied("diagnose").stdout
    copied("export", "--to", "npy", "-o", "out", "-q")
    exported = (copied.folder / "out" / "labels.json").read_text()
    assert json.loads(exported) == {"3": "Sacrifice"}
    (copied.folder / RUN / "labels.json").write_text('{"3": "x", "99": "y"}')
    for command in (("topics",), ("diagnose",), ("report",), ("export", "--to", "npy", "-o", "b")):
        done = copied(*command, code=65)
        assert "no topic 99" in done.stderr.splitlines()[-1]
    assert not (copied.folder / RUN / "report.html").exists()


def test_a_disk_that_fills_up_leaves_the_page_that_was_there(copied):
    """Red with: a page that is written in its place."""
    copied("report", "--documents", "30", "-q")
    page = copied.folder / RUN / "report.html"
    before, files = page.read_bytes(), sorted(page.parent.iterdir())

    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, len(before) // 2))

    again = ("report", "--force", "--documents", "30", "--title", "Other", "-q")
    done = copied(*again, code=74, preexec_fn=little_room)
    assert "report.html: " in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert page.read_bytes() == before
    assert sorted(page.parent.iterdir()) == files


def test_a_page_is_made_of_a_run_that_trains(sgmc):
    """Red with: a lock that reading takes; a file that must be finished."""
    options = [
        *("-k", "8", "--minibatch", "20", "--sweeps", "2"),
        *("--set", "warm-up=20", "--set", "burn-in=20", "--set", "sample-every=1"),
    ]
    options += ["--set", "starts=1", "--iterations", "1000000", "--checkpoint-every", "25"]
    with sgmc.start("train", sgmc.corpus, *options, "--out", "run", "-q") as training:
        end = time.monotonic() + 240
        while len(list(sgmc.folder.glob("run/samples/step-*"))) < 25:
            assert time.monotonic() < end
            assert training.poll() is None
            time.sleep(0.1)
        # the stopped training holds its lock, and leaves the processor to others
        training.send_signal(signal.SIGSTOP)
        sgmc("report", "run", "--json", "facts.json", "--documents", "30")
        training.send_signal(signal.SIGCONT)
        training.terminate()
        training.wait(120)
    facts = json.loads((sgmc.folder / "facts.json").read_text())
    assert facts["verdicts"][0]["head"] == "Still training."
    assert facts["interval"]["draws"] >= 20
