"""``train --from``: topics that continue on a larger corpus."""

import json

import numpy as np
import pytest

from pysgrld.cli import main
from pysgrld.reading.find_runs import open_run

pytestmark = pytest.mark.cli

K, V, NEW = 3, 60, 20
#: Ends soon; no exact draws, which the state that they begin with decides.
FAST = ("--exact-sweeps", "0", "--holdout", "20", "--max-df", "1.0", "--min-df", "1", "-q")
#: Also without short chains, where it does not matter which topics are found.
QUICK = ("--set", "starts=1", *FAST)


@pytest.fixture(scope="module")
def texts():
    """Write documents of three themes, and later ones with a fourth theme that has its own words."""
    rng = np.random.default_rng(4)
    words = [f"w{i}" for i in range(V)] + [f"neu{i}" for i in range(NEW)]
    themes = [np.arange(20 * k, 20 * k + 20) for k in range(K)] + [np.arange(V, V + NEW)]

    def document(theme):
        return " ".join(words[w] for w in rng.choice(themes[theme], 25))

    old = [document(n % K) for n in range(240)]
    new = [document([0, 1, 3][n % 3]) for n in range(240)]
    return old, new


@pytest.fixture(scope="module")
def parent(texts, tmp_path_factory):
    """A folder with both parts of the corpus, and a run on the first part with one named topic."""
    folder = tmp_path_factory.mktemp("grown")
    for name, lines in zip(("old", "new"), texts, strict=True):
        (folder / f"{name}.txt").write_text("\n".join(lines))
    run("train", folder / "old.txt", "-k", K + 1, "--iterations", 200, *FAST, "--out", folder / "a")
    # the largest theme, not the topic without a theme
    largest = int(np.argmax(open_run(folder / "a", 1).weights()))
    (folder / "a" / "labels.json").write_text(json.dumps({str(largest): "second"}))
    return folder


def run(*args, code=0):
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in args])
    assert (ended.value.code or 0) == code


def goes_on(parent, out, *more, code=0, name="new.txt"):
    options = ("--iterations", 250, *FAST, "--out", out)
    run("train", "--from", parent / "a", parent / name, *options, *more, code=code)
    return None if code else open_run(out, 1)


def overlaps(one, two):
    """Return the overlap of topics with the same number, over the words of the first run."""
    a, b = (r.phi()[: len(one.vocabulary), : K + 1].T for r in (one, two))
    return np.minimum(a, b).sum(axis=1)


def test_topics_go_on_with_their_numbers_and_new_words_get_theirs(parent, tmp_path):
    """Red with: topics from nothing; rows of new words among the old ones; old documents left out."""
    found, before = goes_on(parent, tmp_path / "b"), open_run(parent / "a", 1)
    n = len(before.vocabulary)
    assert found.vocabulary[:n] == before.vocabulary
    assert set(found.vocabulary[n:]) == {f"neu{i}" for i in range(NEW)}
    assert np.sort(overlaps(before, found))[-K:].min() > 0.9
    # the new theme has a topic by itself
    new = found.phi()[n:, : K + 1].sum(axis=0)
    assert new.max() > 0.95
    corpus = found.training_corpus()
    assert corpus.documents == 480
    assert found.labels == before.labels != {}
    record = found.run.config["parent"]
    assert record["run"] == str(parent / "a")
    assert record["corpus"] == before.run.config["corpus"]["fingerprint"]
    assert corpus.about.ids(np.array([0, 240])) == ["old.txt:1", "new.txt:1"]


def test_only_new_documents_count_if_asked(parent, tmp_path):
    found = goes_on(parent, tmp_path / "b", "--only-new")
    assert found.training_corpus().documents == 240
    before = open_run(parent / "a", 1)
    assert found.vocabulary[: len(before.vocabulary)] == before.vocabulary
    # a theme that no new document has is left to the prior, or to the theme that came
    assert np.sort(overlaps(before, found))[-2:].min() > 0.9


