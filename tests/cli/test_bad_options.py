"""Out-of-range options and contradictions: exit code 2 and one line, before anything is read."""

import pytest
from click.testing import CliRunner
from command_words import typed

from pysgrld.cli import main
from pysgrld.models.options import option_text

pytestmark = pytest.mark.cli

HUGE = "9" * 400
NUMBERS = ["nan", "inf", "-inf", "x", "", HUGE, "-" + HUGE, "1e400", "0x10", "1_000.5.2"]

WHOLE = [
    "topics",
    "minibatch",
    "sweeps",
    "seed",
    "iterations",
    "samples",
    "keep",
    "threads",
    "max-vocab",
    "warm-up",
    "burn-in",
    "sample-every",
]
POSITIVE = [
    "topics",
    "minibatch",
    "sweeps",
    "iterations",
    "keep",
    "threads",
    "max-vocab",
    "sample-every",
    "alpha",
    "eta",
    "epochs",
]
REAL = ["alpha", "eta", "epochs", "observed", "holdout", "min-df", "max-df"]

BAD = [
    *((name, value) for name in WHOLE for value in [*NUMBERS, "-1", "1.5", str(2**63)]),
    *((name, value) for name in REAL for value in [*NUMBERS, "-1", "-0.5"]),
    *((name, value) for name in POSITIVE for value in ("0", "-0")),
    *(
        (name, value)
        for name in ("eval-every", "checkpoint-every", "time-limit")
        for value in ("0", "-1", "0s", "nan", "10", HUGE + "s", "1h30", "m", "1.5")
        if not (value == "10" and name != "time-limit")
    ),
    *(
        (name, value)
        for name in ("max-memory", "max-line")
        for value in ("0", "-1", "nan", "1e3", HUGE, HUGE + "T", "5X", "")
    ),
    *(
        ("step-size", value)
        for value in (
            "1",
            "1,2",
            "1,2,3,4",
            "nan,1,0",
            "1,nan,0",
            "1,1,nan",
            "0,1,0",
            "-1,1,0",
            "1,0,0.5",
            "1,1,2",
            "1,1,-1",
            f"{HUGE},1,0",
            "inf,1,0",
            "a,b,c",
            "",
        )
    ),
    *(("observed", value) for value in ("1", "0", "1.0", "2")),
    *(("holdout", value) for value in ("1.5", "1.0")),
    ("max-df", "0"),
    ("max-df", "1.5"),
    ("min-df", "2.0"),
    ("min-df", "0.0"),
    ("max-line", "3"),
    ("algo", "lda"),
    ("model", "x"),
    ("preset", "x"),
    ("counts", "x"),
    ("lazy", "x"),
    ("cir-rate", "x"),
    ("boundary", "x"),
    ("on-bad-document", "x"),
    ("token-pattern", "("),
    ("token-pattern", "(a)(b)"),
]

CONTRADICTIONS = [
    "--algo gibbs --minibatch 10",
    "--algo gibbs --step-size 1,1,0",
    "--algo gibbs --set warm-up=3",
    "--algo gibbs --set lazy=auto",
    "--algo sgrld --set cir-rate=natural",
    "--algo sgrld --set boundary=clip",
    "--set cir-rate=natural --set lazy=on",
    "--algo sgrld --set lazy=off",
    "--preset sgrld-2013 --set lazy=on",
    "--set lazy=on --eta 0.009",
    "--algo gibbs --set counts=sampled",
    "--preset sgrld-2013 --algo scir",
    "--set observed-corpus=a",
    "--set held-out-corpus=a",
    "--set observed-corpus=a --set held-out-corpus=b --holdout 10",
    "--holdout 10 --holdout-corpus a",
    "--holdout-corpus a --set observed-corpus=a --set held-out-corpus=b",
    "--set observed-corpus=a --set held-out-corpus=b --set observed=0.5",
    "--min-df 5 --max-df 2",
    "--min-df 0.5 --max-df 0.1",
    "--nonsense",
    "-q -v",
    "--topics",
    "-k",
    "--topics 3 --topics",
]


def refused(args, folder):
    done = CliRunner().invoke(main, args, prog_name="sgmc")
    assert done.exit_code == 2, (args, done.output)
    assert done.stderr.startswith("sgmc: error: ")
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 400
    assert done.stdout == ""
    assert list(folder.iterdir()) == []
    return done.stderr


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("name", "value"), BAD, ids=lambda text: str(text)[:12])
def test_value_out_of_range_is_refused_before_the_corpus_is_read(name, value, folder):
    assert option_text(name) in refused(["train", "not-there.txt", *typed({name: value})], folder)


@pytest.mark.parametrize("args", CONTRADICTIONS)
def test_contradiction_is_refused_before_the_corpus_is_read(args, folder):
    refused(["train", "not-there.txt", *args.split()], folder)


@pytest.mark.parametrize(
    "args",
    [
        "train",
        "eval --observed 0.5",
        "eval --seed 3",
        "eval --observed-corpus a",
        "eval --corpus a --observed-corpus b --held-out-corpus c",
        "eval --coherence --corpus a",
        "eval --corpus a --observed 1",
        "eval --corpus a --seed -1",
        "eval a b",
        "topics --top 0",
        "topics --top nan",
        "infer",
        "infer a b c",
        "infer a -o theta.txt",
        "infer a -o theta",
        "infer a --draws 19",
        "infer a --population these",
        "infer a --top 3 -o theta.csv",
        "infer a --top 3 --dense -o theta.parquet",
        "export",
        "export --to pickle -o a",
        "export --to npy -o a --draw best",
        "corpus",
        "corpus nothing",
        "corpus build a",
        "corpus build a -o b --max-df 2.5",
        "corpus info",
        "checkpoint show --step -1",
        "checkpoint",
        "nothing",
        "bench a",
        "bench --isa mmx",
        "bench --isa",
        "bench --quick 3",
        "bench -o",
    ],
)
def test_other_commands_refuse_wrong_usage(args, folder):
    if args in ("corpus", "checkpoint"):
        assert CliRunner().invoke(main, [args]).exit_code == 2
    else:
        refused(args.split(), folder)


@pytest.mark.parametrize("typed", ["topics --documents", "corpus build a -o", "train --topcs 5"])
def test_the_hint_names_the_help_of_the_command_that_was_typed(typed):
    """Red with: 'sgmc --help', which has none of the options."""
    said = CliRunner().invoke(main, typed.split(), prog_name="sgmc").stderr
    command = "sgmc corpus build" if "build" in typed else f"sgmc {typed.split()[0]}"
    assert f"(see '{command} --help')" in said


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("train --keep-text", "--help-all"),
        ("train corpus --max-df x", "--help-all"),
        ("train --topics", "--help"),
        ("corpus build --keep-text", "--help"),
    ],
)
def test_the_hint_names_a_help_that_has_the_option(typed, named):
    """Red with: `train --help` for an option that it leaves to --help-all."""
    done = CliRunner().invoke(main, typed.split())
    assert done.exit_code == 2
    assert f"{named}')" in done.output


def test_options_may_stand_before_or_after_the_corpus(folder):
    for args in (["-k", "3", "not-there.txt"], ["not-there.txt", "-k", "3"]):
        done = CliRunner().invoke(main, ["train", *args], prog_name="sgmc")
        assert done.exit_code == 66
        assert done.stderr == "sgmc: error: not-there.txt: no such file; check the path\n"
