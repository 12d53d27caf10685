import json
import time

import numpy as np
import pytest
from safetensors.numpy import load_file

from pysgrld.run.jsonio import read_lines

pytestmark = pytest.mark.cli

RUN = "sgmc-runs/bible-scir"


def parsed(done):
    """JSON from standard output, and nothing else there."""
    return json.loads(done.stdout, parse_constant=lambda name: pytest.fail(name))


def lines_of(trained, name):
    return [json.loads(line) for line in (trained.folder / RUN / name).read_text().splitlines()]


def test_the_two_lines_of_the_promise_work_as_typed(trained):
    done = trained("eval", "--perplexity")
    assert done.stderr == ""
    for word in ("perplexity", "point perplexity", "unigram"):
        assert f"  {word} " in done.stdout


def test_eval_gives_the_runs_own_figures(trained):
    found, last = parsed(trained("eval", "--json")), lines_of(trained, "metrics.jsonl")[-1]
    shared = ("perplexity", "perplexity_se", "point_perplexity", "unigram_perplexity", "samples")
    for name in (*shared, "iteration"):
        assert found[name] == last[name]
    assert found["observed_fraction"] == 0.8
    assert (found["documents"], found["seed"]) == (29, 0)
    for name, gap in found["differences"].items():
        assert gap["difference"] == found["perplexity"] - found[name]
        assert 0 < gap["se"] < found[f"{name}_se"]
    assert len(found["differences"]) == 2
    assert found["perplexity"] < found["point_perplexity"] < found["unigram_perplexity"]


def test_eval_of_the_runs_split_given_by_others_agrees(trained):
    """Same documents, samples and keys: all samples are kept here, so the average is the same."""
    own = parsed(trained("eval", "--json"))
    parts = [f"{RUN}/holdout/{name}" for name in ("observed", "held-out")]
    again = parsed(
        trained("eval", "--observed-corpus", parts[0], "--held-out-corpus", parts[1], "--json")
    )
    assert again["point_perplexity"] == own["point_perplexity"]
    assert again["unigram_perplexity"] == own["unigram_perplexity"]
    assert again["held_out_tokens"] == own["held_out_tokens"]
    assert again["samples"] == own["samples"]
    assert again["perplexity"] == pytest.approx(own["perplexity"], rel=1e-12)
    assert again["observed_fraction"] == pytest.approx(0.8, abs=0.01)


def test_eval_on_another_corpus_splits_by_seed_and_share(trained, quarter):
    first = parsed(trained("eval", "--corpus", quarter, "--json"))
    assert (first["documents"], first["observed_fraction"], first["seed"]) == (298, 0.8, 0)
    again = parsed(trained("eval", "--corpus", quarter, "--json", "--threads", "1"))
    assert again == first
    other = parsed(trained("eval", "--corpus", quarter, "--json", "--seed", "7"))
    assert other["perplexity"] != first["perplexity"]
    half = parsed(trained("eval", "--corpus", quarter, "--json", "--observed", "0.5"))
    assert half["held_out_tokens"] == pytest.approx(49_371 / 2, rel=0.01)


def test_eval_counts_unknown_words_and_documents_that_cannot_be_split(trained, tmp_path):
    (tmp_path / "new.txt").write_text("lord god israel\nlord\nxyzzy xyzzy\ngod king david\n")
    done = trained("eval", "--corpus", tmp_path / "new.txt", "--json")
    found = parsed(done)
    assert (found["documents"], found["dropped"]) == (2, 2)
    assert "2 of 9 tokens ignored: not among the " in done.stderr
    trained("eval", "--corpus", tmp_path / "new.txt", "-q")


def test_eval_before_the_first_sample_scores_the_current_topics(sgmc):
    warned = "training ends after 15 iterations, before the first posterior sample (iteration 25)"
    assert warned in sgmc.train("--iterations", "15").stderr
    found = parsed(sgmc("eval", "run", "--json"))
    assert found["samples"] == 0
    assert found["perplexity"] == found["point_perplexity"]
    assert "no posterior sample yet" in sgmc("eval", "run").stdout
    assert "current topics" in sgmc("topics", "run").stderr
    sgmc("export", "run", "--to", "npy", "-o", "all", "--draw", "all", code=66)


