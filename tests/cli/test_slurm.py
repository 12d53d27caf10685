"""``sgmc slurm``: its scripts, run by a shell with a substitute for SLURM, and refusals."""

import itertools
import os
import shlex
import shutil
import subprocess

import pytest
from click.testing import CliRunner

from pysgrld.cli import main
from pysgrld.cli.batch_script import Job, script
from pysgrld.errors import UsageError

pytestmark = pytest.mark.cli

STRANGE = [
    "a b",
    "$HOME",
    "`id`",
    'quo"te',
    "it's",
    "back\\slash",
    "{i}",
    "x{i}$y",
    "*",
    "{2,}",
    "é",
]


def run(text, tmp_path, code=0, **environment):
    """Run a script with substitutes for SLURM's programs; return the exit code and their input."""
    for name, does in {
        "srun": f'printf "%s\\n" "$@" > {tmp_path}/srun; exit {code}',
        "scontrol": f'echo "$@" > {tmp_path}/scontrol',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        ["bash", "-u"],
        input=text,
        text=True,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_CPUS_PER_TASK": "8"} | environment,
        cwd=tmp_path,
        check=False,
    )
    asked = tmp_path / "scontrol"
    return done.returncode, (tmp_path / "srun").read_text().splitlines(), asked


def job(*command, **values):
    return Job(command, 3600.0, **values)


def test_words_reach_the_command_as_they_were_typed(tmp_path):
    """Red with: words joined by spaces; a dollar sign that the shell reads."""
    text = script(job("train", *STRANGE, array=3))
    _, words, _ = run(text, tmp_path, SLURM_ARRAY_TASK_ID="2", HOME="/root")
    assert words == ["--cpus-per-task=8", "sgmc", "train"] + [
        w.replace("{i}", "2") for w in STRANGE
    ]


def test_every_combination_has_a_job_of_its_own(tmp_path):
    over = {"k": ("50", "100"), "seed": ("1", "2", "3")}
    text = script(job("train", "-k{k}", "{seed}", "{i}/{n}", over=over))
    found = []
    for i in range(1, 7):
        _, words, _ = run(text, tmp_path, SLURM_ARRAY_TASK_ID=str(i))
        found.append(tuple(words[3:]))
    pairs = itertools.product(*over.values())
    assert found == [(f"-k{k}", seed, f"{i}/6") for i, (k, seed) in enumerate(pairs, 1)]


@pytest.mark.parametrize(
    ("code", "restarts", "requeued"),
    [(85, "", True), (85, "20", False), (0, "", False), (74, "", False)],
)
def test_only_85_goes_back_and_not_for_ever(code, restarts, requeued, tmp_path):
    text = script(job("search", "built"))
    given = {"SLURM_RESTART_COUNT": restarts} if restarts else {}
    ended, _, asked = run(text, tmp_path, code, SLURM_JOB_ID="7", **given)
    assert ended == code
    assert ("requeue" in asked.read_text()) == requeued


@pytest.mark.parametrize(("restarts", "requeued"), [(None, True), (20, False)])
def test_training_that_gets_on_goes_back_as_often_as_it_is_pre_empted(restarts, requeued, tmp_path):
    """It ends by itself with 70 where it does not. Red with: 20 pre-emptions, and it is over."""
    text = script(job("train", "built", restarts=restarts))
    _, _, asked = run(text, tmp_path, 85, SLURM_JOB_ID="7", SLURM_RESTART_COUNT="20")
    assert ("requeue" in asked.read_text()) == requeued


def test_what_a_site_wants_is_asked_for_beside_what_the_script_does(tmp_path):
    done = typed_text(
        *("--time", "1h", "--notice", "30s", "--array", "1001", "--at-once", "5"),
        *("--sbatch", "--gres=gpu:1", "--sbatch", "--qos long", "--sbatch", "-C haswell"),
        *("--", "train", "built", "--chain-id", "{i}", "--out", "runs/{i}"),
    )
    lines = done.stdout.splitlines()
    assert "#SBATCH --array=1-1001%5" in lines
    assert "#SBATCH --signal=USR1@30 --requeue --open-mode=append" in lines
    for line in ("--gres=gpu:1", "--qos long", "-C haswell"):
        assert f"#SBATCH {line}" in lines
    assert "SLURM accepts 1,000 in an array" in done.stderr


