import contextlib
import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pysgrld import cli
from pysgrld.cli import explain
from pysgrld.run import RunDirectory, SecondInterrupt

pytestmark = pytest.mark.cli


def one_line(done):
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if line.startswith("sgmc: ")]
    assert len(lines) == 1
    assert "Traceback" not in done.stderr
    return lines[0]


def test_bad_corpus_is_65_with_file_and_line_and_leaves_nothing(sgmc):
    (sgmc.folder / "docword.x.txt").write_text("2\n3\n2\n1 1 1\n1 9 1\n")
    assert "docword.x.txt:5:" in one_line(sgmc("train", "docword.x.txt", code=65))
    assert not (sgmc.folder / "sgmc-runs" / "x-scir").exists()


def test_missing_corpus_is_66(sgmc):
    assert "no such file" in one_line(sgmc("train", "nowhere.txt", code=66))


@pytest.mark.parametrize(
    "command",
    [
        "eval nowhere",
        "topics nowhere",
        "infer nowhere x",
        "checkpoint list nowhere",
        "export nowhere --to npy -o a",
        "eval",
        "topics",
        "train x --resume nowhere",
    ],
)
def test_wrong_run_is_66(sgmc, command):
    one_line(sgmc(*command.split(), code=66))


def test_missing_corpus_to_score_is_66(trained):
    one_line(trained("eval", "--corpus", "nowhere.txt", code=66))


def test_resume_never_on_a_run_is_73(trained, bible):
    place = "sgmc-runs/bible-scir"
    one_line(trained("train", bible, "--out", place, "--resume", "never", code=73))


def test_output_in_a_file_is_73(sgmc, bible):
    (sgmc.folder / "file").write_text("")
    one_line(sgmc("train", bible, "--out", "file/run", "--iterations", "3", code=73))


def test_export_over_what_is_there_is_73_and_force_replaces_it(trained, tmp_path):
    out = tmp_path / "out"
    trained("export", "--to", "npy", "-o", out)
    before = (out / "topics.npy").read_bytes()
    assert "--force" in one_line(trained("export", "--to", "npy", "-o", out, code=73))
    trained("export", "--to", "npy", "-o", out, "--draw", "last", "--force")
    assert (out / "topics.npy").read_bytes() != before
    assert sorted(p.name for p in out.glob("[!.]*")) == ["topics.npy", "vocab.txt"]


def test_infer_over_what_is_there_is_73(trained, tmp_path, bible):
    (tmp_path / "theta.npy").write_text("mine")
    one_line(trained("infer", bible, "-o", tmp_path / "theta.npy", code=73))
    assert (tmp_path / "theta.npy").read_text() == "mine"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_run_without_a_corpus_to_infer_is_2(trained):
    """Red with: a file that is missing."""
    for run in ("bible-scir", "sgmc-runs/bible-scir"):
        assert f"CORPUS is missing after the run {run}" in one_line(trained("infer", run, code=2))


def test_full_standard_output_is_74(trained):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [Path(sys.executable).with_name("sgmc"), "topics"],
            cwd=trained.folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 74
    assert done.stderr.startswith(
        "sgmc: error: standard output: No space left on device; free space"
    )
    assert done.stderr.count("\n") == 1