@pytest.mark.parametrize(
    ("half_life", "stay"),
    [
        (240, 120),
        *(pytest.param(*case, marks=pytest.mark.nightly) for case in ((80, 30), (10_000, 236))),
    ],
)
def test_old_documents_fade_by_halves(parent, tmp_path, half_life, stay):
    """Red with: the first documents left out instead of any; new ones among those left out."""
    found = goes_on(parent, tmp_path / "b", "--set", f"forget={half_life}", "--iterations", 50)
    corpus = found.training_corpus()
    assert corpus.documents == stay + 240
    old = (parent / "old.txt").read_text().split("\n")
    new = (parent / "new.txt").read_text().split("\n")
    texts = corpus.about.texts(np.arange(corpus.documents))
    assert texts[stay:] == new
    places = [old.index(text) for text in texts[:stay]]
    assert places == sorted(set(places))
    assert abs(np.mean(places) - 119.5) < 4 * 69 / np.sqrt(stay)
    assert corpus.about.ids(np.arange(stay)) == [f"old.txt:{place + 1}" for place in places]
    assert found.run.config["parent"]["forget"] == half_life


def test_a_corpus_that_forgets_is_another_and_the_same_each_time(parent, tmp_path):
    """Red with: a corpus that is taken for one that forgets nothing; other documents each time."""
    first = goes_on(parent, tmp_path / "b", "--set", "forget=240", "--iterations", 5)
    again = goes_on(parent, tmp_path / "c", "--set", "forget=240", "--iterations", 5)
    all_of_them = goes_on(parent, tmp_path / "d", "--iterations", 5)
    assert first.run.config["corpus"]["fingerprint"] == again.run.config["corpus"]["fingerprint"]
    assert all_of_them.training_corpus().documents == 480
    goes_on(parent, tmp_path / "b", "--iterations", 6, code=78)


@pytest.mark.parametrize("typed", [(), ("--from", "a", "--only-new")])
def test_forgetting_is_of_documents_of_another_run(parent, typed, capsys):
    run("train", parent / "new.txt", *typed, "--set", "forget=5", code=2)
    assert "--set forget requires --from RUN" in capsys.readouterr().err


def test_a_run_that_goes_on_is_found_again(parent, tmp_path, capsys, monkeypatch):
    """Red with: a corpus that is read anew; a run without --from that takes the grown corpus."""
    monkeypatch.chdir(tmp_path)
    asked = ("train", "--from", parent / "a", parent / "new.txt", *FAST[:-1])
    asked += ("--out", "run")
    run(*asked, "--iterations", 60)
    assert "240 new documents" in capsys.readouterr().err
    run(*asked, "--iterations", 60)
    said = capsys.readouterr().err
    assert "new documents" not in said
    assert "already finished" in said
    run("train", "--resume", "run", "--iterations", 70)
    assert "resumes from iteration 60" in capsys.readouterr().err
    run("train", parent / "new.txt", "-k", K + 1, *QUICK, "--out", "run", code=78)
    assert "  from: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "sampler",
    [
        *("--algo gibbs", "--set lazy=on"),
        *(  # those that a family has twice
            pytest.param(sampler, marks=pytest.mark.nightly)
            for sampler in (
                "--algo sgrld",
                "--algo smld",
                "--algo cgs",
                "--algo ovb",
                "--eta 0.001",
                "--set warm-up=0",
                "--alpha learn --eta learn",
            )
        ),
    ],
)
def test_topics_go_on_under_any_sampler(parent, tmp_path, sampler):
    """Red with: a step of infinite length, after which rows that wait never come to their time."""
    parts = sampler.split()
    kind = () if "--algo" in parts else ("--algo", "scir")
    asked = ("-k", K + 1, "--iterations", 200, *FAST, *kind, *parts, "--out", tmp_path / "p")
    run("train", parent / "old.txt", *asked)
    more = ("--iterations", 40, *FAST, "--out", tmp_path / "b")
    run("train", "--from", tmp_path / "p", parent / "new.txt", *more)
    before, after = open_run(tmp_path / "p", 1), open_run(tmp_path / "b", 1)
    assert after.options.algo == before.options.algo
    assert np.sort(overlaps(before, after))[-K:].min() > 0.8


