"""Output for several chains: common messages once, and the values of each chain."""

import io
import json

import pytest

from pysgrld.cli import progress
from pysgrld.cli.several import SeveralScreen, merged
from pysgrld.errors import Severity
from pysgrld.train.events import Position

pytestmark = pytest.mark.cli


class Terminal(io.StringIO):
    def isatty(self):
        return True


def position(iteration, perplexity=float("nan"), of=100):
    return Position(
        iteration, of, iteration / 10, 1.5e6, 0.25, perplexity, iteration * 0.5, "perplexity"
    )


def record(iteration, perplexity, point=700.0, unigram=1000.0):
    return {
        "iteration": iteration,
        "epoch": iteration / 10,
        "perplexity": perplexity,
        "point_perplexity": point,
        "unigram_perplexity": unigram,
        "tokens_per_second": 1e6,
    }


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_log_has_a_line_for_each_evaluation_of_a_chain(capsys):
    with SeveralScreen(2) as screen:
        screen.of_run(2, "evaluated", record(20, 650.0))
        screen.of_run(1, "evaluated", record(30, None))
    assert capsys.readouterr().err.splitlines() == [
        "chain 2: iteration 20, epoch 2.0: perplexity 650.0 (point 700.0, unigram 1,000.0)",
        "chain 1: iteration 30, epoch 3.0: point perplexity 700.0 (unigram 1,000.0)",
    ]


def test_what_all_say_alike_is_said_once(capsys):
    with SeveralScreen(3) as screen:
        screen.note("needs about 80 MB of memory")
        for number in (2, 1, 3):
            screen.of_run(number, "note", "needs about 80 MB of memory", Severity.NOTE)
            screen.of_run(number, "note", "2 threads", Severity.NOTE)
            screen.of_run(number, "note", "a stale lock", Severity.WARNING)
    assert capsys.readouterr().err.splitlines() == [
        "needs about 80 MB of memory",
        "2 threads",
        "warning: a stale lock",
    ]


def test_what_one_says_later_names_it(several, capsys):
    run = several.folder / "sgmc-runs/bible-scir/chain-2"
    with SeveralScreen(3) as screen:
        screen.of_run(2, "started", run, "training starts")
        screen.of_run(2, "note", "paused for for 9.0 s", Severity.NOTE)
        screen.of_run(2, "failed", "disk full")
        screen.of_run(1, "finished", run, "60 iterations done, the budget is used")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("bible: 269 training documents, 29 held out")
    assert lines[-3:] == [
        "chain 2: paused for for 9.0 s",
        "chain 2: error: disk full",
        "chain 1: 60 iterations done, the budget is used",
    ]


def test_a_log_tells_where_all_are_now_and_then(clock, capsys):
    with SeveralScreen(2) as screen:
        for second in range(12):
            clock[0] = float(second)
            screen.of_run(1, "moved", position(10 * second, 650.0))
            screen.of_run(2, "moved", position(8 * second, 655.5))
    assert capsys.readouterr().err.splitlines() == [
        "iteration 32 to 50 of 100, 3.0M tokens/s, perplexity 650.0 to 655.5",
        "iteration 72 to 100 of 100, 3.0M tokens/s, perplexity 650.0 to 655.5",
    ]


def test_a_terminal_has_one_bar_and_a_line_when_all_were_evaluated(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with SeveralScreen(3) as screen:
        for number in (1, 2):
            screen.of_run(number, "moved", position(40, 650.0))
            screen.of_run(number, "evaluated", record(40 + number, 650.0 + number))
        screen.of_run(3, "failed", "disk full")
        screen.of_run(1, "evaluated", record(50, 648.0))
    shown = terminal.getvalue()
    assert "3 chains" in shown
    assert "perplexity 650.0" in shown
    assert shown.count("(unigram 1,000.0)") == 1
    assert "iteration 42 to 50: perplexity 648.0, 652.0 (unigram 1,000.0)" in shown


def test_a_bar_of_runs_has_an_end_when_all_of_them_have_moved(monkeypatch):
    """Red with: the bar of the first chain, whose end was not known, kept for all."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with SeveralScreen(2) as screen:
        for number in (1, 2):
            screen.of_run(number, "moved", position(40, 650.0))
    assert "40 %" in terminal.getvalue()


def test_many_chains_are_told_as_a_range():
    records = [record(10, 600.0 + i) for i in range(9)]
    assert merged(records) == "iteration 10: perplexity 600.0 to 608.0 (unigram 1,000.0)"
    assert merged([record(10, None), record(12, 600.0)]) == (
        "iteration 10 to 12: point perplexity 700.0, 700.0 (unigram 1,000.0)"
    )
    nothing = [record(10, None, None, None) for _ in range(2)]
    assert merged(nothing) == "iteration 10: 2.0M tokens/s, no held-out documents"


def test_quiet_says_errors_only_and_json_names_the_chain(capsys):
    with SeveralScreen(2, quiet=True) as screen:
        screen.of_run(1, "evaluated", record(10, 600.0))
        screen.of_run(1, "failed", "disk full")
    assert capsys.readouterr().err == "chain 1: error: disk full\n"
    with SeveralScreen(2, json_log=True) as screen:
        screen.of_run(2, "evaluated", record(10, 600.0))
        screen.of_run(2, "moved", position(10))
        screen.all_done("runs/a", 2)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert (lines[0]["chain"], lines[0]["perplexity"]) == (2, 600.0)
    assert lines[-1]["run"] == "runs/a"
