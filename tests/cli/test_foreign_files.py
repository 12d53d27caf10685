"""All commands with foreign files in the way: a file that sgmc did not write is never changed.

Every option that names an output is tried on folders that are full of files of others. The names of these
files are those that the commands themselves write, so that they collide; and every option that takes a
path or any text is listed here, so that a new one cannot be forgotten.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
from typing import NamedTuple

import click
import fork_server
import pytest

from pysgrld.cli import main
from pysgrld.cli.options import Value
from pysgrld.run.ownership import LIST

pytestmark = pytest.mark.cli

#: Options that name an input.
INPUTS = {
    *("--seed-words", "--vocab", "--phrases", "--metadata", "--holdout-corpus"),
    *("--observed-corpus", "--held-out-corpus", "--texts", "--labels", "--corpus", "--setup"),
    *("--compare", "--resume", "--from", "--stop-words", "--topic-words"),
}
#: Options with texts as values that are no paths.
TEXTS = {
    "--like",
    *("--by", "--along", "--cluster", "--effect", "--title", "--noun", "--contrast", "--topics"),
    *("--name-with", "--grid", "--sbatch", "--mem", "--partition", "--account", "--mpi-plugin"),
    *("--id-field", "--meta-field", "--text-field", "--title-field", "--time", "--token-pattern"),
    *("--word", "--sheet", "--missing", "--date-format", "--reference"),
}
SMALL = (
    "-k",
    "2",
    "--iterations",
    "12",
    "--set",
    "starts=1",
    "--set",
    "burn-in=2",
    "--max-df",
    "1.0",
)
SMALL = (
    *SMALL,
    "--holdout",
    "5",
    "--set",
    "sample-every=1",
    "--exact-sweeps",
    "0",
    "--threads",
    "1",
)


class Call(NamedTuple):
    """How to call a command for one of its outputs.

    Attributes
    ----------
    words : tuple of str
        With ``OUT`` where the path goes.
    folder : bool
        Whether the option names a folder.
    name : str
        Last part of a file's path.
    force : bool
        Whether the command has ``--force``.
    """

    words: tuple[str, ...]
    folder: bool
    name: str = ""
    force: bool = True


def call(line, name="", *, force=True):
    return Call(tuple(line.split()), not name, name, force)


#: By command and option. Of some there are several ways.
OUTPUTS = {
    ("train", "--out"): [
        call(f"train CORPUS {' '.join(SMALL)} --out OUT", force=False),
        call(f"train CORPUS {' '.join(SMALL)} --chains 2 --out OUT", force=False),
    ],
    ("search", "--out"): [
        call(
            f"search CORPUS {' '.join(SMALL[4:6])} -k 2,3 --chains 1 --epochs 1 --max-df 1.0 "
            "--holdout 5 --exact-sweeps 0 --threads 1 --out OUT",
            force=False,
        )
    ],
    ("effect", "--out"): [call("effect RUN ~year --out OUT", "a.csv")],
    ("effect", "--plot"): [call("effect RUN ~year --plot OUT", "a.png")],
    ("report", "--out"): [call("report RUN --out OUT", "a.html")],
    ("report", "--folder"): [call("report RUN --folder OUT")],
    ("report", "--json"): [call("report RUN --out free.html --json OUT", "a.json")],
    ("infer", "--out"): [
        call("infer RUN CORPUS --out OUT", "a.csv"),
        call("infer RUN CORPUS --out OUT/ --format csv --part-documents 20"),
    ],
    ("diagnose", "--picture"): [call("diagnose RUN --picture OUT", "a.png")],
    ("compare", "--html"): [call("compare RUN run2 --html OUT", "a.html")],
    ("export", "--out"): [
        call(f"export RUN --to {name} --out OUT")
        for name in ("npy", "safetensors", "csv", "parquet", "arviz", "pyldavis", "mallet")
    ],
    ("corpus build", "--out"): [call("corpus build CORPUS --max-df 1.0 --out OUT", force=False)],
    ("corpus sample", "--out"): [call("corpus sample BUILT -n 5 --out OUT", force=False)],
    ("corpus names", "--out"): [call("corpus names CORPUS --out OUT", "a.txt")],
    ("corpus phrases", "--out"): [call("corpus phrases CORPUS --out OUT", "a.txt")],
    ("reproduce", "--out"): [call("reproduce mld-noise --quick --no-pictures --out OUT")],
    ("slurm", "--out"): [call("slurm --time 1h --out OUT -- train CORPUS", "a.sh")],
    ("bench", "--out"): [call("bench --quick --out OUT", "a.json")],
}
#: Ways of writing that several commands share: tested at night.
SHARED = {
    *(("effect", "--out"), ("bench", "--out"), ("report", "--json"), ("export", "--out", 3)),
    ("effect", "--plot"),  # as diagnose --picture
    *(("export", "--out", number) for number in (2, 4, 5, 6)),
}


def often(key, number):
    """Return the mark of a call that writes in the same way as another call."""
    return [pytest.mark.nightly] * bool({key, (*key, number)} & SHARED)


CALLS = [
    pytest.param(each, id=f"{' '.join(key)} {number}", marks=often(key, number))
    for key, calls in OUTPUTS.items()
    for number, each in enumerate(calls)
]


def commands(command=main, path=()):
    """Return every command, with the words that call it."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*path, name))
    else:
        yield " ".join(path), command


