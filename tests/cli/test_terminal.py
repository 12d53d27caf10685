"""What shells request from ``sgmc``: completion, help, versions, and the list of runs."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner

from pysgrld.cli import COMMANDS, main
from pysgrld.samplers import SAMPLERS

pytestmark = pytest.mark.cli


def typed(*words, code=0):
    done = CliRunner().invoke(main, list(words), prog_name="sgmc", terminal_width=80)
    assert done.exit_code == code, done.output
    return done


def completed(line):
    """Return the completions of a command line with a partly typed last word, as (type, value)."""
    words = line.split(" ")
    given = {
        "_SGMC_COMPLETE": "bash_complete",
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    done = CliRunner().invoke(main, [], env=given, prog_name="sgmc")
    return [tuple(line.split(",", 1)) for line in done.output.split()]


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A folder of runs that only have names."""
    for name in ("bible-scir", "bible-gibbs", "news-scir"):
        (tmp_path / "sgmc-runs" / name).mkdir(parents=True)
        (tmp_path / "sgmc-runs" / name / "config.json").write_text("{}")
    (tmp_path / "sgmc-runs" / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "sgmc-runs"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("sgmc to", [("plain", "topics")]),
        ("sgmc train --algo sgg", [("plain", "sggmc")]),
        ("sgmc train --numbers ", [("plain", "years"), ("plain", "keep"), ("plain", "drop")]),
        ("sgmc train --set laz", [("plain", "lazy=")]),
        ("sgmc train --set lazy=o", [("plain", "lazy=on"), ("plain", "lazy=off")]),
        ("sgmc train --vocab w", [("file", "w")]),
        ("sgmc train plai", [("file", "plai")]),
        ("sgmc corpus build d", [("file", "d")]),
        ("sgmc topics bible", [("plain", "bible-gibbs"), ("plain", "bible-scir")]),
        ("sgmc diagnose n", [("plain", "news-scir")]),
        ("sgmc topics ./run", [("file", "./run")]),
        ("sgmc infer news", [("plain", "news-scir")]),
        ("sgmc infer news-scir n", [("file", "n")]),
        ("sgmc help di", [("plain", "diagnose")]),
        ("sgmc completion z", [("plain", "zsh")]),
        ("sgmc train -k ", []),
    ],
)
def test_the_tab_key_gives_words_runs_and_files(line, found, runs):
    """Red with: click's own completion, which knows no value and takes files away."""
    assert completed(line) == found


def test_every_sampler_is_completed():
    assert [value for _, value in completed("sgmc train --algo ")] == list(SAMPLERS)


def test_bash_reads_the_script(tmp_path, runs):
    script = typed("completion", "bash").output
    sgmc = tmp_path / "bin" / "sgmc"
    sgmc.parent.mkdir()
    sgmc.write_text(f"#!{sys.executable}\nfrom pysgrld.__main__ import main\n\nmain()\n")
    sgmc.chmod(0o755)
    asked = "COMP_WORDS=(sgmc topics bib); COMP_CWORD=2; _sgmc_completion sgmc"
    done = subprocess.run(
        ["bash", "-c", f'{script}\n{asked}\necho "${{COMPREPLY[@]}}"'],
        env=os.environ | {"PATH": f"{sgmc.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["bible-gibbs", "bible-scir"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_installs(shell, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    typed("completion", shell, "--install")
    (found,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert found.read_text().strip() == typed("completion", shell).output.strip()
    if shutil.which(shell):
        subprocess.run([shell, "-n", found], check=True)


def test_help_is_a_command_too():
    assert typed("help").output == typed("--help").output
    assert typed("help", "corpus", "build").output == typed("corpus", "build", "--help").output
    assert typed("help", "train", "--all").output == typed("train", "--help-all").output
    assert "did you mean 'train'" in typed("help", "trian", code=2).stderr
    assert set(COMMANDS) > {"help", "completion", "runs"}


def test_the_short_name_of_the_version():
    assert typed("-V").output == typed("--version").output


def test_runs_are_listed(sgmc, tmp_path):
    begun = ("--set", "starts=1", "--iterations")
    sgmc("train", "-k", "8", *begun, "20", "--out", "sgmc-runs/a", sgmc.corpus)
    sgmc("train", "--chains", "2", "-k", "9", *begun, "5", "--out", "sgmc-runs/b", sgmc.corpus)
    (tmp_path / "sgmc-runs" / "c").mkdir()
    (tmp_path / "sgmc-runs" / "c" / "config.json").write_text("{")
    done = sgmc("runs", env=os.environ | {"COLUMNS": "120"})
    head, *rows = [line.split() for line in done.stdout.splitlines()]
    assert head == ["run", "model", "sampler", "topics", "documents", "iteration", "state", "score"]
    assert [row[0] for row in rows] == ["a", "b/chain-1", "b/chain-2", "c"]
    assert rows[0][1:8] == ["lda", "scir", "8", "269", "20", "finished", "perplexity"]
    assert rows[3] == ["c", "damaged"]
    assert "config.json" in done.stderr
    found = json.loads(sgmc("runs", "--json").stdout)
    assert [run["topics"] for run in found] == [[8], [9], [9], []]
    assert found[0]["kind"] == "perplexity"
    assert found[0]["score"] > 100
    assert found[3]["problem"]


def test_a_folder_without_runs_is_told(sgmc):
    assert "no run found" in sgmc("runs", code=66).stderr
    assert sgmc("runs", "--json").stdout.strip() == "[]"


def test_the_first_lines_of_training_are_plain(sgmc):
    """Red with: memory, threads and the noise of minibatches before the corpus is named."""
    short = ["train", "-k", "8", "--iterations", "60", "--set", "starts=1", sgmc.corpus]
    lines = [line.split("Z ", 1)[1] for line in sgmc(*short, "--out", "a").stderr.splitlines()]
    assert lines[0].startswith("bible: 269 training documents, 29 held out")
    assert lines[1].startswith("model lda with 8 topics")
    said = sgmc(*short, "--out", "b", "-v").stderr
    for detail in ("memory needed", "threads (", "minibatch noise"):
        assert detail in said
        assert not any(detail in line for line in lines)