def test_eval_coherence(trained):
    found = parsed(trained("eval", "--coherence", "--json"))
    assert "perplexity" not in found
    assert found["coherence"]["documents"] == 269  # the documents used for training
    topics = found["coherence"]["topics"]
    assert [t["id"] for t in topics] == list(range(8))
    assert found["coherence"]["npmi"] == pytest.approx(np.mean([t["npmi"] for t in topics]))
    assert all(-1 <= t["npmi"] <= 1 for t in topics)
    assert "mean" in trained("eval", "--coherence").stdout
    both = parsed(trained("eval", "--coherence", "--perplexity", "--json"))
    assert {"perplexity", "coherence"} <= set(both)


def test_topics_as_json(trained):
    found = parsed(trained("topics", "--top", "4", "--words", "probable", "--json"))
    assert found["samples"] == 8
    topics = found["topics"]
    assert [t["id"] for t in topics] == list(range(8))
    assert sum(t["weight"] for t in topics) == pytest.approx(1)
    for topic in topics:
        probabilities = [w["probability"] for w in topic["words"]]
        assert len(probabilities) == 4
        assert probabilities == sorted(probabilities, reverse=True)


def test_topics_are_the_rows_of_the_export(trained, tmp_path):
    trained("export", "--to", "npy", "-o", tmp_path)
    phi = np.load(tmp_path / "topics.npy")
    words = (tmp_path / "vocab.txt").read_text().splitlines()
    for topic in parsed(trained("topics", "--words", "probable", "--json"))["topics"]:
        order = np.argsort(-phi[topic["id"]], kind="stable")[:10]
        assert [w["word"] for w in topic["words"]] == [words[i] for i in order]


def test_topics_as_text_keep_to_the_width(trained):
    done = trained("topics", env={"COLUMNS": "70", "LC_ALL": "C.UTF-8"})
    assert done.stderr == ""
    assert max(map(len, done.stdout.splitlines()[2:])) <= 70


def test_a_tree_of_one_layer_is_refused(trained):
    """Red with: a list of all topics for a tree."""
    done = trained("topics", "--tree", code=2)
    assert (
        "do not use other topics; leave it out, or train a deep model with --layers" in done.stderr
    )
    assert done.stderr.count("\n") == 1


def test_export(trained, tmp_path):
    for draw, shape in (("mean", (8, 1000)), ("last", (8, 1000)), ("all", (8, 8, 1000))):
        trained("export", "--to", "npy", "-o", tmp_path / draw, "--draw", draw)
        found = np.load(tmp_path / draw / "topics.npy")
        assert (found.shape, found.dtype) == (shape, np.float32)
        np.testing.assert_allclose(found.sum(axis=-1), 1, atol=1e-5)
    mean, draws = (np.load(tmp_path / name / "topics.npy") for name in ("mean", "all"))
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=1e-6)
    words = (tmp_path / "mean" / "vocab.txt").read_bytes()
    assert words == (trained.folder / RUN / "vocab.txt").read_bytes()


@pytest.mark.parametrize("draw", ["mean", "last", "all"])
def test_export_as_safetensors_is_the_same(trained, tmp_path, draw):
    for format in ("npy", "safetensors"):
        trained("export", "--to", format, "-o", tmp_path, "--draw", draw, "--force")
    tensors = load_file(tmp_path / "topics.safetensors")
    assert list(tensors) == ["topics"]
    np.testing.assert_array_equal(tensors["topics"], np.load(tmp_path / "topics.npy"))


def test_infer_gives_the_same_rows_in_every_format(trained, tmp_path, quarter):
    for suffix in ("npy", "csv", "jsonl"):
        done = trained("infer", quarter, "-o", tmp_path / f"theta.{suffix}")
        assert done.stdout == ""
    theta = np.load(tmp_path / "theta.npy")
    assert (theta.shape, theta.dtype) == ((298, 8), np.float32)
    np.testing.assert_allclose(theta.sum(axis=1), 1, atol=1e-5)
    table = np.loadtxt(tmp_path / "theta.csv", delimiter=",", skiprows=1)
    assert table[:, 0].tolist() == list(range(1, 299))  # ids
    np.testing.assert_allclose(table[:, 1:], theta, atol=1e-6)
    records = [json.loads(line) for line in (tmp_path / "theta.jsonl").read_text().splitlines()]
    assert [r["document"] for r in records] == list(range(298))
    np.testing.assert_allclose([r["topics"] for r in records], theta, atol=1e-6)