def may_name_a_path(option):
    """Return True if an option takes a path, or text of unknown meaning."""
    if not isinstance(option, click.Option) or option.is_flag:
        return False
    named = any(word in (option.metavar or "") for word in ("FILE", "DIR", "PATH", "RUN"))
    text = option.type is click.STRING or (
        isinstance(option.type, Value) and option.type.parse is str
    )
    return named or text


def test_every_option_that_may_name_an_output_is_in_the_walk():
    """Red with: a new option ``-o FILE`` of any command."""
    found = {
        (name, max(option.opts, key=len))
        for name, command in commands()
        for option in command.params
        if may_name_a_path(option)
    }
    outputs = {(name, option) for name, option in found if option not in INPUTS | TEXTS}
    assert outputs == set(OUTPUTS)
    for (name, _), calls in OUTPUTS.items():
        has = {option for each in dict(commands())[name].params for option in each.opts}
        assert all(each.force == ("--force" in has) for each in calls), name


@pytest.fixture(scope="module")
def ready(sgmc_module):
    """A corpus with columns, a stored corpus, and a run."""
    lines = []
    for i in range(40):
        words = "sea ship wind sail" if i % 2 else "bread oven flour yeast"
        lines.append(json.dumps({"text": f"{words} {words} paper", "year": 1900 + i % 7}))
    (sgmc_module.folder / "corpus.jsonl").write_text("\n".join(lines))
    kept = ("--meta-field", "year", "--keep-text", "1M")
    sgmc_module("train", "corpus.jsonl", *SMALL, *kept, "--out", "run")
    shutil.copytree(sgmc_module.folder / "run", sgmc_module.folder / "run2")
    sgmc_module("corpus", "build", "corpus.jsonl", "--max-df", "1.0", "-o", "built")
    return sgmc_module


def ended(command, *words):
    """Run the command, whatever its exit code."""
    typed = [*map(str, command.command), *map(str, words)]
    return fork_server.shared().run(typed, command.folder, text=True, seconds=240)


def run(ready, each, out, *further, code=None):
    """Run a command with an output path; return the exit code and the output."""
    places = {"CORPUS": "corpus.jsonl", "BUILT": "built", "RUN": "run"}
    words = [places.get(word, word.replace("OUT", str(out))) for word in each.words]
    if "--" in words:
        words[words.index("--") : words.index("--")] = further
    else:
        words += further
    (ready.folder / "free.html").unlink(missing_ok=True)
    done = ended(ready, *words)
    assert "Traceback" not in done.stderr, (words, done.stderr)
    if code is not None:
        assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.returncode, done.stderr


def digests(folder):
    """Return the digest of every file, and a description of links and pipes, by path."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"link to {path.readlink()}"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif path.is_dir():
            found[f"{name}/"] = "folder"
        else:
            found[name] = "special"
    return found


def put(folder, name):
    """Write a foreign file with the given name."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"a file of somebody\nby the name of {name}\n")


@pytest.fixture(scope="module")
def written(ready, tmp_path_factory):
    """Return the paths that a command with an output folder writes into a free folder."""

    @functools.cache
    def names(key, number):
        out = tmp_path_factory.mktemp("free") / "out"
        run(ready, OUTPUTS[key][number], out, code=0)
        found = [str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()]
        assert found
        return found

    return names


