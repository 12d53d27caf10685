"""Topics on a terminal: one screen, largest topic first, and inactive topics in one line."""

import re

import pytest
from click.testing import CliRunner

from pysgrld.cli import main, progress, terminal, topics
from pysgrld.cli.topics import BESIDE
from pysgrld.reading import use

pytestmark = pytest.mark.cli


@pytest.fixture
def shown(trained, monkeypatch):
    """Show a run's eight topics on a terminal with the given number of rows, or without one."""

    def show(rows, *options):
        monkeypatch.setattr(topics, "screen_rows", lambda: rows)
        typed = ["topics", str(trained.folder / "sgmc-runs" / "bible-scir"), *options]
        return CliRunner().invoke(main, typed, env={"COLUMNS": "80"}, catch_exceptions=False)

    return show


def numbers(text):
    return re.findall(r"^ +(\d+) +\d+\.\d %", text, re.MULTILINE)


def test_a_terminal_has_a_screenful_by_weight_with_a_heading(shown):
    """Red with: 170 lines for a hundred topics."""
    everything, some = shown(None).stdout, shown(BESIDE + 3).stdout
    assert len(numbers(everything)) == 8
    assert numbers(some) == numbers(everything)[:3]
    assert "topic  weight" in some
    assert "\n5 more topics; --all shows them" in some
    assert len(some.splitlines()) < BESIDE + 3
    assert "--all" not in everything


def test_all_are_there_where_all_are_asked_for(shown):
    assert numbers(shown(BESIDE + 3, "--all").stdout) == numbers(shown(None).stdout)


def test_a_topic_has_a_line_unless_so_many_words_are_asked_for(shown):
    """Red with: topics of two lines each on a terminal, so that half as many are seen."""
    brief = [
        line for line in shown(60).stdout.splitlines() if re.match(r" +\d+ +\d+\.\d %| {20}", line)
    ]
    assert len(brief) == 8
    assert (
        len(shown(60, "--top", "30").stdout.splitlines()) > len(shown(60).stdout.splitlines()) + 8
    )
    assert max(map(terminal.width, shown(60).stdout.splitlines()[2:])) <= 80


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_lines_keep_to_the_width_of_the_terminal(shown, columns, monkeypatch):
    """Red with: intervals that begin in column 43 of 60."""
    monkeypatch.setattr(topics, "room", lambda: columns)
    for options in ((), ("--all",), ("--top", "30")):
        lines = shown(60, *options).stdout.splitlines()[2:]
        assert max(map(terminal.width, lines)) <= columns
    lines = shown(None, "--intervals").stdout.splitlines()[2:]
    assert max(map(terminal.width, lines[: lines.index("")])) <= max(columns, 58)


def test_one_topic_is_shown_however_low_the_terminal_is(shown):
    assert len(numbers(shown(3, "--top", "200").stdout)) == 1


def test_topics_that_are_hardly_used_are_one_line(shown, monkeypatch):
    """Red with: forty topics of a tenth of a percent listed beside the others."""
    weights = [float(w) for w in re.findall(r"(\d+\.\d) %", shown(None).stdout)]
    monkeypatch.setattr(use, "HARDLY", 8 * (weights[3] + weights[4]) / 200)
    said = "4 topics of 8 are inactive; try -k 4, or 'sgmc search'"
    on_screen, piped = shown(60), shown(None)
    assert len(numbers(on_screen.stdout)) == 4
    assert f"{said} (--all shows them)" in on_screen.stdout
    assert len(numbers(piped.stdout)) == 8
    assert said in piped.stderr
    assert said not in piped.stdout
    whole = shown(60, "--all").stdout
    assert len(numbers(whole)) == 8
    assert whole.rstrip().endswith(said)


def test_topics_that_are_all_used_have_no_remark(shown):
    assert "inactive" not in shown(60).output


def test_the_end_of_training_says_it_too(trained, monkeypatch, capsys):
    """Red with: nothing said of 37 topics of 100 that nobody needs."""
    from pysgrld.run import RunDirectory

    run = RunDirectory.open(trained.folder / "sgmc-runs" / "bible-scir")
    for fewest, hardly in ((20, 9.0), (2, 0.0), (2, 9.0)):
        monkeypatch.setattr(use, "FEWEST", fewest)
        monkeypatch.setattr(use, "HARDLY", hardly)
        with progress.Screen() as screen:
            screen.finished(run, "done")
        said = capsys.readouterr().err
        assert ("8 topics of 8 are inactive" in said) == (fewest == 2 and hardly > 0)


@pytest.mark.parametrize(
    ("used", "better"),
    [(3, 3), (19, 19), (29, 29), (31, 30), (33, 33), (52, 50), (57, 57), (163, 160)],
)
def test_a_round_number_that_is_smaller_is_advised(used, better):
    """Red with: as many topics advised as there are, or more, where that is the nearest round number."""

    line = use.advice("topic", 1, used + 1)
    assert line.endswith(f"1 topic of {used + 1} is inactive; try -k {better}, or 'sgmc search'")


def test_rows_are_those_of_a_terminal_only(monkeypatch):
    class Terminal:
        def isatty(self):
            return True

    assert terminal.screen_rows() is None
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("LINES", "33")
    assert terminal.screen_rows() == 33