def test_an_error_without_a_file_name_is_not_blamed_on_standard_output():
    """Red with: "standard output: No space left on device" of any file."""
    explanation = explain(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert explanation.code == 74
    assert explanation.line.startswith(
        "sgmc: error: writing failed: No space left on device; free space"
    )


def test_a_run_that_is_locked_is_75(sgmc):
    sgmc.train("--iterations", "3")
    with RunDirectory.open(sgmc.folder / "run").lock():
        assert str(os.getpid()) in one_line(sgmc.train("--iterations", "6", code=75))


def test_a_run_that_another_host_has_left_locked_is_75_until_the_lock_is_broken(sgmc):
    sgmc.train("--iterations", "3")
    lock = sgmc.folder / "run" / "lock"
    lock.write_text(json.dumps({"host": "elsewhere", "pid": 1, "job": "7"}) + "\n")
    assert "--break-lock" in one_line(sgmc.train("--iterations", "6", code=75))
    sgmc.train("--iterations", "6", "--break-lock")


def test_a_locked_run_can_be_read(sgmc):
    sgmc.train()
    with RunDirectory.open(sgmc.folder / "run").lock():
        sgmc("topics", "run")
        sgmc("eval", "run")
        sgmc("export", "run", "--to", "npy", "-o", "out")


def test_damaged_checkpoints_are_76_and_verify_says_so(sgmc):
    sgmc.train("--iterations", "3")
    state = next((sgmc.folder / "run" / "checkpoints").glob("step-*")) / "state.safetensors"
    data = bytearray(state.read_bytes())
    data[-1] ^= 1
    state.write_bytes(data)
    assert "state.safetensors" in sgmc.train("--iterations", "6", code=76).stderr
    done = sgmc("checkpoint", "verify", "run", code=76)
    assert "good" not in done.stdout


def test_no_checkpoint_yet_is_76_and_says_when_there_will_be_one(sgmc):
    sgmc.train("--iterations", "3")
    for path in (sgmc.folder / "run" / "checkpoints").glob("step-*"):
        path.rename(path.with_name(".away"))
    for command in ("topics", "eval"):
        assert "no checkpoint" in one_line(sgmc(command, "run", code=76))


def test_another_configuration_is_78_with_the_differences(sgmc):
    sgmc.train("--iterations", "3")
    done = sgmc.train("--iterations", "3", "--seed", "5", "--eta", "0.1", code=78)
    assert "seed: 0 -> 5" in done.stderr
    assert "eta: 0.05 -> 0.1" in done.stderr


def test_too_little_memory_is_87_and_leaves_no_run(sgmc):
    assert "allowed" in one_line(sgmc.train("--max-memory", "1M", code=87))
    assert not (sgmc.folder / "run").exists()


def test_a_reader_who_leaves_is_quiet(trained):
    line = f"{Path(sys.executable).with_name('sgmc')} topics --top 1000 | head -1"
    done = subprocess.run(
        ["bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}"],
        cwd=trained.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 141)
    assert done.stderr == ""


def raising(error):
    def broken(*args, **kwargs):
        raise error

    return broken


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (RuntimeError("boom"), 70, "report it"),
        (MemoryError(), 87, "out of memory"),
        (SecondInterrupt(), 130, "stopped immediately"),
        (KeyboardInterrupt(), 130, "stopped immediately"),
        (BrokenPipeError(), 141, ""),
        (OSError(28, "No space left on device"), 74, "No space left"),
    ],
)
def test_what_nobody_foresaw(monkeypatch, tmp_path, error, code, says):
    monkeypatch.setattr(cli, "_give_up", lambda stream: None)
    # The class is patched, not a module: a module first loaded here would keep the broken function.
    monkeypatch.setattr("pysgrld.reading.results.Results.__init__", raising(error))
    (tmp_path / "config.json").touch()
    done = CliRunner().invoke(cli.main, ["topics", str(tmp_path)], prog_name="sgmc")
    assert done.exit_code == code
    assert says in done.stderr
    assert ("Traceback" in done.stderr) == (code == 70)
    assert done.stdout == ""


def test_stopped_while_the_corpus_is_read_is_85_and_leaves_nothing(sgmc):
    with sgmc.start("train", "-", "--out", "run", stdin=subprocess.PIPE) as process:
        with contextlib.suppress(BrokenPipeError):
            for _ in range(200):  # more than a pipe and a block can hold
                process.stdin.write("some words of a document\n" * 4000)
                process.stdin.flush()
                process.terminate()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        said = process.stderr.read()
        assert process.wait(timeout=60) == 85
    assert "stopped while reading the corpus" in said
    assert list(sgmc.folder.iterdir()) == []


def test_held_out_documents_that_were_exchanged_are_76(sgmc):
    sgmc.train("--seed", "1", "--iterations", "3", out="other")
    sgmc.train()
    (sgmc.folder / "run" / "holdout").rename(sgmc.folder / "away")
    (sgmc.folder / "other" / "holdout").rename(sgmc.folder / "run" / "holdout")
    assert "holdout: these held-out documents differ" in one_line(sgmc("eval", "run", code=76))


# ---- with --json-log


@pytest.mark.parametrize(
    ("typed", "code"), [(["nowhere.txt"], 66), (["nowhere.txt", "--nonsense"], 2), ([], 2)]
)
def test_an_error_is_an_object_of_json_where_the_log_is(typed, code):
    """Red with: a plain line among the objects."""
    done = CliRunner().invoke(cli.main, ["train", "--json-log", *typed])
    assert done.exit_code == code
    (said,) = (json.loads(line) for line in done.stderr.splitlines())
    assert (said["event"], said["code"]) == ("error", code)
    assert not said["line"].startswith("sgmc")


def test_a_second_ctrl_c_and_a_bug_are_objects_too(monkeypatch, capsys):
    for error, code in ((KeyboardInterrupt(), 130), (RuntimeError("no\nsense"), 70)):

        def fail(self, error=error):
            raise error

        monkeypatch.setattr("pysgrld.models.choices.Choices.check", fail)
        with pytest.raises(SystemExit) as ended:
            cli.main(["train", "x.txt", "--json-log"])
        assert ended.value.code == code
        (said,) = (json.loads(line) for line in capsys.readouterr().err.splitlines())
        assert said["code"] == code