@pytest.mark.parametrize(
    "more", [("-o", "theta/"), ("-o", "theta", "--part", "1/4"), ("-o", "theta.csv")]
)
def test_inference_into_a_folder_goes_back_and_has_its_name(more, tmp_path):
    """Red with: "This command cannot resume" of parts, which the same command continues."""
    text = script(job("infer", "run", "built", *more))
    assert ("--signal=USR1@180" in text) == (more[1] != "theta.csv")
    assert "--job-name=sgmc-infer " in text
    if more[1] != "theta.csv":
        _, _, asked = run(text, tmp_path, 85, SLURM_JOB_ID="7")
        assert asked.read_text() == "requeue 7\n"
    assert "--job-name=sgmc-merge " in script(job("corpus", "merge", "built"))


@pytest.mark.parametrize("words", [("infer", "run", "built"), ("corpus", "merge", "built")])
def test_a_command_without_checkpoints_gets_no_signal_and_no_false_comment(words, tmp_path):
    """Red with: USR1, which ends these commands with 138; a checkpoint in the comment."""
    text = script(job(*words))
    assert "USR1" not in text
    assert "checkpoint" not in text
    assert "must end within the time limit" in text
    assert run(text, tmp_path, 3)[0] == 3
    assert "USR1" in script(job("corpus", "build", "texts"))
    for option in ("--notice", "--restarts"):
        value = "2m" if option == "--notice" else "3"
        done = typed_text("--time", "1h", option, value, "--", "infer", "run", "built")
        assert done.exit_code == 2
        assert "'infer' cannot be stopped and resumed" in done.stderr


def test_an_element_of_an_array_goes_back_alone(tmp_path):
    text = script(job("train", "built", "--out", "{i}", array=4))
    given = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_JOB_ID": "9", "SLURM_JOB_ID": "11"}
    _, _, asked = run(text, tmp_path, 85, **given)
    assert asked.read_text() == "requeue 9_3\n"


def test_ranks_are_started_together_and_end_together(tmp_path):
    text = script(job("train", "--mpi", "built", nodes=4, ranks=2, plugin="pmix", cpus=16))
    assert "--nodes=4 --ntasks-per-node=2 --cpus-per-task=16" in text
    _, words, _ = run(text, tmp_path)
    assert words[:4] == ["--mpi=pmix", "--kill-on-bad-exit=0", "--wait=30", "--cpus-per-task=8"]
    assert words[4:] == ["sgmc", "train", "--mpi", "built"]
    for option in ("--mpi=pmix", "--kill-on-bad-exit=0", "--wait=30"):
        assert f"# {option}: " in text
    assert "srun --mpi=list" in text
    assert "# Not tested with sgmc: a real network" in text


@pytest.mark.parametrize(
    ("options", "command", "said"),
    [
        (("--nodes", "2"), ("train", "built"), "several processes"),
        ((), ("train", "--mpi", "built"), "several processes"),
        (("--nodes", "2"), ("train", "--mpi", "built", "--algo", "cgs"), "leave out --mpi"),
        (("--mpi-plugin", "pmix"), ("train", "built"), "--mpi-plugin requires"),
    ],
)
def test_ranks_of_what_one_process_does_are_refused(options, command, said):
    done = CliRunner().invoke(main, ["slurm", "--time", "1h", *options, "--", *command])
    assert done.exit_code == 2
    assert said in done.stderr


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not here")
@pytest.mark.parametrize(
    "values", [{}, {"array": 3}, {"over": {"k": ("1", "2 3")}}, {"nodes": 2}], ids=str
)
def test_scripts_are_clean(values):
    command = ["train", "built"] + ["{i}"] * ("array" in values) + ["{k}"] * ("over" in values)
    text = script(job(*command, memory="64G", partition="long", setup="module load x", **values))
    done = subprocess.run(
        ["shellcheck", "-"], input=text, text=True, capture_output=True, check=False
    )
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("command", "values", "said"),
    [
        (["train", "{k}"], {}, "in the command has no value; give --array or --over"),
        (["train", "{j}"], {"array": 2}, "available names: {i}, {n}"),
        (["train"], {"array": 2}, "the same command"),
        (["train", "{a}"], {"over": {"a": ("1", "2"), "b": ("1", "2")}}, "the same command"),
        (["{i}"], {"array": 2, "over": {"a": ("1",)}}, "give one of them"),
        (["{i}"], {"over": {"i": ("1",)}}, "the name i is reserved"),
        (["{a}{b}"], {"over": {x: tuple(map(str, range(400))) for x in "ab"}}, "160,000 jobs"),
    ],
)
def test_what_no_array_can_be_is_refused(command, values, said):
    with pytest.raises(UsageError, match=said):
        script(job(*command, **values))


def typed_text(*words):
    """Call ``sgmc slurm``, and return its output."""
    return CliRunner().invoke(main, ["slurm", *words])