#: Names that no command leaves at its end: files of unfinished work, of a kill, of earlier
#: releases.
LEFT = [
    *("documents/000000.bin", "titles/000000.bin", "documents/letter.txt", "lock", "lock.held"),
    *(
        ".tmp-index.html-0123abcd",
        ".tmp-index.html-0123456789abcdef",
        "x.tmp",
        ".out.tmp/words.txt",
    ),
    *(".trash-step-00000010-01234567", ".tmp-work-0123456789abcdef/thesis.txt", "plan.json"),
    *("failed-step-00000010.safetensors", "latest", "labels.json", "report.html", "a", "b/c"),
    *("files-0123456789abcdef/documents/000000.bin", "checkpoints/.corrupt-step-00000010/x"),
    *("samples/.dropped-step-00000010.safetensors", ".sgmc-work", ".sgmc-files.jsonl"),
    *("checkpoints/.replaced-step-00000010-01234567/x", "part-000000.parquet", "search.png"),
]


def left():
    """Write all of `LEFT`, and a scratch folder of this host with a wrong checksum."""
    return [*LEFT, f".sgmc-{os.uname().nodename}-01234567/thesis.txt"]


def kept(before, after):
    """Return the names of files that are changed or missing."""
    return [name for name, digest in before.items() if after.get(name) != digest]


def place_of(each):
    """Return the key and the number of a call in `OUTPUTS`."""
    return next((k, n) for k, calls in OUTPUTS.items() for n, c in enumerate(calls) if c is each)


@pytest.mark.parametrize("each", [c for c in CALLS if c.values[0].folder])
def test_a_folder_of_foreign_files_is_as_it_was(ready, written, tmp_path, each):
    """Red with: texts in ``documents`` deleted by ``report --folder``; parts of others by ``infer``."""
    usual = [(k, n) for k, calls in OUTPUTS.items() for n in range(len(calls)) if not often(k, n)]
    # a search takes seconds; by day its own case has its names
    if not os.environ.get("SGMC_NIGHT"):
        usual = [place for place in usual if place[0] != ("search", "--out")]
    usual = [(k, n) for k, n in usual if OUTPUTS[k][n].folder] + [place_of(each)]
    everything = sorted({name for place in usual for name in written(*place)} | set(left()))
    files = {n for n in everything if not any(o.startswith(f"{n}/") for o in everything)}
    folder = tmp_path / "out"
    for name in files:
        put(folder, name)
    before = digests(folder)
    for force in ([], ["--force"]) if each.force else ([],):
        code, said = run(ready, each, folder, *force)
        assert kept(before, digests(folder)) == []
        assert code in (65, 73, 76), said
        assert digests(folder) == before, "nothing is added to what is refused"


@pytest.mark.parametrize("each", [c for c in CALLS if c.values[0].folder])
def test_a_foreign_file_by_one_of_the_names_is_as_it_was(ready, written, tmp_path, each):
    names = written(*place_of(each))
    tops = {}
    for name in sorted(names):  # one file of each folder
        tops.setdefault(name.rpartition("/")[0] or name, name)
    others = [name for name in left() if name not in (*names, LIST)]
    for number, names in enumerate([*([name] for name in {*tops.values(), LIST}), others]):
        folder = tmp_path / str(number) / "out"
        for name in names:
            put(folder, name)
        before = digests(folder)
        for force in ([], ["--force"]) if each.force else ([],):
            code, said = run(ready, each, folder, *force)
            after = digests(folder)
            assert kept(before, after) == [], (names, force, said)
            if names is others and code == 0:  # these files are in nobody's way
                for name in set(after) - set(before):
                    if not name.endswith("/"):
                        (folder / name).unlink()
            else:
                assert code in (65, 73, 75, 76), (names, said)
                assert after == before, (names, said)


@pytest.mark.parametrize("each", [c for c in CALLS if not c.values[0].folder])
def test_a_named_file_is_replaced_if_that_is_wanted_and_no_other_is(ready, tmp_path, each):
    """Red with: a device or a link replaced by a file; ``diagnose --picture`` over any file."""
    folder = tmp_path / "out"
    for name in (*left(), each.name, f".tmp-{each.name}-01234567", f"{each.name}.tmp"):
        put(folder, name)
    target = folder / each.name
    before = digests(folder)
    code, said = run(ready, each, target)
    assert (code, digests(folder)) == (73, before)
    assert "--force replaces it" in said
    run(ready, each, target, "--force", code=0)
    assert kept(before, digests(folder)) == [each.name]
    assert set(digests(folder)) == set(before)

    target.unlink()
    put(tmp_path, "elsewhere")
    target.symlink_to(tmp_path / "elsewhere")
    link, before = str(target.readlink()), (tmp_path / "elsewhere").read_bytes()
    assert run(ready, each, target)[0] == 73
    assert (tmp_path / "elsewhere").read_bytes() == before
    run(ready, each, target, "--force", code=0)
    assert str(target.readlink()) == link
    assert (tmp_path / "elsewhere").read_bytes() != before

    target.unlink()
    os.mkfifo(target)
    assert run(ready, each, target, "--force")[0] == 73
    assert target.is_fifo()
    target.unlink()
    target.mkdir()
    code, _ = run(ready, each, target, "--force")
    # for infer, the output is a folder of parts
    assert code == (0 if each.words[0] == "infer" else 73)
    assert target.is_dir()


