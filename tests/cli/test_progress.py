"""Progress output: bars on a terminal, lines in a log, and no effect on the run."""

import io
import json
from types import SimpleNamespace

import pytest

from pysgrld.cli import progress
from pysgrld.cli.progress import Screen, evaluation_line
from pysgrld.corpus.reading import ReadingProgress
from pysgrld.train.events import Position, seconds_from_start

pytestmark = pytest.mark.cli


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Broken(io.StringIO):
    def write(self, text):
        raise OSError("gone")


def position(iteration, perplexity=float("nan")):
    return Position(
        iteration, 100, iteration / 10, 1.5e6, 0.25, perplexity, iteration * 0.5, "perplexity"
    )


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_log_gets_a_line_every_five_seconds_then_every_thirty(clock, capsys):
    with Screen() as screen:
        for second in range(180):
            clock[0] = float(second)
            screen.moved(position(second))
    times = [int(line.split()[1]) for line in capsys.readouterr().err.splitlines()]
    assert times == [*range(5, 60, 5), 85, 115, 145, 175]


def test_a_position_line_tells_what_is_left(clock, capsys):
    with Screen() as screen:
        clock[0] = 7.0
        screen.moved(position(40, 512.34))
    assert capsys.readouterr().err == (
        "iteration 40 of 100, epoch 4.0, 1.5M tokens/s, step 0.25, perplexity 512.3, 0:30 left\n"
    )


def test_sweeps_of_earlier_processes_do_not_count_for_the_speed(clock, capsys):
    """Red with: the seconds of this process for all sweeps ("0:01 left" of 2:40)."""
    seconds = seconds_from_start(2.0, 319, 320)
    with Screen() as screen:
        clock[0] = 7.0
        screen.moved(
            Position(320, 400, 4.0, 1e6, 0.0, 512.3, seconds, "perplexity", unit="Gibbs sweep")
        )
    assert "2:40 left" in capsys.readouterr().err
    assert seconds_from_start(2.0, 0, 10) == seconds_from_start(2.0, 10, 10) == 2.0


@pytest.mark.parametrize(("minibatch", "each"), [(5, "5 documents"), (9, "all documents")])
def test_a_run_is_described_in_words_and_numbers_agree(minibatch, each, capsys):
    """Red with: "1 topics"; values of options, which are for -v."""
    corpus = {
        "name": "x",
        "training_documents": 9,
        "held_out": 1,
        "words": 1,
        "training_tokens": 30,
    }
    options = {"model": "lda", "algo": "scir", "topics": 1, "minibatch": minibatch, "warm-up": 50}
    with Screen() as screen:
        screen.described(SimpleNamespace(config={"options": options, "corpus": corpus}))
    assert capsys.readouterr().err.splitlines() == [
        "x: 9 training documents, 1 held out, 1 word, 30 tokens",
        f"model lda with 1 topic, sampler scir, {each} in each iteration",
    ]


def test_a_terminal_gets_a_bar(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with Screen(stamped=True) as screen:
        screen.moved(position(40, 512.34))
        screen.note("a fact")
    shown = terminal.getvalue()
    assert "40 %" in shown
    assert "perplexity 512.3" in shown
    assert "a fact\n" in shown


def test_a_bar_of_a_run_that_goes_on_knows_no_speed_yet(monkeypatch):
    """Red with: iterations of earlier starts taken for done in the first moment ("00:00 left")."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with Screen() as screen:
        screen.moved(position(40))
    assert "40 %" in terminal.getvalue()
    assert "? left" in terminal.getvalue()


@pytest.mark.parametrize("option", ["quiet", "json_log"])
def test_no_bar_where_none_was_asked_for(monkeypatch, option):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with Screen(**{option: True}) as screen:
        screen.moved(position(40))
    assert terminal.getvalue() == ""


def test_a_bar_that_breaks_stops_nothing(monkeypatch):
    def broken(*args):
        raise RuntimeError("no bar")

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("tqdm.tqdm", broken)
    with Screen() as screen:
        screen.moved(position(1))
        screen.note("still here")
    assert terminal.getvalue() == "still here\n"


def test_a_closed_standard_error_stops_nothing(monkeypatch):
    for stream in (Broken(), None):
        monkeypatch.setattr("sys.stderr", stream)
        with Screen() as screen:
            screen.note("x")
            screen.moved(position(1))


def test_warnings_of_the_library_are_shown_even_when_quiet(capsys):
    import logging

    with Screen(quiet=True):
        logging.getLogger("pysgrld.run").warning("damaged")
        logging.getLogger("pysgrld.run").info("detail")
    assert capsys.readouterr().err == "warning: damaged\n"


RECORD = {
    "iteration": 1200,
    "epoch": 3.25,
    "perplexity": 700.04,
    "point_perplexity": 800.0,
    "train_seconds": 10.0,
    "unigram_perplexity": 1500.0,
    "tokens_per_second": 2e6,
    "samples": 3,
    "wait_seconds": 0.1,
}


def test_perplexity_stands_beside_the_unigrams():
    assert evaluation_line(RECORD) == (
        "iteration 1,200, epoch 3.2: perplexity 700.0 (point 800.0, unigram 1,500.0)"
    )
    assert evaluation_line(RECORD | {"perplexity_se": 21.4}) == (
        "iteration 1,200, epoch 3.2: perplexity 700 ± 21 (point 800, unigram 1,500)"
    )
    assert evaluation_line(RECORD | {"perplexity": None}) == (
        "iteration 1,200, epoch 3.2: point perplexity 800.0 (unigram 1,500.0)"
    )


def test_json_has_no_nan(capsys):
    with Screen(json_log=True) as screen:
        screen.evaluated(RECORD | {"perplexity": float("nan")})
    assert json.loads(capsys.readouterr().err)["perplexity"] is None


def test_lines_of_a_reading_say_how_long_it_will_take_yet(monkeypatch, capsys):
    """Red with: a share of the bytes alone, hours before the end."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    screen = Screen()
    for read in (10, 40, 90):
        screen.reading(ReadingProgress(read, 1000, read))
        now[0] += 600.0
    shown = capsys.readouterr().err.splitlines()
    assert shown[-1].endswith("9 %, 3:02:00 left")  # 910 bytes, at 50 in ten minutes