def test_stopped_and_killed_it_ends_with_the_same_bits(sgmc, parent, tmp_path):
    """Red with: a start that is made anew; topics of the parent that are not saved at once."""
    more = ("--from", str(parent / "a"), *FAST[:-1], "--iterations", "120")
    base = ("--checkpoint-every", "20")
    corpus = str(parent / "new.txt")
    sgmc("train", corpus, *more, "--out", "whole")
    arguments = ("train", corpus, *more, *base, "--out", "run", "--eval-every", "40")
    sgmc.kill_at("commit.rename:4", *arguments)
    said = sgmc("train", corpus, *more, "--out", "run")
    assert "resumes from iteration" in said.stderr
    assert sgmc.topics_hash() == sgmc.topics_hash("whole")


def test_from_latest_resumes_its_own_run_and_takes_no_file_twice(sgmc, parent):
    """Red with: the interrupted run of the same command continued, so that its file counts twice."""
    old, new = str(parent / "old.txt"), str(parent / "new.txt")
    first = ("train", old, "-k", str(K + 1), *QUICK, "--iterations", "60")
    sgmc(*first)
    command = ("train", "--from", "latest", new, *FAST[:-1], "--iterations", "100")
    sgmc.kill_at("commit.rename:2", *command, "--checkpoint-every", "30")
    refused = sgmc("train", "--from", "latest", old, *FAST, code=2).stderr
    assert "latest: sgmc-runs/new-scir is unfinished; finish it with" in refused
    assert "resumes from iteration" in sgmc(*command).stderr
    assert open_run(sgmc.folder / "sgmc-runs/new-scir", 1).training_corpus().documents == 480
    refused = sgmc(*command, code=2).stderr
    assert f"--from latest: {new} is already in sgmc-runs/new-scir; give new" in refused
    assert "already in" in sgmc("train", "--from", "old-scir", old, *FAST, code=2).stderr
    assert {path.name for path in (sgmc.folder / "sgmc-runs").iterdir()} == {
        *("latest", "old-scir", "new-scir")
    }


def test_from_latest_with_a_folder_finds_its_finished_run(parent, tmp_path, capsys, monkeypatch):
    """Red with: the run refused or continued by the command that made it."""
    monkeypatch.chdir(tmp_path)
    run("train", parent / "old.txt", "-k", K + 1, *QUICK, "--iterations", 60)
    command = ("train", "--from", "latest", parent / "new.txt", *FAST[:-1], "--iterations", 60)
    run(*command, "--out", "sgmc-runs/now")
    run(*command, "--out", "sgmc-runs/now")
    assert "already finished" in capsys.readouterr().err


def test_what_cannot_go_on_is_refused_in_a_line(parent, tmp_path, capsys):
    """Red with: a traceback; another number of topics; a parent that has moved on."""
    goes_on(parent, tmp_path / "b", "-k", "7", code=2)
    assert "-k 7: the run continues the" in capsys.readouterr().err
    run("train", "--from", parent / "a", code=2)
    assert "new documents are missing; give" in capsys.readouterr().err
    run("train", parent / "new.txt", "--only-new", code=2)
    assert "--only-new requires --from RUN" in capsys.readouterr().err
    run("train", "--from", "nothing", parent / "new.txt", code=66)
    run("train", "--from", parent / "a", "-", code=2)
    assert "twice" in capsys.readouterr().err
    (tmp_path / "chains").mkdir()
    chains = ("--chains", 2, "--iterations", 10, *QUICK, "--out", tmp_path / "c")
    run("train", parent / "old.txt", "-k", 3, *chains)
    run("train", "--from", tmp_path / "c", parent / "new.txt", code=2)
    assert "give one of them" in capsys.readouterr().err


