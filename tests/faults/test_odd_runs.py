"""Runs with a well-formed record or samples of another model: 76, the file, no traceback."""

import contextlib
import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner
from faults_runs import command_line, sgmc
from safetensors.numpy import load_file, save_file

from pysgrld.cli import main

#: Commands that read a run, as typed after its name.
READING = [
    ["topics"],
    ["topics", "--intervals"],
    ["eval"],
    ["infer", "corpus.txt"],
    ["diagnose"],
    ["export", "--to", "npy", "-o", "out"],
    ["checkpoint", "list"],
]
#: Commands that read kept samples.
OF_SAMPLES = [["topics", "--intervals"], ["eval", "--corpus", "corpus.txt"], ["diagnose"]]

KINDS = {
    "lda": command_line(iterations=100),
    "dlda": [*command_line(topics=None, starts=None, iterations=100), "--layers", "4,2"],
    "dpmm": [
        *command_line(topics=None, starts=None, sweeps=None, warm_up=None, iterations=100),
        *("--model", "dpmm"),
    ],
}


@pytest.fixture(scope="module")
def trained(whole, tmp_path_factory):
    """A folder with a corpus and a run of each model, with enough samples for intervals."""
    folder = tmp_path_factory.mktemp("models")
    shutil.copy(whole / "corpus.txt", folder)
    for kind, options in KINDS.items():
        sgmc(folder, "train", "corpus.txt", *options, "--out", kind)
        assert len(list((folder / kind / "samples").glob("step-*"))) >= 20
    return folder


def spoilt(trained, folder, kind):
    """A copy of a run that tests may change, next to the corpus."""
    shutil.copy(trained / "corpus.txt", folder)
    return shutil.copytree(trained / kind, folder / "run")


def refused(folder, command, said):
    """Exit code 76, and a last line that says it; what was read before may have been told of."""
    first, *rest = command
    args = [first, rest.pop(0), "run", *rest] if first == "checkpoint" else [first, "run", *rest]
    with contextlib.chdir(folder):
        done = CliRunner().invoke(main, args, prog_name="sgmc")
    assert done.exit_code == 76, done.output
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("sgmc: error: run/")
    assert said in last


@pytest.mark.row(78)
@pytest.mark.parametrize(
    ("text", "command"),
    [
        pytest.param(
            text,
            command,
            id=f"{text}-{' '.join(command)}",
            marks=[pytest.mark.nightly] if i and i != j else [],
        )
        for i, text in enumerate(("[]", "3", "null", '"run"', "{", '{"options": 3}'))
        for j, command in enumerate(READING)
    ],
)
def test_a_config_that_is_no_object_is_named(trained, tmp_path, trials, command, text):
    """Red with: any JSON taken for a table."""
    (spoilt(trained, tmp_path, "lda") / "config.json").write_text(text)
    refused(tmp_path, command, "run/config.json: is damaged: ")
    trials()


def options(**changes):
    return lambda config: config["options"].update(changes)


@pytest.mark.row(78)
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda config: config["options"].clear(), "its model is None"),
        (options(model=3), "its model is 3"),
        (options(model="hdp"), "its model is 'hdp'"),
        (options(topics="four"), "option topics is 'four'"),
        (options(eta=[0.1, "x"]), "option eta is (0.1, 'x')"),
        (options(alpha=None), "option alpha is None"),
        (lambda config: config["corpus"].pop("training_tokens"), "corpus.training_tokens is"),
        (lambda config: config.update(command=3), "command is 3"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_config_of_other_values_is_named(trained, tmp_path, trials, change, why):
    """Red with: options taken as they are found."""
    place = spoilt(trained, tmp_path, "lda") / "config.json"
    config = json.loads(place.read_text())
    change(config)
    place.write_text(json.dumps(config))
    refused(tmp_path, ["topics"], f"run/config.json: is damaged: {why}")
    trials()


def widened(array):
    return np.hstack([array, array[:, :1]])


def longer(array):
    return np.vstack([array, array[:1]])


@pytest.mark.row(78)
@pytest.mark.parametrize("command", OF_SAMPLES, ids=" ".join)
@pytest.mark.parametrize("kind", KINDS)
def test_samples_of_this_model_are_read(trained, monkeypatch, trials, kind, command):
    monkeypatch.chdir(trained)
    first, *rest = command
    done = CliRunner().invoke(main, [first, kind, *rest], prog_name="sgmc")
    none_to_give = kind == "dpmm" and first == "topics"  # components cannot be followed
    assert done.exit_code == (2 if none_to_give else 0), done.output
    trials()


@pytest.mark.row(78)
@pytest.mark.parametrize(
    "command",
    [
        # samples are checked where they are read, whatever the command
        pytest.param(OF_SAMPLES[0], marks=pytest.mark.nightly),
        OF_SAMPLES[1],
        pytest.param(OF_SAMPLES[2], marks=pytest.mark.nightly),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize(
    ("kind", "array", "change"),
    [
        ("lda", "phi", lambda parts: {"phi": widened(parts["phi"])}),
        ("lda", "phi", lambda parts: {"phi": parts["phi"][:, 1:]}),
        ("lda", "phi", lambda parts: {"phi": longer(parts["phi"])}),
        ("lda", "phi", lambda parts: {"phi": parts["phi"][1:]}),
        ("lda", "phi", lambda parts: {"phi": parts["phi"][:0]}),
        ("dlda", "phi2", lambda parts: {"phi": parts["phi"]}),
        ("dlda", "phi", lambda parts: parts | {"phi": widened(parts["phi"])}),
        ("dlda", "phi2", lambda parts: parts | {"phi2": longer(parts["phi2"])}),
        ("dlda", "r", lambda parts: parts | {"r": parts["r"][:, 1:]}),
        ("dpmm", "w", lambda parts: {"phi": parts["phi"]}),
        ("dpmm", "phi", lambda parts: parts | {"phi": parts["phi"][:, 1:]}),
        ("dpmm", "w", lambda parts: parts | {"phi": parts["phi"][1:]}),
        ("dpmm", "phi", lambda parts: parts | {"phi": parts["phi"][:0], "w": parts["w"][:, :1]}),
    ],
)
def test_samples_of_another_model_are_named(
    trained, tmp_path, trials, kind, array, change, command
):
    """Red with: names of arrays looked at, and their shapes taken as they are."""
    if kind == "dpmm" and command[0] == "topics":
        pytest.skip("components cannot be followed: no interval is read from samples")
    run = spoilt(trained, tmp_path, kind)
    for place in (run / "samples").glob("step-*"):
        parts = {name: np.ascontiguousarray(a) for name, a in change(load_file(place)).items()}
        for name, values in parts.items():
            if name.startswith("phi") and values.size:  # only the shape is wrong
                values /= values.sum(axis=1, keepdims=True)
        place.unlink()
        save_file(parts, place)
    refused(tmp_path, command, f"array '{array}'")
    trials()
