"""One chain over ranks of a real MPI: identical bits for any number of ranks, and faults."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys

import fork_server
import pytest
from faults import ranks
from faults_runs import write_corpus

pytest.importorskip("mpi4py", reason="no mpi4py here: pip install mpi4py mpich")
if not ranks.MPIEXEC.exists():
    pytest.skip("no mpiexec of the mpich wheel here", allow_module_level=True)

#: Deep LDA, which has no short chains.
DEEP = {"topics": None, "starts": None, "layers": "20,8"}
#: What is sampled of documents is kept, by each rank of its own ones.
KEPT = {"algo": "gibbs", "minibatch": None, "warm_up": None}
#: Models and samplers whose counts are added up in ways of their own.
FORMS = {
    "plain": {},
    "one": {"topics": 1},
    "lazy": {"lazy": "on"},
    "many": {"topics": 150, "lazy": "on"},
    "deep": DEEP,
    "ovb": {"algo": "ovb", "warm_up": None, "burn_in": None},
    "sgrld": {"algo": "sgrld", "topics": 150, "counts": "sampled"},
    "sgrhmc": {"algo": "sgrhmc", "topics": 150},
    "gibbs": KEPT,
    "gibbs-learned": KEPT | {"alpha": "learn", "eta": "learn", "topics": 150},
    "gibbs-deep": KEPT | DEEP,
    "kept": {"keep_documents": "on", "minibatch": None},
    "kept-ovb": {"algo": "ovb", "warm_up": None, "burn_in": None}
    | {"keep_documents": "on", "minibatch": None},
    "exact": {"exact_sweeps": 6},  # whose sweeps are those of the first rank alone
}


#: Topics over so many words that each rank holds some: all rows are stepped, or those of a minibatch.
HELD = {
    "all": {"lazy": "off"},
    "lazy": {"lazy": "on", "topics": 130},
    "natural": {"lazy": "off", "cir_rate": "natural"},
    "eta": {"eta": "learn"},
    "sgrld": {"algo": "sgrld"},
    "sgrhmc": {"algo": "sgrhmc"},
    "ovb": {"algo": "ovb", "warm_up": None, "burn_in": None},
    "deep": DEEP,
    "few": {"topics": 150, "minibatch": 2},  # one of three has no documents
    "seeds": {"seed_words": "topics.txt", "lazy": "on"},
    "tlfsgr": DEEP | {"algo": "tlfsgr"},
    # every rank holds all, and reads other words again
    "tlasgr": {"algo": "tlasgr", "topics": 150, "starts": None},
    "gibbs": KEPT | {"topics": 130},
    "gibbs-eta": KEPT | {"eta": "learn"},
}


#: A run with the topics of another, on other documents.
CONTINUED = {"from": "run", "forget": 60, "iterations": 8, "corpus": "new.txt"}


def nightly_but(forms, *every_time):
    """Return the kinds of trials, some of which are tried every time."""
    return [
        form if form in every_time else pytest.param(form, marks=pytest.mark.nightly)
        for form in forms
    ]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A folder with a corpus, and the final state of an undisturbed single process."""
    folder = tmp_path_factory.mktemp("ranks")
    write_corpus(folder / "corpus.txt")
    ended = ranks.train(0, folder)
    assert ended.code == 0, ended
    return folder


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A folder with a corpus of 2,000 words, which is eight units of rows."""
    folder = tmp_path_factory.mktemp("wide")
    rng = random.Random(1)
    lines = (" ".join(f"w{rng.randint(0, 1999)}" for _ in range(90)) for _ in range(60))
    (folder / "corpus.txt").write_text("\n".join(lines) + "\n")
    (folder / "topics.txt").write_text("first: w5 w300 w900\nsecond: w1700\n")
    return folder


@pytest.fixture(scope="module")
def three(alone, wide):
    """What three ranks train one after the other, in the folders `alone` and `wide`, for a test each."""
    write_corpus(alone / "new.txt", seed=1)
    kept = FORMS["gibbs-learned"] | {"corpus": alone / "corpus.txt", "out": alone / "kept"}
    lazy = HELD["lazy"] | {"corpus": wide / "corpus.txt", "out": wide / "lazy"}
    for begun in (kept, lazy):  # of one process
        ended = ranks.train(0, alone, iterations=6, **begun)
        assert ended.code == 0, ended
    ended = ranks.train(3, alone, out="three", then=[CONTINUED | {"out": "next"}, kept, lazy])
    assert ended.code == 0, ended
    return alone


@pytest.fixture
def folder(alone, tmp_path):
    shutil.copy(alone / "corpus.txt", tmp_path)
    return tmp_path


def status(run):
    return json.loads((run / "status.json").read_text())


@pytest.mark.row(42)
@pytest.mark.parametrize(
    ("number", "threads"),
    [(3, 1), *(pytest.param(*case, marks=pytest.mark.nightly) for case in ((2, 2), (4, 1)))],
)
def test_any_number_of_ranks_writes_the_bytes_of_one_process(three, number, threads, trials):
    """Red with: minibatches scaled by the documents of a rank; a mean that is added to by all ranks."""
    out = three / "three"
    if (number, threads) != (3, 1):
        out = three / f"run-{number}-{threads}"
        ended = ranks.train(number, three, out=out, threads=threads)
        assert ended.code == 0, ended
    for step in (4, 8, 12):
        assert ranks.state(out, step) == ranks.state(three / "run", step)
    kept = sorted(p.name for p in (out / "samples").iterdir())
    assert kept == sorted(p.name for p in (three / "run" / "samples").iterdir())
    trials()


def short_chains(folder):
    """Return how many short chains each of three ranks trained."""
    return [len(list(folder.glob(f"short-{rank}-*"))) for rank in range(3)]


@pytest.mark.row(42)
def test_short_chains_are_dealt_to_the_ranks_and_begin_the_same_topics(folder, trials):
    """Red with: all of them left to the first rank; what they found in the order of ranks."""
    for number, out in ((0, "run-1"), (3, "run-3")):
        ended = ranks.train(number, folder, out=out, topics=12, starts=5, act=(0, "short", 0))
        assert ended.code == 0, ended
    assert short_chains(folder) == [2, 2, 1]
    assert "first topics from 5 short chains of 3 iterations on 3 ranks" in ended.said
    assert ranks.state(folder / "run-3") == ranks.state(folder / "run-1")
    trials()


@pytest.mark.row(42)
def test_a_stop_in_a_short_chain_of_one_rank_stops_all(folder, trials):
    """Red with: others that wait for the one who has stopped; a reason that nobody knows."""
    ended = ranks.train(2, folder, starts=16, act=(1, "short-stop", 2))
    assert ended.code == 85, ended
    assert "SIGTERM (rank 1): stopped before the first iteration" in ended.said
    assert short_chains(folder) == [3, 3, 0]  # of 16
    assert status(folder / "run")["state"] == "interrupted"
    stored = list(folder.glob("run/short-chains/part-*-step-00000003-*"))
    assert len(stored) == 4  # of the rounds before
    ended = ranks.train(2, folder, starts=16, act=(0, "short", 0))
    assert ended.code == 0, ended
    assert short_chains(folder) == [6, 6, 0]  # six more of each
    assert ranks.train(0, folder, out="one", starts=16).code == 0
    assert ranks.state(folder / "run") == ranks.state(folder / "one")
    trials()


@pytest.mark.row(42)
def test_a_short_chain_that_is_not_finite_lets_all_begin_at_random(folder, alone, trials):
    """Red with: a rank that leaves the others waiting; a start from the chains of the others."""
    ended = ranks.train(2, folder, starts=4, act=(1, "short-bad", 1))
    assert ended.code == 0, ended
    assert ranks.state(folder / "run") == ranks.state(alone / "run")
    trials()


@pytest.mark.row(42)
@pytest.mark.row(64)
@pytest.mark.parametrize("form", nightly_but(HELD, "all"))
def test_ranks_that_hold_topics_of_some_words_each_write_the_bytes_of_one_process(
    wide, form, trials
):
    """Over 50 words, as above, the first rank holds all. Looks at iterations 3, 6, 9 and 12.

    Red with: rows that the first rank looks at before others have sent them; bytes that are counted of
    one rank's rows, not of the messages to each other rank; counts of a rank's own words where all are
    needed, for rates, levels or a learned eta; rows of no words that have no shape; seeds of all words;
    rows that are brought in strips, without the last of a strip.
    """
    found = {}
    for out, number in ((f"{form}-1", 0), (f"{form}-3", 3)):
        pieces = {"act": (-1, "pieces", 0)} if form == "all" and number else {}
        ended = ranks.train(number, wide, out=out, eval_every=3, **HELD[form], **pieces)
        assert ended.code == 0, ended
        lines = [json.loads(s) for s in (wide / out / "metrics.jsonl").read_text().splitlines()]
        found[number] = [(x["iteration"], x["perplexity"], x["point_perplexity"]) for x in lines]
    for step in (4, 8, 12):
        assert ranks.state(wide / f"{form}-1", step) == ranks.state(wide / f"{form}-3", step)
    assert found[0] == found[3]
    assert [at for at, *_ in found[0]] == [3, 6, 9, 12]
    assert lines[-1]["moving_seconds"] > 0 or form in ("tlfsgr", "tlasgr")
    if form == "all":
        # two thirds of 4 bytes of topics and 8 of counts, of 290 words or so that a rank's documents have
        bytes_of_words = lines[-1]["exchange_bytes"] / (12 * 2 / 3 * 16)
        assert 12 * 250 < bytes_of_words < 12 * 330
    trials()


@pytest.mark.row(42)
def test_topics_that_ranks_hold_go_on_as_those_of_one_process(three, wide, trials):
    """Red with: rows that are dealt by another number of ranks; times of rows that wait lost."""
    ended = ranks.train(0, wide, out="lazy-whole", **HELD["lazy"])
    assert ended.code == 0, ended
    for step in (8, 12):
        assert ranks.state(wide / "lazy", step) == ranks.state(wide / "lazy-whole", step)
    trials()


@pytest.mark.row(42)
def test_documents_that_ranks_keep_go_on_as_those_of_one_process(three, trials):
    """Red with: a checkpoint that has the documents of the first rank alone; parts by another order.

    Red with: ranks that go on with documents of others; one that gives tokens their first topics anew.
    """
    ended = ranks.train(0, three, out="kept-whole", **FORMS["gibbs-learned"])
    assert ended.code == 0, ended
    for step in (8, 12):
        assert ranks.state(three / "kept", step) == ranks.state(three / "kept-whole", step)
    trials()


@pytest.mark.row(42)
def test_ranks_go_on_with_the_topics_of_another_run_as_one_process_does(three, trials):
    """Red with: a rank that begins with topics of its own; a corpus that each rank joins."""
    ended = ranks.train(0, three, out="next-whole", **CONTINUED)
    assert ended.code == 0, ended
    assert ranks.state(three / "next", 8) == ranks.state(three / "next-whole", 8)
    assert ranks.state(three / "next", 8) != ranks.state(three / "run", 8)
    trials()


@pytest.mark.nightly
@pytest.mark.row(42)
@pytest.mark.parametrize("form", ["lazy", "gibbs", "gibbs-learned"])
def test_any_number_of_ranks_goes_on_after_a_stop_and_with_other_documents(wide, form, trials):
    """As the three tests above, whose first run has one process; three ranks, then two."""
    given, out = HELD.get(form) or FORMS[form], f"{form}-on"
    for number, more in ((3, {"act": (1, "SIGTERM", 6)}), (2, {})):
        ended = ranks.train(number, wide, out=out, **given, **more)
        assert ended.code == (85 if more else 0), ended
        trials()
    ended = ranks.train(0, wide, out=f"{form}-whole", **given)
    assert ended.code == 0, ended
    for step in (8, 12):
        assert ranks.state(wide / out, step) == ranks.state(wide / f"{form}-whole", step)
    write_corpus(wide / "new.txt", seed=1)
    free = {name: None for name in ("alpha", "eta") if name in given}
    for name, number in (("next-0", 0), ("next-2", 2)):
        options = given | free | CONTINUED | {"from": out, "out": f"{form}-{name}"}
        ended = ranks.train(number, wide, **options)
        assert ended.code == 0, ended
    assert ranks.state(wide / f"{form}-next-0", 8) == ranks.state(wide / f"{form}-next-2", 8)


@pytest.mark.nightly
@pytest.mark.row(42)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", [2, 3, 8, 16])
def test_every_form_writes_the_bytes_of_one_process(folder, form, number, trials):
    for out, n in (("one", 0), ("many", number)):
        ended = ranks.train(n, folder, out=out, timeout=250, **FORMS[form])
        assert ended.code == 0, ended
    last = 12 + FORMS[form].get("exact_sweeps", 0)
    assert ranks.state(folder / "one", last) == ranks.state(folder / "many", last)
    trials()


@pytest.mark.row(12)
@pytest.mark.row(42)
def test_a_signal_to_one_rank_stops_all_and_any_number_goes_on(folder, alone, trials):
    """Red with: a rank that looks at its own signals alone (the others wait for it without end)."""
    ended = ranks.train(2, folder, act=(1, "SIGUSR1", 3))
    assert ended.code == 85, ended
    assert "SIGUSR1 (rank 1): all ranks stopped after iteration 3" in ended.said
    assert (status(folder / "run")["step"], ranks.newest(folder / "run")) == (3, 3)
    assert ranks.train(0, folder).code == 0
    assert ranks.state(folder / "run") == ranks.state(alone / "run")
    trials()


@pytest.mark.row(12)
def test_a_request_for_a_checkpoint_reaches_the_one_who_writes(folder):
    """SIGUSR2 to rank 1. Red with: a rank that takes the request for itself."""
    ended = ranks.train(2, folder, checkpoint_every="1h", act=(1, "SIGUSR2", 5))
    assert ended.code == 0, ended
    assert (folder / "run" / "checkpoints" / "step-00000006").exists()


@pytest.mark.row(5)
@pytest.mark.parametrize(
    ("number", "victim", "next_ranks"),
    [(2, 0, 0), pytest.param(3, 2, 2, marks=pytest.mark.nightly)],
)
def test_a_rank_that_is_killed_ends_all_and_nothing_is_lost(
    folder, alone, number, victim, next_ranks, trials
):
    ended = ranks.train(number, folder, act=(victim, "kill", 6))
    assert ended.code not in (0, 85), ended
    # MPICH's launcher names no rank, but the process of one that it found dead
    found = re.search(r"PID (\d+) RUNNING", ended.said)[1]
    line = re.search(r"processes of the ranks on \S+: (.*)", ended.said)[1]
    processes = dict(each.split(": ") for each in line.split(", "))
    assert list(processes) == [str(rank) for rank in range(number)]
    assert found in processes.values()
    assert ranks.newest(folder / "run") == 4
    ended = ranks.train(next_ranks, folder)
    assert ended.code == 0, ended
    assert ranks.state(folder / "run") == ranks.state(alone / "run")
    trials()


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.row(5)
@pytest.mark.row(12)
def test_killed_and_stopped_at_random_it_ends_with_the_same_bits(folder, alone, trials):
    """Twelve times: any number of ranks, any of them, any iteration, a kill or a signal."""
    rng = random.Random(5)
    for _ in range(4):
        for _ in range(3):
            number, act = rng.randint(1, 4), rng.choice(["kill", "SIGUSR1", "SIGTERM", "SIGXCPU"])
            victim, at = rng.randrange(number), rng.randrange(12)
            ended = ranks.train(number, folder, act=(victim, act, at), timeout=250)
            before = ended.code == 0 and ranks.newest(folder / "run") == 12  # it was beyond that
            assert before or (ended.code == 85) == (act != "kill"), ended
            trials()
        assert ranks.train(rng.choice([0, 2, 3]), folder, timeout=250).code == 0
        assert ranks.state(folder / "run") == ranks.state(alone / "run")
        shutil.rmtree(folder / "run")


@pytest.mark.row(5)
def test_a_launcher_that_is_killed_takes_all_ranks_with_it(folder, alone, trials):
    ended = ranks.train(2, folder, act=(1, "launcher", 6))
    assert ended.code == -9, ended
    ended = ranks.train(0, folder)  # its lock would be refused while a rank lives
    assert ended.code == 0, ended
    assert ranks.state(folder / "run") == ranks.state(alone / "run")
    trials()


@pytest.mark.row(6)
@pytest.mark.parametrize(
    ("act", "code", "message"),
    [
        ("unread", 66, "built/counts.npy: is not there any more"),
        pytest.param(
            *("unsampled", 86, "weights of a document are no numbers"), marks=pytest.mark.nightly
        ),
    ],
)
def test_an_error_of_one_rank_is_said_once_with_its_host(folder, act, code, message, trials):
    """Red with: errors that the others are not told (they wait until --set rank-timeout)."""
    ended = ranks.train(2, folder, act=(1, act, 5))
    assert ended.code == code, ended
    errors = [line for line in ended.said.splitlines() if "error" in line]
    assert len(errors) == 1
    assert f"sgmc: error: rank 1 on {socket.gethostname()}: {message}" in errors[0]
    assert status(folder / "run")["state"] == "failed"
    trials()


@pytest.mark.row(6)
@pytest.mark.parametrize(
    ("act", "code", "message"),
    [
        pytest.param("no-state", 76, "lacks theta", marks=pytest.mark.nightly),
        ("unwritten", 74, "no space left on device"),
    ],
)
def test_an_error_of_the_one_who_writes_ends_the_others_who_wait(
    folder, act, code, message, trials
):
    """Before the first iteration, and after the last. Red with: others who wait for a value alone."""
    ended = ranks.train(0, folder, iterations=4)
    assert ended.code == 0, ended
    ended = ranks.train(2, folder, act=(0, act, 5), rank_timeout="60s")
    assert ended.code == code, ended
    assert message in ended.said
    assert "--set rank-timeout" not in ended.said
    trials()


@pytest.mark.row(6)
@pytest.mark.parametrize(
    ("act", "code"),
    # "twice" ends all ranks as "bug" does; its code of one process: tests/faults/test_signals.py
    [("bug", 70), pytest.param("twice", 130, marks=pytest.mark.nightly)],
)
def test_what_nobody_foresees_in_one_rank_ends_all_at_once(folder, act, code, trials):
    ended = ranks.train(2, folder, act=(1, act, 5))
    assert ended.code == code, ended
    if act == "bug":
        lines = [line for line in ended.said.splitlines() if line.startswith("[rank 1 on ")]
        assert any("RuntimeError: a bug" in line for line in lines)
    trials()


@pytest.mark.row(26)
@pytest.mark.parametrize("variable", ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE"])
def test_a_launcher_of_another_library_is_refused(folder, variable, trials):
    """Red with: the guard left out (four chains write into one run)."""
    command = [fork_server.SGMC, "train", "--mpi", "corpus.txt", "--out", "run"]
    ended = fork_server.shared().run(
        command, folder, text=True, seconds=200, env=os.environ | {variable: "4"}
    )
    assert ended.returncode == 64, ended.stderr
    assert "the launcher started 4 processes, but the MPI library (" in ended.stderr
    assert [p.name for p in folder.iterdir()] == ["corpus.txt"]
    trials()


# by day: pieces in test_ranks_that_hold_topics_of_some_words_each, the line in test_chain_rank_cost.py
@pytest.mark.nightly
@pytest.mark.row(64)
def test_messages_in_pieces_give_the_same_bits(folder, trials):
    """Pieces of 1,000 elements, of 50 words of 160 topics; and a line says, once, that the ranks wait.

    Red with: a last piece that is left out; a start that does not look at its iterations.
    """
    for out, number, act in (("one", 0, (-1, "none", 0)), ("pieces", 2, (-1, "pieces", 0))):
        ended = ranks.train(number, folder, out=out, act=act, **FORMS["many"])
        assert ended.code == 0, ended
    assert ranks.state(folder / "one") == ranks.state(folder / "pieces")
    assert ended.said.count("too small for 2 ranks, which spend only ") == 1
    trials()


@pytest.mark.row(66)
def test_ranks_that_hold_other_topics_write_no_checkpoint(folder, trials):
    """What all ranks have alike is compared. Red with: digests that are not."""
    ended = ranks.train(2, folder, act=(1, "flip-sums", 7))
    assert ended.code == 70, ended
    assert "rank 1 on " in ended.said
    assert "different topics than rank 0" in ended.said
    assert ranks.newest(folder / "run") == 4
    trials()


@pytest.mark.row(67)
def test_a_rank_that_hangs_is_not_waited_for_without_end(folder, trials):
    """Red with (two of 24 under load): a rank that only ends, so that the launcher says whom it kills."""
    ended = ranks.train(2, folder, rank_timeout="1h", act=(1, "sleep", 5))
    assert ended.code == 70, ended
    assert "rank 0 on " in ended.said
    assert "--set rank-timeout" in ended.said
    assert ranks.newest(folder / "run") == 4
    trials()


@pytest.mark.row(68)
@pytest.mark.parametrize(
    ("act", "code"),
    # "missing" is an error of one rank, as "unread" above
    [pytest.param("missing", 66, marks=pytest.mark.nightly), ("another", 78)],
)
def test_a_rank_that_sees_no_corpus_or_another_is_named(folder, act, code, trials):
    ended = ranks.train(2, folder, act=(1, act, 0))
    assert ended.code == code, ended
    assert "sgmc: error: rank 1 on " in ended.said
    trials()


@pytest.mark.row(68)
def test_a_rank_of_an_older_processor_is_met(folder, alone, trials):
    ended = ranks.train(2, folder, act=(1, "isa", 0))
    assert ended.code == 0, ended
    assert "the ranks have different processors; all use the instruction set baseline" in ended.said
    assert ranks.state(folder / "run") == ranks.state(alone / "run")
    trials()


@pytest.mark.row(26)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--algo", "cgs"), "--mpi: --algo cgs draws the topics of all tokens one after the other"),
        pytest.param(  # as the first; its words: tests/unit/test_chain_launch.py
            ("--model", "sam"),
            "--mpi: --model sam is trained by a single process",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            ("--chains", "2"), "--chains does not apply to --mpi", marks=pytest.mark.nightly
        ),
    ],
)
def test_what_several_ranks_cannot_do_is_refused_once(folder, options, message):
    command = ["train", "--mpi", "corpus.txt", "--out", "run", *options]
    ended = subprocess.run(
        [ranks.MPIEXEC, "-n", "2", sys.executable, "-m", "pysgrld", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.count(message) == 1
    assert not (folder / "run").exists()


@pytest.mark.row(26)
def test_several_chains_of_ranks_are_refused(folder):
    """Of a single rank without a launcher; the test above has two."""
    command = [fork_server.SGMC, "train", "--mpi", "corpus.txt", "--out", "run", "--chains", "2"]
    ended = fork_server.shared().run(command, folder, text=True, seconds=200)
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.count("--chains does not apply to --mpi") == 1
    assert not (folder / "run").exists()