@pytest.mark.parametrize(
    ("line", "out"),
    [
        ("infer run texts.csv --text-field text -o texts.csv", "texts.csv"),
        ("infer run folder -o folder/a.csv", "folder/a.csv"),
        ("corpus phrases texts.csv -o texts.csv", "texts.csv"),
        ("corpus phrases folder -o folder/a.csv", "folder/a.csv"),
        ("effect run ~year --metadata texts.csv -o texts.csv", "texts.csv"),
        ("report run --texts texts.csv -o texts.csv", "texts.csv"),
        ("report run --labels run/labels.json --json run/labels.json -o x.html", "run/labels.json"),
        ("slurm --time 1h --setup texts.csv -o texts.csv -- train corpus.jsonl", "texts.csv"),
        ("bench --quick --corpus texts.csv -o texts.csv", "texts.csv"),
        ("infer run corpus.jsonl -o run/corpus/a.csv", "run/corpus/a.csv"),
        ("corpus phrases corpus.jsonl -o built/vocab.txt", "built/vocab.txt"),
        ("corpus phrases corpus.jsonl -o run/config.json", "run/config.json"),
        ("report run -o both.html --json both.html", "both.html"),
    ],
)
def test_a_file_that_is_read_is_not_replaced_though_it_is_named(ready, line, out):
    folder = ready.folder
    for name in ("texts.csv", "folder/a.csv", "both.html", "run/corpus/a.csv"):
        put(folder, name)
    (folder / "texts.csv").write_text("text,year\nsea ship,1\n")
    (folder / "run/labels.json").write_text('{"0": "sea"}')
    before = (folder / out).read_bytes()
    words = line.split()
    where = words.index("--") if "--" in words else len(words)
    words[where:where] = ["--force"]
    ready(*words, code=73)
    assert (folder / out).read_bytes() == before
    (folder / "run/labels.json").unlink()
    (folder / "run/corpus/a.csv").unlink()


# ---- outputs that no option names


@pytest.fixture
def copied(ready, sgmc):
    """The command in its own folder, with copies of the corpora and the run."""
    for name in ("run", "built"):
        shutil.copytree(ready.folder / name, sgmc.folder / name)
    shutil.copy(ready.folder / "corpus.jsonl", sgmc.folder)
    return sgmc


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("report run", ["run/report.html"]),
        ("report run --folder run/page", ["run/page/documents/a.txt"]),
        ("export run --to csv", ["run/export-csv/documents.csv", "run/export-csv/topics.csv"]),
        ("export run --to npy -o .", ["labels.json", "topics.npy"]),
        ("infer run corpus.jsonl -o theta/", ["theta/part-000000.parquet", "theta/_parts.json"]),
        ("reproduce mld-noise --quick --no-pictures", ["sgmc-reproduce/mld-noise/mine"]),
    ],
)
def test_force_replaces_no_foreign_file_at_a_place_that_nobody_named(copied, line, names):
    for name in names:
        put(copied.folder, name)
        before = digests(copied.folder)
        for force in ([], ["--force"]):
            done = copied(*line.split(), *force, code=73)
            assert len(done.stderr.splitlines()) == 1
            assert digests(copied.folder) == before
        (copied.folder / name).unlink()
    shutil.rmtree(copied.folder / "run/page", ignore_errors=True)
    if "reproduce" not in line:
        copied(*line.split())
        copied(*line.split(), "--force")


def test_the_hint_at_the_latest_run_does_not_replace_a_file(copied):
    put(copied.folder, "sgmc-runs/latest")
    before = (copied.folder / "sgmc-runs/latest").read_bytes()
    done = copied("train", "corpus.jsonl", *SMALL)
    assert "latest: cannot be written: sgmc did not write the existing file" in done.stderr
    assert (copied.folder / "sgmc-runs/latest").read_bytes() == before


def test_the_script_for_a_shell_replaces_no_other(copied):
    home = {**os.environ, "XDG_DATA_HOME": str(copied.folder)}
    place = "bash-completion/completions/sgmc"
    put(copied.folder, place)
    before = digests(copied.folder)
    done = copied("completion", "bash", "--install", code=73, env=home)
    assert "was not written by sgmc" in done.stderr
    assert digests(copied.folder) == before
    (copied.folder / place).unlink()
    copied("completion", "bash", "--install", env=home)
    copied("completion", "bash", "--install", env=home)