def test_infer_keeps_rows_of_documents_without_a_known_word(trained, tmp_path):
    (tmp_path / "new.txt").write_text("xyzzy plugh\nmoses aaron pharaoh egypt\n\nplugh\n")
    done = trained("infer", tmp_path / "new.txt")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["tokens"] for r in rows] == [0, 4, 0, 0]  # line d is row d, an empty line too
    assert rows[0]["topics"] == rows[2]["topics"] == [0.125] * 8
    assert max(rows[1]["topics"]) > 0.3
    assert "4 documents, 3 of them without a known word" in done.stderr


def test_infer_does_not_depend_on_threads(trained, quarter):
    one, two = (trained("infer", quarter, "--threads", n).stdout for n in (1, 2))
    assert one == two


def test_a_run_is_found_by_path_by_name_and_as_the_latest(trained):
    texts = {trained("topics", *run).stdout for run in ([], ["bible-scir"], [RUN])}
    assert len(texts) == 1


def test_corpus_build_and_info(sgmc, quarter):
    sgmc("corpus", "build", quarter, "-o", "built")
    sgmc("corpus", "build", "built", "-o", "copy")
    facts = [parsed(sgmc("corpus", "info", p, "--json")) for p in (quarter, "built", "copy")]
    assert {f["fingerprint"] for f in facts} == {facts[0]["fingerprint"]}
    assert facts[0]["documents"] == 298
    text = sgmc("corpus", "info", "built").stdout
    assert "298" in text
    assert "lord" in text
    sgmc("corpus", "build", quarter, "-o", "built", code=73)
    assert sorted(p.name for p in sgmc.folder.iterdir()) == ["built", "copy"]


def test_a_run_on_a_built_corpus_finds_it_from_anywhere(sgmc, quarter, tmp_path_factory):
    sgmc("corpus", "build", quarter, "-o", "built")
    sgmc("train", "built", "-k", "4", "--set", "starts=1", "--iterations", "3", "--out", "run")
    elsewhere = type(sgmc)(tmp_path_factory.mktemp("elsewhere"))
    elsewhere("eval", sgmc.folder / "run", "--coherence")


def test_checkpoint_commands(trained):
    found = parsed(trained("checkpoint", "list", "--json"))["checkpoints"]
    assert found[-1]["step"] == 60
    shown = parsed(trained("checkpoint", "show", "--json"))
    assert shown["arrays"]["phi.g"]["shape"][0] == 1000
    assert parsed(trained("checkpoint", "verify", "--json"))["checkpoints"][0]["verified"]
    for action in ("list", "show", "verify"):
        assert trained("checkpoint", action).stderr == ""
    trained("checkpoint", "show", "--step", "3", code=66)


# ---- what training says


def test_training_says_nothing_on_standard_output(sgmc):
    done = sgmc.train("--eval-every", "20")
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert all(line[:2] == "20" and line[19:21] == "Z " for line in lines)
    named = [line.split("  ")[-1].strip() for line in lines[-4:]]
    assert named == [
        "sgmc topics run",
        "sgmc report --open run",
        "sgmc eval run",
        "sgmc diagnose run",
    ]
    evaluations = [line for line in lines if "iteration 20," in line or "iteration 60," in line]
    assert len(evaluations) == 2
    assert all("unigram" in line for line in evaluations)
    assert "\r" not in done.stderr


def test_quiet_training_says_nothing(sgmc):
    done = sgmc.train("-q")
    assert done.stdout == done.stderr == ""


def test_quiet_does_not_silence_warnings(sgmc):
    """Red with: warnings printed as notes are."""
    done = sgmc.train("-q", "--holdout", "2", "--iterations", "3", "--set", "burn-in=50")
    lines = done.stderr.splitlines()
    assert any("before the first posterior sample" in line for line in lines)
    assert all("warning: " in line for line in lines)