def test_a_parent_that_was_trained_on_is_another_one(parent, tmp_path, capsys):
    run("train", parent / "old.txt", "-k", 3, "--iterations", 60, *QUICK, "--out", tmp_path / "p")
    asked = ("train", "--from", tmp_path / "p", parent / "new.txt", *FAST, "--out", tmp_path / "b")
    run(*asked, "--iterations", 60)
    run("train", "--resume", tmp_path / "p", "--iterations", 80, "-q")
    run(*asked, "--iterations", 80, code=78)
    assert "  from: " in capsys.readouterr().err
    run("train", "--resume", tmp_path / "b", "--iterations", 80, "-q")
    assert json.loads((tmp_path / "b" / "config.json").read_text())["parent"]["only_new"] is False


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    """Documents of three themes, all with words of a fourth, and then some in which one is another.

    The last theme of the second part keeps a share of its former words: few, or most of them.
    """
    folder = tmp_path_factory.mktemp("stream")
    rng = np.random.default_rng(11)
    themes = [[f"w{20 * k + i}" for i in range(20)] for k in range(K)]
    other = [f"neu{i}" for i in range(20)]

    def document(k, share):
        words = [w if rng.random() < share else o for w, o in zip(themes[k], other, strict=True)]
        return " ".join(rng.choice(words if k == 2 else themes[k], 25))

    for name, share in {"old": 1.0, "few": 0.2, "most": 0.8}.items():
        lines = [document(n % K, share) for n in range(300)]
        (folder / f"{name}.txt").write_text("\n".join(lines))
    run("train", folder / "old.txt", "-k", K, "--iterations", 400, *FAST, "--out", folder / "a")
    names = {str(k): f"name {k}" for k in range(K)}
    (folder / "a/labels.json").write_text(json.dumps(names))
    return folder


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.nightly) for n in (2, 3))])
@pytest.mark.parametrize("name", ["few", "most"])
def test_a_topic_that_is_replaced_loses_its_name_and_is_new(stream, tmp_path, capsys, seed, name):
    """One theme of three keeps a fifth of its words, or four fifths.

    Red with: names that are copied whatever becomes of topics; an overlap of 0.1 or 0.9 for 0.5, below
    which a topic is another one; partners by the numbers of topics alone.
    """
    out = tmp_path / "b"
    run(
        *("train", "--from", stream / "a", stream / f"{name}.txt", "--only-new", "--seed", seed),
        *("--iterations", 250, *FAST, "--out", out),
    )
    said = capsys.readouterr().err
    before, after = open_run(stream / "a", 1), open_run(out, 1)
    words = [before.vocabulary[w] for w in before.phi()[:, :K].argmax(axis=0)]
    (theme,) = (k for k, word in enumerate(words) if int(word[1:]) >= 40)
    replaced = [theme] if name == "few" else []
    assert after.former.replaced == replaced
    share = 0.2 if name == "few" else 0.8
    assert abs(after.former.overlaps[theme] - share) < 0.2
    assert np.delete(after.former.overlaps, theme).min() > 0.85
    assert after.labels == {k: f"name {k}" for k in range(K) if k not in replaced}
    assert (f"topic {theme} " in said or f"{theme} 'name {theme}'" in said) == bool(replaced)

    run("topics", out, "--json")
    shown = json.loads(capsys.readouterr().out)["topics"]
    assert [t["id"] for t in shown if not t["named"]] == replaced
    run("compare", stream / "a", out, "--json")
    kinds = {
        (t["kind"], *t["left"], *t["right"]) for t in json.loads(capsys.readouterr().out)["topics"]
    }
    pairs = {("one to one", k, k) for k in range(K) if k not in replaced}
    assert kinds == pairs | {(kind, k) for kind in ("gone", "new") for k in replaced}

    # a name that the user gave to the new topic is kept
    (out / "labels.json").write_text(json.dumps({str(theme): "another"}))
    assert open_run(out, 1).labels == {theme: "another"}


def test_former_topics_that_were_changed_are_refused_by_name(stream, tmp_path, capsys):
    """Red with: names by topics that nobody has trained."""
    out = tmp_path / "b"
    run(
        *("train", "--from", stream / "a", stream / "most.txt", "--only-new"),
        *("--iterations", 10, *FAST, "--out", out),
    )
    path = out / "former-topics.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    run("topics", out, code=76)
    assert "former-topics.safetensors: was changed" in capsys.readouterr().err
    path.unlink()
    run("topics", out)