def test_texts_are_dropped_if_they_are_the_ones_that_were_stored(copied):
    """Red with: whatever is called texts.npz deleted."""
    corpus = copied.folder / "run/corpus"
    stored = (corpus / "texts.npz").read_bytes()
    (corpus / "texts.npz").write_text("mine")
    done = copied("corpus", "drop-text", "run/corpus", code=73)
    assert "texts.npz: was not written by sgmc" in done.stderr
    (corpus / "texts.npz").write_bytes(stored)
    copied("corpus", "drop-text", "run/corpus")
    assert not (corpus / "texts.npz").exists()
    (corpus / "texts.npz").write_text("mine")
    copied("corpus", "drop-text", "run/corpus")
    assert (corpus / "texts.npz").read_text() == "mine"
    (corpus / "texts.npz").write_bytes(stored)  # as if the command had been killed before
    copied("corpus", "drop-text", "run/corpus")
    assert not (corpus / "texts.npz").exists()


def test_a_corpus_in_a_folder_for_chains_or_a_search_is_not_replaced(copied):
    """Red with: a corpus that a user built, with notes in it, exchanged for one that was just read."""
    copied("corpus", "build", "corpus.jsonl", "--max-df", "1.0", "-o", "project/corpus")
    put(copied.folder, "project/corpus/notes.txt")
    before = digests(copied.folder)
    train = ("train", "corpus.jsonl", *SMALL, "--keep-text", "1M", "--chains", "2")
    copied(*train, "--out", "project", code=73)
    search = ("search", "corpus.jsonl", "-k", "2,3", "--epochs", "1", "--max-df", "1.0")
    search = (*search, "--holdout", "5", "--keep-text", "1M", "--out", "project")
    copied(*search, code=73)
    after = digests(copied.folder)
    assert kept(before, after) == []


def test_files_of_the_user_in_a_run_stay(copied):
    """Red with: notes in a checkpoint deleted with it; names that look like work in hand."""
    newest = max(path for path in (copied.folder / "run/checkpoints").iterdir() if path.is_dir())
    mine = [
        *(
            "notes.txt",
            ".tmp-notes-01234567",
            "samples/.tmp-x-0123456789abcdef",
            "corpus/notes.txt",
        ),
        *("checkpoints/old/a.txt", f"checkpoints/{newest.name}/why.txt", "samples/a.npy"),
        f".sgmc-{os.uname().nodename}-01234567/thesis.txt",
    ]
    for name in mine:
        put(copied.folder / "run", name)
    before = {name: digests(copied.folder / "run")[name] for name in mine}
    for keep in ("40", "60"):
        done = copied("train", "--resume", "run", "--iterations", keep, "--set", "keep=1")
    assert "why.txt: was not written by sgmc" in done.stderr
    assert kept(before, digests(copied.folder / "run")) == []


@pytest.mark.parametrize("name", ["lock", "lock.held", "corpus/a.txt", "corpus/meta.json"])
def test_a_search_takes_no_foreign_file_for_its_own(copied, name):
    put(copied.folder, f"out/{name}")
    before = digests(copied.folder)
    search = ("search", "corpus.jsonl", "-k", "2,3", "--epochs", "1", "--max-df", "1.0")
    done = ended(copied, *search, "--holdout", "5", "--out", "out")
    assert done.returncode == 73, done.stderr
    assert kept(before, digests(copied.folder)) == []


def test_shards_are_built_in_no_foreign_folder(copied):
    put(copied.folder, "all.shards/notes.txt")
    (copied.folder / "words.txt").write_text("sea\nship\n")
    build = ("corpus", "build", "corpus.jsonl", "corpus.jsonl", "--vocab", "words.txt", "-o", "all")
    done = copied(*build, "--shard", "1/2", code=73)
    assert "all.shards/notes.txt: is not a shard" in done.stderr


def test_a_link_to_an_empty_folder_is_filled_and_one_to_nothing_is_refused(copied):
    (copied.folder / "empty").mkdir()
    (copied.folder / "link").symlink_to("empty")
    (copied.folder / "dead").symlink_to("nothing")
    copied("corpus", "build", "corpus.jsonl", "-o", "link")
    assert (copied.folder / "link").is_symlink()
    assert (copied.folder / "empty/meta.json").is_file()
    copied("corpus", "build", "corpus.jsonl", "-o", "dead", code=73)
    assert str((copied.folder / "dead").readlink()) == "nothing"