def test_documents_without_a_known_word_are_warned_of_even_when_quiet(trained):
    """Red with: rows of 1/K and nothing said."""
    (trained.folder / "unknown.txt").write_text("zzz qqq\nxxx\n")
    done = trained("infer", RUN, "unknown.txt", "-q", "-o", "-")
    assert done.stderr.splitlines() == [
        "warning: no document has a word of the run's vocabulary, so all rows are equal; check that "
        "corpus and run belong together"
    ]
    assert len(done.stdout.splitlines()) == 2


def test_json_log_is_a_json_object_a_line(sgmc):
    done = sgmc.train("--json-log", "--eval-every", "20")
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert {"started", "evaluation", "finished"} <= {e["event"] for e in events}
    assert [e["iteration"] for e in events if e["event"] == "evaluation"] == [20, 40, 60]


def test_verbose_training_names_every_option(sgmc):
    assert "--eta 0.05" in sgmc.train("-v", "--iterations", "2").stderr


def test_without_held_out_documents_eval_asks_for_some(sgmc, quarter):
    done = sgmc.train("--holdout", "0", "--iterations", "3")
    assert "sgmc eval" not in done.stderr
    assert "  sgmc report --open run\n" in done.stderr, "what to look at is said"
    assert "--corpus" in sgmc("eval", "run", code=2).stderr
    sgmc("topics", "run")
    sgmc("eval", "run", "--corpus", quarter)


def test_a_finished_run_is_left_as_it_is(sgmc):
    sgmc.train()
    state = read_lines(sgmc.folder / "run" / "log.jsonl")
    assert "already finished" in sgmc.train().stderr
    assert read_lines(sgmc.folder / "run" / "log.jsonl") == state


def test_reading_a_run_that_is_being_trained(sgmc, quarter):
    with sgmc.start(
        "train",
        quarter,
        "-k",
        "8",
        "--set",
        "starts=1",
        "--iterations",
        "1000000",
        "--checkpoint-every",
        "10",
        "--out",
        "run",
        "-q",
    ) as process:
        end = time.monotonic() + 240
        while not list(sgmc.folder.glob("run/checkpoints/step-*")):
            assert time.monotonic() < end
            time.sleep(0.05)
        for _ in range(2):
            for command in (["topics"], ["eval"], ["infer", "-q"]):
                sgmc(*command, "run", *([quarter] if "infer" in command else []))
        process.terminate()
        assert process.wait(timeout=60) == 85


NEW = "new.jsonl"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("infer", RUN, NEW, "-o", NEW), "is an input"),
        (("infer", RUN, NEW, "-o", f"./{RUN}/../bible-scir/../../{NEW}"), "is an input"),
        (("infer", RUN, NEW, "-o", f"{RUN}/metrics.jsonl"), "belongs to the run"),
        (("report", RUN, "-o", f"{RUN}/config.json"), "belongs to the run"),
        (("report", RUN, "-o", "page.html", "--json", f"{RUN}/samples/x"), "belongs to the run"),
        (("export", RUN, "--to", "npy", "-o", RUN), "vocab.txt: belongs to the run"),
        (("export", RUN, "--to", "npy", "-o", f"{RUN}/corpus"), "belongs to the run"),
        (("infer", RUN, NEW, "-o", "linked.csv"), "belongs to the run"),
        (("corpus", "phrases", NEW, "-o", NEW), "is an input"),
    ],
)
def test_no_output_is_put_over_an_input_or_over_what_a_run_is_made_of(trained, command, said):
    """Not even with --force. Red with: names compared as they are typed; links not followed."""
    folder = trained.folder
    text = json.dumps({"text": "king of israel " * 9}) + "\n"
    (folder / NEW).write_text(text)
    if not (folder / "linked.csv").is_symlink():
        (folder / "linked.csv").symlink_to(folder / RUN / "vocab.txt")
    before = {p: p.read_bytes() for p in (folder / RUN).rglob("*") if p.is_file()}
    done = trained(*command, "--force", code=73)
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert (folder / NEW).read_text() == text
    assert {p: p.read_bytes() for p in (folder / RUN).rglob("*") if p.is_file()} == before
