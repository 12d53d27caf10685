"""Text output: tables fit the terminal's width, and no text controls the terminal."""

import ast
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from pysgrld import cli
from pysgrld.cli import main
from pysgrld.cli.terminal import shortened, shown, table, width

pytestmark = pytest.mark.cli

#: Characters with which a terminal clears its screen, goes back, or writes right to left.
HOSTILE = "ev\x1b[2J\x07il\u202eb\x9bc"
ROWS = [
    ("name", "size", "noted", "state"),
    ("short", "5", "x" * 30, "done"),
    ("a-name-of-some-length", "1,000", "-", "left"),
]
#: Modules that print output for programs: scripts, man pages, JSON.
RAW = {"completion.py", "help.py", "slurm.py", "options.py", "terminal.py"}


def test_columns_go_in_their_order_until_the_table_fits():
    """Red with: the widest column first; heads of one column over cells of another."""
    spare = ("noted", "size")
    for columns, gone in ((67, []), (66, ["noted"]), (35, ["noted"]), (34, ["size", "noted"])):
        lines, left = table(ROWS, columns, left=("noted", "state"), spare=spare)
        assert left == gone
        assert max(map(width, lines)) <= columns
        assert len(lines) == len(ROWS)
    assert table(ROWS, 35, left=("state",), spare=spare)[0] == [
        "name                    size  state",
        "short                      5  done",
        "a-name-of-some-length  1,000  left",
    ]


def test_a_name_that_is_too_long_stands_on_a_line_of_its_own():
    rows = [("name", "state"), ("short", "done"), ("n" * 70, "left")]
    assert table(rows, 30, left=("state",))[0] == [
        f"{'name':<23}  state",
        f"{'short':<23}  done",
        "n" * 70,
        f"{'':<23}  left",
    ]


def test_wide_signs_and_escapes_take_the_room_that_they_have():
    """Red with: len() in place of the columns that a text takes."""
    lines, _ = table([("a", "b"), ("日本", "x"), ("\x1b", "y")], 40, left=("b",))
    assert lines == ["a     b", "日本  x", "\x1b  y"]
    assert {width(line) for line in lines} == {7}


def test_only_one_place_prints_for_people():
    """Red with: ``click.echo`` in a command."""
    for path in sorted(Path(cli.__file__).parent.glob("*.py")):
        calls = [
            node.func.attr
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        ]
        assert path.name in RAW or not {"echo", "secho"} & set(calls), path.name


def test_nothing_that_a_terminal_acts_on_is_printed(tmp_path, monkeypatch):
    """In words, columns, titles, paths and messages; JSON too. Red with: any of them printed as it is."""
    monkeypatch.chdir(tmp_path)
    words = [HOSTILE, *(f"w{i}" for i in range(9))]
    lines = [
        json.dumps({"text": " ".join(words[i % 7 :] * 3), "title": f"{HOSTILE}{i}", HOSTILE: i % 2})
        for i in range(40)
    ]
    folder = Path(f"in{HOSTILE}")
    folder.mkdir()
    (folder / "c.jsonl").write_text("\n".join(lines))
    reading = ("--token-pattern", r"\S+", "--max-df", "1.0", "--title-field", "title")
    reading += ("--meta-field", HOSTILE)
    train = (
        "train",
        str(folder / "c.jsonl"),
        "-k",
        "2",
        "--iterations",
        "30",
        "--set",
        "burn-in=5",
    )
    train += ("--set", "sample-every=1", "--minibatch", "20", "--holdout", "4", "--threads", "1")
    out = f"r{HOSTILE}"
    found = ""
    for args in (
        (*train, *reading, "--out", out),
        (*train, *reading, "--seed", "2", "--out", f"other{HOSTILE}"),
        ("topics", out),
        ("topics", out, "--documents", "2"),
        ("topics", out, "--by", HOSTILE),
        ("topics", out, "--intervals", "--json"),
        ("compare", out, f"other{HOSTILE}"),
        ("corpus", "info", f"{out}/corpus"),
        ("eval", out),
        ("runs", "."),
        ("runs", ".", "--json"),
        ("topics", f"no{HOSTILE}"),
    ):
        done = CliRunner().invoke(main, list(args))
        assert done.exit_code == (66 if args[-1].startswith("no") else 0), done.output
        acted = re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", done.output)
        assert not acted, (args, done.output)
        found += done.output
    assert shown(HOSTILE) in found
    assert json.loads(CliRunner().invoke(main, ["topics", out, "--json"]).stdout)["run"] == out


def test_searching_with_options_of_training_says_what_to_do_instead():
    """Red with: click's guess at another option."""
    for typed, said in (
        (("--iterations", "5"), "search has no --iterations: --epochs E sets"),
        (("--resume", "never"), "search has no --resume: repeat the same command"),
        (("--chain-id", "2"), "search has no --chain-id: --chains N"),
    ):
        done = CliRunner().invoke(main, ["search", "corpus.txt", *typed])
        assert done.exit_code == 2
        assert said in done.output
        assert "Did you mean" not in done.output


def test_training_says_what_names_the_folder_of_a_run():
    """As -o does of other commands. Red with: no such option, and no word on the right one."""
    done = CliRunner().invoke(main, ["train", "corpus.txt", "-o", "runs/a"])
    assert done.exit_code == 2
    assert "train has no -o: give the folder of the run with --out DIR" in done.output


@pytest.mark.parametrize("command", ["topics", "compare", "diagnose"])
def test_commands_that_show_words_say_how_many_are_asked_for(command):
    """Red with: no such option, and no word on the right one."""
    done = CliRunner().invoke(main, [command, "a", "-n", "8"])
    assert done.exit_code == 2
    assert (
        f"{command} has no -n: give the number of words of each topic with --top N" in done.output
    )


def test_infer_says_how_to_join_a_table():
    """Red with: no such option, and no word on what to do."""
    done = CliRunner().invoke(main, ["infer", "run", "new.txt", "--metadata", "values.csv"])
    assert done.exit_code == 2
    assert "infer has no --metadata: --keep-field writes fields of the documents" in done.output


def test_wrong_uses_of_merge_are_answered_with_the_right_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.txt").write_text("mine")
    for typed, code, said in (
        (("a", "b"), 2, "give one folder DIR (its shards are in DIR.shards), not 2"),
        (("a", "b", "-o", "c"), 2, "merge has no -o: the corpus is written to DIR"),
        (("a.shards",), 2, "this is a folder of shards; give the name of the merged corpus: a"),
        (
            ("a.shards/0001-of-0002",),
            2,
            "this is a folder of shards; give the name of the merged corpus: a",
        ),
        (("mine.txt",), 66, "mine.txt.shards: is not there; build shards first"),
    ):
        done = CliRunner().invoke(main, ["corpus", "merge", *typed])
        assert (done.exit_code, said in done.output) == (code, True), done.output


def test_a_text_is_shortened_to_columns_of_the_terminal():
    """Red with: letters counted, of which Chinese ones take two columns each."""
    assert shortened("topic", 5) == "topic"
    assert shortened("a topic of many words", 10) == "a topic..."
    assert shortened("主题模型", 7) == "主题..."
