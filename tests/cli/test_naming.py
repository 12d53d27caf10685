"""Names of topics given by a command: ``sgmc topics --name-with``."""

import json
import shutil
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from pysgrld.cli import main
from pysgrld.reading.labels import Label, labels_of
from pysgrld.report import naming

from .conftest import SGMC

pytestmark = pytest.mark.cli
FIRST = "sed -n 's/^Words[^:]*: \\([^,]*\\),.*/\\1/p'"


@pytest.fixture
def run(trained, tmp_path):
    """A copy of a finished run of eight topics."""
    return shutil.copytree(trained.folder / "sgmc-runs" / "bible-scir", tmp_path / "run")


def name(run, command, *options):
    return CliRunner().invoke(main, ["topics", str(run), "--name-with", command, *options])


def test_each_topic_gets_the_line_that_the_command_prints(run):
    done = name(run, FIRST)
    assert done.exit_code == 0, done.output
    topics = json.loads(CliRunner().invoke(main, ["topics", str(run), "--json"]).stdout)["topics"]
    assert len(topics) == 8
    assert [t["label"] for t in topics] == [t["words"][0]["word"] for t in topics]
    assert {label.by for label in labels_of(run, 8).values()} == {FIRST}


def test_the_command_is_told_words_and_titles_of_documents(run):
    done = name(run, f"tee -a {run}.txt")
    assert done.exit_code == 0, done.output
    told = (run.parent / "run.txt").read_text()
    assert told.count("Topic ") == 8
    assert told.count("Documents with the greatest share of this topic:\n- ") == 8
    assert "Words in order of decreasing probability: " in told


def test_names_that_a_person_gave_stay_unless_forced(run):
    (run / "labels.json").write_text('{"3": "sacrifice"}')
    done = name(run, "echo machine")
    assert "1 name is unchanged" in done.stderr
    assert labels_of(run, 8)[3] == Label("sacrifice")
    assert labels_of(run, 8)[4] == Label("machine", "echo machine")
    name(run, "echo other")  # names given by the command are replaced
    assert labels_of(run, 8)[4] == Label("other", "echo other")
    name(run, "echo other", "--force")
    assert labels_of(run, 8)[3] == Label("other", "echo other")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo no key >&2; exit 3", "the command ended with exit code 3: no key"),
        ("true", "the command printed nothing"),
        ("printf '\\033\\n'", "the command printed nothing"),
        ("printf '%0300d' 7", "the command printed a line of 300 characters; the maximum is 200"),
        ("no-such-program", "ended with exit code 127"),
    ],
)
def test_what_fails_is_said_in_a_line_and_other_names_are_kept(run, command, why):
    done = name(run, f"if grep -q '^Topic 5'; then {command}; else echo good; fi")
    assert done.exit_code == 66
    last = done.stderr.splitlines()[-1]
    assert "gave no name for 1 topic of 8" in last
    assert f"topic 5: {why}" in last or why in last
    assert set(labels_of(run, 8)) == {0, 1, 2, 3, 4, 6, 7}


def test_a_command_that_does_not_answer_is_ended(run, monkeypatch):
    monkeypatch.setattr(naming, "PATIENCE", 0.1)
    name_, why = naming.asked("sleep 30 & wait", "")
    assert name_ is None
    assert why.startswith("the command gave no answer within")


def test_a_command_that_prints_without_an_end_is_read_no_further(run):
    """Red with: all of its output kept in memory until it ends, which `yes` never does."""
    assert naming.asked("yes machine", "") == ("machine", "")
    name_, why = naming.asked("tr '\\0' x < /dev/zero", "")
    assert name_ is None
    assert "the command printed a line of 8,192 characters; the maximum is 200" in why


def test_a_background_child_that_holds_the_pipe_is_not_waited_for(run, tmp_path):
    """Red with: output read to its end, which the child keeps open for a quarter of an hour."""
    begin = time.monotonic()
    command = f"sleep 1000 & echo $! > {tmp_path / 'child'}; echo machine"
    assert naming.asked(command, "") == ("machine", "")
    assert time.monotonic() - begin < 120
    assert is_gone(int((tmp_path / "child").read_text()))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_stops_sgmc_ends_the_command(run, number):
    """Red with: the command in a session of its own, which no signal to sgmc reaches."""
    child = run.parent / "child"
    command = f"sleep 300 & echo $! > {child}.tmp; mv {child}.tmp {child}; wait"
    words = [SGMC, "topics", run, "--name-with", command]
    # a shell's background job ignores SIGINT, one of nohup SIGHUP, and their children do
    heed = partial(signal.signal, number, signal.SIG_DFL)
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, preexec_fn=heed) as process:
        while not child.exists():
            time.sleep(0.05)
        process.send_signal(number)
        stderr = process.communicate(timeout=120)[1]
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    assert "Traceback" not in stderr
    assert is_gone(int(child.read_text()))


def test_a_command_that_reads_nothing_and_one_that_closes_its_output_are_waited_for():
    assert naming.asked("exec <&-; sleep .3; echo machine", "x" * 1_000_000) == ("machine", "")
    name_, why = naming.asked("exec >&- 2>&-; sleep .3; exit 4", "")
    assert (name_, why) == (None, "the command ended with exit code 4")


def is_gone(process):
    """Return True if a process ends within the given seconds."""
    for _ in range(1000):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":  # its new parent has not waited for the process
            return True
        time.sleep(0.1)
    return False


def test_what_it_is_given_with_is_one_question(run):
    assert name(run, "echo a", "--word", "king").exit_code == 2
    assert name(run, " ").exit_code == 2
    assert CliRunner().invoke(main, ["topics", str(run), "--force"]).exit_code == 2


def test_the_page_says_which_command_named_topics(run):
    name(run, "echo machine")
    out = run.parent / "page.html"
    done = CliRunner().invoke(main, ["report", str(run), "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert "of 8 topics, named by the command 'echo machine'" in out.read_text()
