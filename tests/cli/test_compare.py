"""``sgmc compare`` as users type it."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pysgrld.cli import main

from .conftest import SMALL

pytestmark = pytest.mark.cli

ROOT = Path(__file__).parents[2]
LEFT, RIGHT = "sgmc-runs/bible-scir", "twelve"


@pytest.fixture(scope="module")
def two(sgmc_module, trained):
    """The command in a folder with runs of 8 and of 12 topics on the same corpus. Not to be changed."""
    shutil.copytree(trained.folder / "sgmc-runs", sgmc_module.folder / "sgmc-runs", symlinks=True)
    sgmc_module.train("-k", "12", "-q", out=RIGHT, base=SMALL[2:])
    return sgmc_module


def test_two_runs_stand_side_by_side(two):
    done = two("compare", "bible-scir", RIGHT)
    lines = done.stdout.splitlines()
    lines = lines[lines.index("") + 1 :]
    assert lines[0] == f"left   {LEFT}: lda, scir, 8 topics, 269 documents"
    assert lines[1] == f"right  {RIGHT}: lda, scir, 12 topics, 269 documents"
    assert lines[2] == "1,000 words in both"
    assert max(map(len, done.stdout.splitlines())) <= 80
    said = done.stdout.replace("\n  ", " ")
    assert "Of 8 topics and 12 topics: " in said
    assert "Perplexity on the same 29 held-out documents: " in said
    assert done.stderr == ""
    assert done.stdout == two("compare", "bible-scir", RIGHT, "--threads", "1").stdout


def test_news_come_first_and_set_the_exit_code(two, tmp_path):
    """Red with: new topics in the last rows alone; an exit code that a run without news sets, too."""
    import numpy as np

    rng = np.random.default_rng(1)
    themes = [[f"{name}{i}" for i in range(12)] for name in ("sea", "bread", "clipper")]
    for name, kinds in (("before", 2), ("after", 3)):
        lines = [" ".join(rng.choice(themes[d % kinds], 30)) for d in range(60 * kinds)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines))
    usual = (
        "--algo",
        "gibbs",
        "--set",
        "burn-in=20",
        "--iterations",
        "60",
        "--max-df",
        "1.0",
        "-q",
    )
    two("train", tmp_path / "before.txt", "-k", "3", *usual, "--out", "sgmc-runs/before")
    continued = ("--from", "latest", "--only-new", "--out", "sgmc-runs/after")
    two("train", tmp_path / "after.txt", "--iterations", "60", "-q", *continued)
    done = two("compare", "--news", "--exit-code", code=1)
    first, *rest = done.stdout.splitlines()
    assert first.startswith("NEW: clipper")
    assert first.endswith("%")
    assert "new words: clipper" in done.stdout
    assert not any(line.startswith("left ") for line in rest)
    quiet = two("compare", "after", "before", "--news", "--exit-code")
    assert quiet.stdout.startswith("NEW: no topic\n")
    assert "gone: clipper" in quiet.stdout


@pytest.mark.parametrize(
    ("train", "compare", "mails"), [(0, 1, True), (0, 0, False), (0, 66, False), (85, 1, False)]
)
def test_the_recipe_for_cron_mails_only_news(tmp_path, train, compare, mails):
    """Red with: the news of last week mailed again after a failed training; errors mailed as news."""
    page = (ROOT / "docs/compare.md").read_text("utf-8").partition("## Every week, by cron")[2]
    lines = [line for line in page.split("\n\n")[1].splitlines() if "first-weeks" not in line]
    (tmp_path / "sgmc").write_text(f"[ $1 = train ] && exit {train}; exit {compare}")
    (tmp_path / "mail").write_text("touch mailed")
    for name in ("sgmc", "mail"):
        (tmp_path / name).write_text("#!/bin/sh\n" + (tmp_path / name).read_text())
        (tmp_path / name).chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", "\n".join(lines)], cwd=tmp_path, env=env, check=False)
    assert (tmp_path / "mailed").exists() == mails


def test_news_of_a_continued_run_are_those_of_the_added_documents(two, tmp_path):
    """Red with: topics of both runs compared, which differ by chance if few documents are added;
    documents counted from the wrong end; an exit code for new topics alone.
    """
    import numpy as np

    rng = np.random.default_rng(1)
    themes = [[f"{name}{i}" for i in range(12)] for name in ("sea", "bread", "clipper")]
    lines = [" ".join(rng.choice(themes[d % 2], 30)) for d in range(140)]
    lines += [" ".join(rng.choice(themes[2 * (d % 2)], 30)) for d in range(80)]
    usual = (
        "--algo",
        "gibbs",
        "--set",
        "burn-in=20",
        "--iterations",
        "60",
        "--max-df",
        "1.0",
        "-q",
    )
    parts = {"first": lines[:80], "news": lines[140:], "quiet": lines[80:140]}
    for name, texts in parts.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(texts))
    two("train", tmp_path / "first.txt", "-k", "3", *usual, "--out", "sgmc-runs/first")
    for name in ("news", "quiet"):
        continued = ("--from", "first", "--iterations", "60", "-q", "--out", f"sgmc-runs/{name}")
        two("train", tmp_path / f"{name}.txt", *continued)
    done = two("compare", "news", "--news", "--exit-code", code=1).stdout
    assert done.startswith("NEW: clipper")
    assert "faded (1)\n" in done
    assert "faded: bread" in two("compare", "news").stdout
    assert "new words: clipper" in done
    added = json.loads(two("compare", "news", "--json").stdout)["added"]
    assert (added["documents"], added["before"], added["column"]) == (80, 80, None)
    assert two("compare", "quiet", "--news", "--exit-code").stdout.startswith("NEW: no topic\n")


def test_json_tells_of_every_topic(two):
    found = json.loads(two("compare", "bible-scir", RIGHT, "--json", "--top", "6").stdout)
    assert {k for t in found["topics"] for k in t["left"]} == set(range(8))
    assert {k for t in found["topics"] for k in t["right"]} == set(range(12))
    for topic in found["topics"]:
        assert 0 <= topic["overlap"] <= 1
        sides = [("left", topic["only_left"]), ("right", topic["only_right"])]
        for side, own in sides:
            assert len(topic["both"]) + len(own) == 6 * bool(topic[side])
    own = [json.loads(two("eval", run, "--json").stdout)["perplexity"] for run in (LEFT, RIGHT)]
    assert [found["score"]["left"], found["score"]["right"]] == own
    assert found["score"]["low"] < found["score"]["difference"] < found["score"]["high"]


def test_a_page_is_written_once(two, tmp_path):
    page = tmp_path / "page.html"
    done = two("compare", LEFT, RIGHT, "--html", page)
    assert done.stderr.splitlines()[-1] == f"{page}: {page.stat().st_size / 1000:.0f} kB"
    refused = two("compare", LEFT, RIGHT, "--html", page, code=73)
    assert "is there already; --force replaces it" in refused.stderr
    before = page.read_bytes()
    two("compare", LEFT, RIGHT, "--html", page, "--force", "-q")
    assert page.read_bytes() == before


def test_names_are_carried_to_the_same_topics(two, tmp_path):
    """A copy of a run has the same topics: every name goes on to its own number."""
    copy = tmp_path / "copy"
    shutil.copytree(two.folder / LEFT, copy)
    named = tmp_path / "named"
    shutil.copytree(two.folder / LEFT, named)
    (named / "labels.json").write_text('{"1": "kings", "5": "gospel"}')
    (copy / "labels.json").write_text('{"5": "mine"}')
    done = two("compare", named, copy, "--carry-labels")
    assert f"{copy}/labels.json: 1 name copied" in done.stderr
    assert (
        "existing names are unchanged: 5 'mine'; replace them with --replace-labels" in done.stderr
    )
    assert json.loads((copy / "labels.json").read_text()) == {"1": "kings", "5": "mine"}
    assert "kings" in two("topics", copy).stdout
    two("compare", named, copy, "--replace-labels", "-q")
    assert json.loads((copy / "labels.json").read_text()) == {"1": "kings", "5": "gospel"}


def test_runs_without_samples_and_of_other_families_are_compared(two):
    """What was compared instead is said. Red with: current topics taken without a word."""
    two.train("--algo", "ovb", "-k", "5", "--iterations", "3", out="ovb", base=())
    short = ("--iterations", "20", "--minibatch", "25", "-q")
    two.train("--model", "sam", "-k", "4", *short, out="sam", base=())
    two.train("--layers", "6,3", *short, out="deep", base=())
    done = two("compare", "ovb", LEFT)
    assert (
        "For the left run, the current topics are compared, because ovb has no samples."
        in done.stdout
    )
    directions = json.loads(two("compare", "sam", LEFT, "--json").stdout)
    assert directions["signed"] is True
    assert directions["score"] is None
    deep = json.loads(two("compare", LEFT, "deep", "--layer", "1,2", "--json").stdout)
    assert (deep["left"]["layer"], deep["right"]["layer"]) == (1, 2)
    assert deep["right"]["topics"] == 3


def test_the_latest_week_of_one_run_is_compared_with_the_time_before(two, tmp_path):
    """Red with: the period counted from the first date; words of the period that were there before
    called new; every difference called a change, as with shuffled dates.
    """
    import numpy as np

    rng = np.random.default_rng(4)
    themes = [[f"{name}{i}" for i in range(12)] for name in ("sea", "bread", "clipper")]
    days = [f"2026-03-{1 + d % 28:02}" for d in range(336)]
    new = [day > "2026-03-21" and d % 3 == 0 for d, day in enumerate(days)]
    texts = [" ".join(rng.choice(themes[2 if new[d] else d % 2], 30)) for d in range(336)]
    usual = ("--algo", "gibbs", "-k", "3", "--iterations", "40", "--max-df", "1.0", "-q")
    last = [day > "2026-03-21" for day in days]
    # 11 of 84 documents and 17 of 252: twice as many, but not surely more
    orders = (np.random.default_rng(seed).permutation(336) for seed in range(1_000))
    shuffled = next(
        o for o in orders if sum(new[i] for i, late in zip(o, last, strict=True) if late) == 11
    )
    for name, order in (("week", range(336)), ("shuffled", shuffled)):
        rows = [{"day": day, "text": texts[i]} for day, i in zip(days, order, strict=True)]
        file = tmp_path / f"{name}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        two("train", file, *usual, "--out", f"sgmc-runs/{name}")
    done = two("compare", "week", "--exit-code", code=1)
    shown = " ".join(done.stdout.split())
    assert "day: 84 documents from 2026-03-22 to 2026-03-28, compared with 252" in shown
    assert "\nNEW: clipper" in done.stdout
    assert "new words: clipper" in done.stdout
    assert "sea" not in done.stdout.partition("new words: ")[2]
    record = json.loads(two("compare", "week", "--json").stdout)
    assert [topic["change"] for topic in record["topics"]].count("new") == 1
    assert (record["days"], record["documents"], record["before"]) == (7, 84, 252)
    quiet = two("compare", "shuffled", "--news", "--exit-code").stdout
    assert quiet.startswith("NEW: no topic\nsteady (3)\n")


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ((LEFT,), 2, "continues no other run, and no date column"),
        ((LEFT, "--top", "5"), 2, "--top compares two runs, but "),
        ((LEFT, LEFT, LEFT), 2, "give two runs to compare, not 3"),
        ((LEFT, "bible-scir"), 2, "a run cannot be compared with itself; give two different runs"),
        ((LEFT, "nothing"), 66, "nothing: is not a run"),
        ((LEFT, RIGHT, "--layer", "1,2"), 2, "has 1 layer"),
        ((LEFT, RIGHT, "--layer", "1,2,3"), 2, "--layer: '1,2,3' has more than two layers"),
        ((LEFT, RIGHT, "--open"), 2, "require --html FILE.html"),
        ((LEFT, RIGHT, "--html", "."), 73, ".: is a folder"),
        ((LEFT, RIGHT, "--carry-labels"), 66, "no topic has a name that can be copied"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(two, monkeypatch, capsys, args, code, said):
    monkeypatch.chdir(two.folder)
    with pytest.raises(SystemExit) as ended:
        main(["compare", *args, "-q"])
    assert ended.value.code == code
    line = capsys.readouterr().err
    assert said in line
    assert len(line.splitlines()) == 1


def test_a_run_that_trains_is_compared_and_one_without_checkpoint_refused(two, tmp_path):
    for name in ("running", "bare"):
        shutil.copytree(two.folder / LEFT, tmp_path / name)
    status = json.loads((tmp_path / "running" / "status.json").read_text())
    (tmp_path / "running" / "status.json").write_text(json.dumps(status | {"state": "running"}))
    said = two("compare", tmp_path / "running", RIGHT).stdout.replace("\n  ", " ")
    assert "The left run is still training; its newest checkpoint is compared." in said
    shutil.rmtree(tmp_path / "bare" / "checkpoints")
    refused = two("compare", LEFT, tmp_path / "bare", code=76)
    assert "has no checkpoint yet" in refused.stderr