def typed(*words):
    """Call ``sgmc slurm`` with the given words after ``--``, or with options first."""
    line = (
        ["slurm", *words] if words[0].startswith("-") else ["slurm", "--time", "1h", "--", *words]
    )
    done = CliRunner().invoke(main, line)
    return done.exit_code, done.stderr


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("train built --algo best", "--algo"),
        ("train built --model dpmm --set keep-documents=x", "--set keep-documents"),
        ("train built --preset sam-2016 --algo scir", "scir"),
        ("trian built", "train"),
        ("slurm --time 1h -- train built", "cannot write batch scripts"),
        ("train -", "no standard input"),
        ("--time 1h --array 2 -- train built --seed {i} --out runs/x", "both write to runs/x"),
        ("--time 5m -- train built", "too short"),
        ("--time 2m --notice 90s -- train built", "at least 150 s"),
        ("--time 1h --notice 5s -- train built", "10s to 18h"),
        ("--time 1h --at-once 2 -- train built", "--at-once requires --array or --over"),
        ("--time 1h --sbatch gres -- train built", "not an option of sbatch"),
        ("--time 1h --sbatch --time=3h -- train built", "sgmc sets time in the script"),
        ("--time 1h --sbatch '-t 3h' -- train built", "sgmc sets t in the script"),
        ("--time 1h --over k -- train built", "NAME=VALUE"),
        ("--time 1h --over k=1,1 -- train built", "twice"),
        ("--time 1h --over k=1 --over k=2 -- train -k {k}", "twice"),
        ("--time 1h --mem lots -- train built", "64G"),
        ("--time 1h --partition a;b -- train built", "name"),
        ("-- train built", "--time"),
        ("--time 1h", "COMMAND"),
    ],
)
def test_mistakes_are_told_before_the_queue(line, said):
    code, shown = typed(*shlex.split(line))
    assert code == 2
    assert said in shown
    assert len(shown.strip().splitlines()) <= 2


def test_a_file_is_not_written_over(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "built").mkdir()
    assert typed("--time", "1h", "-o", "job.sh", "--", "train", "built")[0] == 0
    assert os.access("job.sh", os.R_OK)
    assert typed("--time", "1h", "-o", "job.sh", "--", "train", "built")[0] == 73
    assert typed("--time", "1h", "--setup", "none.sh", "--", "train", "built")[0] == 66


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("build t.txt --vocab v.txt -o b --shard {i}/{n}", "4 shards are too many for 1 input"),
        ("build t.txt -o b --shard {i}/{n}", "--shard needs --vocab"),
        ("build t.txt -o b{i} --shard", "requires an argument"),
        ("bild t{i}.txt", "No such command"),
    ],
)
def test_shards_that_no_job_could_build_are_refused(command, said, tmp_path, monkeypatch):
    """Red with: the options of `corpus build` checked in the queue alone."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text("one text\n")
    (tmp_path / "v.txt").write_text("text\n")
    line = ["--time", "1h", "--array", "4", "--", "corpus", *command.split()]
    code, shown = typed(*line)
    assert (code, said in shown) == (2, True), shown


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        (
            "corpus build /nope/part-1.jsonl --vocab small/vocab.txt -o b",
            ["/nope/part-1.jsonl", "v"],
        ),
        ("corpus merge nonesuch", ["nonesuch.shards"]),
        ("infer runs/nope built -o theta/", ["runs/nope", "built"]),
        ("eval nope", ["nope"]),
        ("search s -k 5", ["s"]),
        ("infer named t.txt -o theta/", []),
    ],
)
def test_inputs_of_every_command_are_noted_if_missing(line, missing, tmp_path, monkeypatch):
    """Red with: missing inputs of `train` alone."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sgmc-runs" / "named").mkdir(parents=True)
    (tmp_path / "t.txt").write_text("a text\n")
    code, shown = typed("--time", "1h", "--", *line.split())
    assert code == 0, shown
    notes = [row for row in shown.splitlines() if "does not exist yet" in row]
    assert len(notes) == len(missing)
    for name in missing:
        assert any(name in row for row in notes)


def test_the_placeholder_of_plan_is_refused(tmp_path, monkeypatch):
    """Red with: a job that looks for a file FILES after hours in the queue."""
    monkeypatch.chdir(tmp_path)
    line = "--time 2h --array 4 -- corpus build FILES --vocab v.txt -o b --shard {i}/{n}"
    code, shown = typed(*line.split())
    assert (code, "FILES is a placeholder of 'sgmc plan'" in shown) == (2, True), shown


def test_a_corpus_that_is_not_there_is_noted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, shown = typed("train", "corpus.txt")
    assert code == 0
    assert "corpus.txt: does not exist yet" in shown
