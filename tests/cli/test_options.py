"""Options shared by several commands, which concern how documents are read."""

import ast
import functools
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from command_words import typed

import pysgrld.corpus
from pysgrld.cli import main
from pysgrld.cli.options import READING, reading_by_default
from pysgrld.errors import CorpusError
from pysgrld.models.options import option_text

pytestmark = pytest.mark.cli

FOLDER = Path(pysgrld.corpus.__file__).parent
#: Modules that print only when a corpus is built in shards, with rows of metadata, or in slices.
OF_BUILDING = (
    *("shards.py", "metadata.py", "slices.py"),
    *("archive.py", "languages.py", "survey.py", "values.py", "streams.py", "columns.py"),
)
#: Modules that print only when a vocabulary is made.
CHOOSING = ("lexicon.py", "open.py", "phrases.py", "reading.py", "stopwords.py", "vocabulary.py")


def options_named(files):
    """Return the names of options in messages, which are all strings other than docstrings."""
    return set().union(*map(options_in, files))


@functools.cache
def options_in(file):
    """Return the names of options in the messages of one module."""
    found = set()
    tree = ast.parse(file.read_text())
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            # a message of training, which names the field
            text = node.value.replace("(--time)", "")
            found |= set(re.findall(r"(?<!train with )--([a-z]+(?:-[a-z]+)*)", text))
            found |= {f"set {name}" for name in re.findall(r"--set ([a-z]+(?:-[a-z]+)*)", text)}
    return found


def options_of(*path):
    command = main
    for word in path:
        command = command.get_command(None, word)
    named = {name.removeprefix("--") for param in command.params for name in param.opts}
    return named | {f"set {name}" for name in command.settings}


def test_every_option_that_reading_a_corpus_may_advise_is_there():
    """Red with: `infer` without --text-field, though its message says to choose one with it."""
    files = sorted(path for path in FOLDER.rglob("*.py") if path.name not in OF_BUILDING)
    everywhere = options_named(file for file in files if file.name not in CHOOSING)
    assert {"text-field", "on-bad-document", "encoding"} <= everywhere
    for path in (["infer"], ["eval"]):
        assert everywhere <= options_of(*path), path
    for path in (["train"], ["corpus", "build"], ["corpus", "info"], ["corpus", "sample"]):
        assert options_named(files) <= options_of(*path), path


def test_documents_for_a_run_are_read_as_it_is_typed(trained, tmp_path):
    """Red with: the field that the run was trained with and no other."""
    table = tmp_path / "new.csv"
    table.write_bytes("id;remark\n1;lord café\n2;king\n".encode("latin-1"))
    failed = trained("infer", table, code=65)
    assert "choose one with --text-field" in failed.stderr
    done = trained("infer", table, "--text-field", "remark", "--encoding", "latin-1")
    assert [json.loads(line)["tokens"] for line in done.stdout.splitlines()] == [1, 1]
    scored = trained("eval", "--corpus", table, "--text-field", "remark", code=65)
    assert "--encoding windows-1252" in scored.stderr


@pytest.mark.parametrize("name", READING)
def test_how_documents_are_read_has_no_meaning_for_the_runs_own(name):
    given = {"on-bad-document": "skip", "max-line": "1M", "max-input": "1M"}
    given |= {"document-is": "file", "chunk": "9", "header-line": "2", "quote": "none"}
    words = typed({name: given.get(name, "utf-8")})
    done = CliRunner().invoke(main, ["eval", *words], prog_name="sgmc")
    assert done.exit_code == 2
    assert f"{option_text(name)} requires --corpus FILE, the documents to be read" in done.stderr


@pytest.mark.parametrize(
    "typed", [["english,mine.txt"], ["english", "mine.txt"], ["english, mine.txt", "mine.txt"]]
)
def test_stop_words_that_are_given_several_times_are_joined(typed, tmp_path, monkeypatch):
    """Red with: the last of them alone."""
    monkeypatch.chdir(tmp_path)
    Path("mine.txt").write_text("wine\n")
    Path("x.txt").write_text("the wine and bread\n")
    given = [word for name in typed for word in ("--stop-words", name)]
    arguments = ["corpus", "info", "x.txt", "--min-df", "1", "--max-df", "1.0", *given]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert done.stdout.split("frequent")[1].split() == ["1", "bread"]


def test_none_beside_other_stop_words_is_wrong_usage():
    arguments = ["train", "x.txt", "--stop-words", "none", "--stop-words", "english"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert "--stop-words: 'none,english': none cannot be combined" in done.stderr


def test_a_command_without_options_of_reading_says_where_they_are():
    """Red with: bench advising --text-field, which it has not."""
    with (
        pytest.raises(
            CorpusError, match=r"x\.csv:1: no field .*\('sgmc corpus build'\), then give the folder"
        ),
        reading_by_default(),
    ):
        raise CorpusError("no field 'text' (choose one with --text-field)", "x.csv", 1)
