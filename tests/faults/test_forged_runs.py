"""Forged runs with valid digests: a result, or one line with a documented exit code."""

import json
import shutil
from fnmatch import fnmatchcase
from types import SimpleNamespace

import numpy as np
import pytest
from faults.forge import KINDS, forgeries, load, prepare
from faults.forge import run as run_forked
from faults.forged_frames import of_packed
from faults.forgeries import WAYS
from faults_runs import checkpoints, sgmc, sign_again
from safetensors.numpy import load_file, save_file

from pysgrld.errors import CheckpointError
from pysgrld.models import samples
from pysgrld.models.dtm.resolved import DynamicOptions
from pysgrld.options import common as options_common
from pysgrld.reading.kept_samples import KeptSamples
from pysgrld.reading.results import Results
from pysgrld.reading.run_record import model_and_options
from pysgrld.run import RunDirectory, jsonio
from pysgrld.run.files import digest_of
from pysgrld.run.identity import identity
from pysgrld.run.tensors import describe


def forge_state(folder, change):
    """Change the arrays of the latest checkpoint, and recompute its digests."""
    newest = checkpoints(folder)[0]
    arrays = load_file(newest / "state.safetensors")
    change(arrays)
    save_file(arrays, newest / "state.safetensors")
    sign_again(newest, tensors=describe(arrays))


@pytest.mark.row(78)
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("phi.g", lambda a: a[:, :8].copy()),
        ("phi.g", lambda a: a.reshape(-1)),
        ("phi.g", lambda a: a[:0].copy()),
        ("phi.g", lambda a: a.astype(np.float64)),
        ("phi.sums", lambda a: np.resize(a, 32)),
        ("posterior.samples", lambda a: a[:0].copy()),
        ("posterior.sum.phi", lambda a: a[:1].copy()),
        ("posterior.sum.phi", lambda a: a.reshape(-1)),
    ],
)
def test_an_array_of_another_type_or_shape_is_named(copied, name, change, trials):
    """Red with: arrays taken by their names alone (70, a bug in sgmc)."""

    def put(arrays):
        arrays[name] = change(arrays[name])

    forge_state(copied, put)
    part = "mean" if name.startswith("posterior") else "current"
    with pytest.raises(CheckpointError, match=rf"run/checkpoints/step-\d+: array '{name}' of the"):
        getattr(Results(copied / "run", 1).fitted, part)
    trials()


def forge_config(folder, change):
    """Change the record of a run, and recompute its digests and those of checkpoints."""
    path = folder / "run/config.json"
    config = jsonio.parse_sealed(path.read_bytes(), path)
    change(config)
    path.write_bytes(jsonio.format_sealed(config))
    same = identity(config)
    for checkpoint in checkpoints(folder):
        sign_again(checkpoint, config=same.fields, identity=same.digest)


@pytest.mark.row(78)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(defaults=1e300), "defaults is 1e+300"),
        (lambda c: c["defaults"].append([]), "defaults is ["),
        (lambda c: c["options"].pop("algo"), "option algo is None"),
        (lambda c: c["options"].pop("counts"), "option counts is None"),
        (lambda c: c["corpus"]["reading"].update(encoding=1), "encoding is 1"),
        (lambda c: c["corpus"].update(fingerprint={}), "corpus.fingerprint is {}"),
        (lambda c: c["corpus"].pop("held_out"), "held_out is None"),
        (lambda c: c["corpus"].update(words=-1), "words is -1"),
        (lambda c: c.update(parent={"run": 3}), "parent.run is 3"),
        (lambda c: c["options"].update({"sweeps": -(2**63)}), "option sweeps is -92233720368547"),
        (lambda c: c["options"].update({"seed": -1}), "option seed is -1"),
        (
            lambda c: c["options"].update({"step-size": [0.1, 0, 0.5]}),
            "option step-size is [0.1, 0",
        ),
        (lambda c: c["options"].pop("step-size"), "option step-size is None"),
        (lambda c: c["options"].update({"chain-id": False}), "option chain-id is False"),
    ],
)
def test_a_value_of_another_type_in_the_record_is_named(copied, change, message, trials):
    """Red with: values that are looked at where they are used (70, a bug in sgmc).

    Of numbers outside the range of their option: red without `Option.takes` in `model_and_options`.
    """
    forge_config(copied, change)
    for command in (["topics", "run"], ["train", "--resume", "run"]):
        line = sgmc(copied, *command, code=76).stderr.splitlines()[-1]
        assert "run/config.json: is damaged" in line
        assert message in line
        trials()


@pytest.mark.row(78)
@pytest.mark.parametrize("value", [None, "x", True, {}])
def test_a_score_without_its_iteration_does_not_count(copied, value, trials):
    """Red with: the iteration of the last line of metrics.jsonl taken for granted (70)."""
    path = copied / "run" / "metrics.jsonl"
    lines = path.read_text().splitlines()
    record = json.loads(lines[-1]) | {"iteration": value}
    if value is None:
        del record["iteration"]
    path.write_text("\n".join([*lines[:-1], json.dumps(record)]) + "\n")
    forged = {"metrics.jsonl": digest_of(path)._asdict()}
    for checkpoint in checkpoints(copied):
        sign_again(checkpoint, append=forged)
    sgmc(copied, "train", "--resume", "run", "--iterations", "80", "-q")
    trials()


@pytest.mark.row(78)
@pytest.mark.parametrize("value", [3, [1], None, "x"])
def test_a_file_that_the_record_of_a_corpus_does_not_describe_is_named(copied, value, trials):
    """Red with: `files` looked up as if each were a table."""
    path = copied / "run/holdout/observed/meta.json"
    meta = json.loads(path.read_text())
    meta.pop("digest", None)
    meta["files"]["vocab.txt"] = value
    path.write_text(json.dumps(meta))
    assert "meta.json: files.vocab.txt is " in sgmc(copied, "eval", "run", code=65).stderr
    trials()


@pytest.mark.row(78)
def test_a_digest_of_a_corpus_may_be_any_text(copied, trials):
    """Red with: the digest encoded as if it were hexadecimal (70 for a lone surrogate)."""
    path = copied / "run/holdout/observed/meta.json"
    meta = json.loads(path.read_text())
    meta.pop("digest", None)
    meta["files"]["indptr.npy"]["sha256"] = "\ud800"
    path.write_text(json.dumps(meta))
    assert "was changed since it was written" in sgmc(copied, "eval", "run", code=65).stderr
    trials()


@pytest.mark.row(78)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("completion.samples", -1),
        ("completion.samples", 2**62),
        ("posterior.samples", -100),
        ("completion.mean", -1.0),
        ("phi.sums", 1e300),
        ("posterior.sum.phi", -1.0),
    ],
)
def test_a_value_outside_the_range_of_its_array_is_named(copied, name, value, trials):
    """Red with: invariants of floats of the topics alone (70, or warnings of NumPy)."""

    def put(arrays):
        arrays[name].reshape(-1)[0] = value

    forge_state(copied, put)
    done = sgmc(copied, "checkpoint", "verify", "run", code=76)
    assert f"array '{name}' has " in done.stdout + done.stderr
    trials()


@pytest.mark.row(78)
@pytest.mark.parametrize(
    ("name", "value", "part"),
    [("phi.sums", 1e-310, "current"), ("posterior.sum.phi", 1e60, "mean")],
)
def test_topics_that_are_infinite_are_named(copied, name, value, part, trials):
    """Red with: word probabilities of a checkpoint not looked at (70 by orders of words)."""

    def put(arrays):
        arrays[name].reshape(-1)[0] = value

    forge_state(copied, put)
    with pytest.raises(CheckpointError, match=r"arrays '.*phi.*' of the checkpoint have infinite"):
        getattr(Results(copied / "run", 1).fitted, part)
    trials()


@pytest.mark.row(78)
def test_a_record_of_reading_of_another_type_is_named(copied, trials):
    """Red with: a header that is checked without its provenance (70, a bug in sgmc)."""
    path = copied / "run/corpus/meta.json"
    meta = json.loads(path.read_text())
    meta.pop("digest", None)
    meta["provenance"]["reading"]["chunk"] = ""
    path.write_text(json.dumps(meta))
    message = sgmc(copied, "train", "--resume", "run", "--iterations", "70", code=65).stderr
    assert "meta.json: provenance.reading.chunk is ''" in message
    trials()


@pytest.mark.row(78)
@pytest.mark.parametrize(
    ("value", "problem"),
    [(np.inf, "topic 1 sums to inf instead of 1"), (-1e30, "topic 1 sums to -1e+30 instead of 1")],
)
def test_a_sample_that_is_no_distribution_is_named(copied, value, problem, trials):
    """Red with: values of kept samples not looked at (a hang of `diagnose`, warnings of NumPy)."""
    place = sorted((copied / "run/samples").glob("step-*"))[0]
    parts = load_file(place)
    parts["phi"][1, 2] = value
    save_file(parts, place)
    written = {place.name: digest_of(place)._asdict()}
    sign_again(checkpoints(copied)[0], change=lambda content: content["samples"].update(written))
    message = sgmc(copied, "topics", "run", "--intervals", code=76).stderr
    assert problem in message
    trials()


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A folder with a run that learned alpha, ``learned/run``, as needed by `forgeries`."""
    load()
    folder = tmp_path_factory.mktemp("forged")
    prepare(folder, ["learned"])
    return folder


@pytest.mark.row(78)
def test_every_array_has_a_range(learned):
    """Red with: an array of a learned prior, of its draws or their mean without an invariant."""
    run = RunDirectory.open(learned / "learned/run")
    model = model_and_options(run)[0].fitted
    state, sample = run.load_checkpoint(required=True), run.samples.read(run.samples.steps()[0])
    for arrays, ranges in (
        (state.arrays, model.state_invariants),
        (sample, model.sample_invariants),
    ):
        assert not [name for name in arrays if not any(fnmatchcase(name, p) for p in ranges)]


@pytest.mark.row(78)
@pytest.mark.parametrize("name", ["alpha.r", "posterior.sum.alpha"])
def test_a_learned_prior_of_0_is_named(learned, tmp_path, name, trials):
    """Red with: ranges of priors that contain 0 (70 by the kernels, a bug in sgmc)."""
    folder = shutil.copytree(learned / "learned", tmp_path / "copy")
    forge_state(folder, lambda arrays: arrays[name].put(1, 0.0))
    done = run_forked(
        folder, ["eval", "run"] if name == "alpha.r" else ["infer", "run", "new.jsonl"]
    )
    assert done.code == 76
    assert (
        f"array '{name}' of the checkpoint has values that are not valid Dirichlet" in done.messages
    )
    trials()


@pytest.mark.row(78)
@pytest.mark.parametrize("name", ["alpha.c0", "alpha.gamma0"])
def test_a_fixed_hyperparameter_of_another_run_is_named(learned, tmp_path, name, trials):
    """Red with: c0 of 1e30, from which a step makes an infinite alpha (70 by the kernels)."""
    folder = shutil.copytree(learned / "learned", tmp_path / "copy")
    forge_state(folder, lambda arrays: arrays[name].put(0, 1e30))
    done = run_forked(folder, ["train", "--resume", "run", "--iterations", "70", "-q"])
    assert done.code == 76
    assert (
        f"array '{name}' of the checkpoint has the value 1e+30, but the prior of this run"
        in done.messages
    )
    trials()


@pytest.mark.row(78)
def test_some_forged_runs_are_read(learned, trials):
    """Some of `test_two_thousand_forged_runs`. Red with: alpha.r without `Shapes.check`."""
    for faults in forgeries(learned, range(5), ["learned"], 1, 1, WAYS):
        assert not faults
        trials()


@pytest.mark.row(78)
def test_compressed_arrays_of_some_forged_runs_are_read(learned, trials):
    """Red with: 64 times the bytes of a frame (320 MB for 5)."""
    for faults in forgeries(learned, range(4), ["learned"], 1, 1, [of_packed]):
        assert not faults
        trials()


@pytest.mark.nightly
@pytest.mark.row(78)
def test_two_thousand_forged_runs(tmp_path, trials):
    """`python tests/faults/forge.py` is the same, and prints each fault."""
    load()
    prepare(tmp_path, list(KINDS))
    found = []
    for faults in forgeries(tmp_path, range(2000), list(KINDS), 2, 1):
        found += faults
        trials()
    assert not found, "\n".join(map(str, found))


@pytest.mark.row(78)
@pytest.mark.parametrize("slices", [(2, ("1990", "1991"), (1990.0, 1991.0), (3,)), (2,), ()])
def test_lists_of_slices_of_different_lengths_are_damage(slices, trials):
    """Red with: shares of as many slices as the record lists tokens; a list that is missing (70)."""
    options = SimpleNamespace(slices=slices)
    with pytest.raises(CheckpointError, match="the lists of 'slices' differ in length"):
        DynamicOptions.found_slices.fget(options)
    trials()


@pytest.mark.row(78)
def test_shares_of_other_topics_than_the_models_are_named(trials):
    """Red with: a trace without a column for each topic (70)."""
    arrays = {"exact.trace.shares": np.zeros((40, 0), np.float32)}
    fitted = SimpleNamespace(exact=True, layers=(4,), record=SimpleNamespace(place="run"))
    results = SimpleNamespace(checkpoint=SimpleNamespace(arrays=arrays), fitted=fitted)
    with pytest.raises(
        CheckpointError, match=r"run: the shares .* shape \(40, 0\), but must have 4"
    ):
        Results.share_trace.fget(results)
    arrays["exact.trace.shares"] = np.zeros((40, 4), np.float32)
    assert Results.share_trace.fget(results).shape == (40, 4)
    trials()


@pytest.mark.row(78)
@pytest.mark.parametrize("value", [[], [None], [[]], [{}], [1], ["x", 1, {}]])
def test_a_damaged_list_of_an_option_is_shown_as_it_is(value, trials):
    """Red with: the first value of an empty list of slices (70)."""
    for name in options_common._SPELL:
        assert isinstance(options_common.format_value(name, value), str | list)
    trials()


@pytest.mark.row(78)
@pytest.mark.parametrize("name", [samples.CELLS, samples.TOPICS, samples.TOKENS, samples.STEP])
def test_a_sample_of_counts_that_lacks_an_array_is_named(name, trials):
    """Red with: an array of counts that is not there (70)."""
    empty = np.frombuffer(samples.zstandard.ZstdCompressor().compress(b""), np.uint8)[None]
    sample = dict.fromkeys((samples.CELLS, samples.TOPICS, samples.TOKENS), empty)
    sample |= {samples.STEP: np.zeros((1, 2), np.uint32)}
    block = SimpleNamespace(shape=(0, 2))
    assert samples.sample_conditional(sample, block, 1, 0).counts.counts.shape[0] == 0
    del sample[name]
    with pytest.raises(CheckpointError, match="do not fit the model"):
        samples.sample_conditional(sample, block, 1, 0)
    trials()


@pytest.mark.row(78)
@pytest.mark.parametrize("value", [0.0, 0.6])
def test_top_words_that_no_topic_can_have_are_named(value, trials):
    """Red with: a mean of rows that sum to 0, which `diagnose` matched without end."""
    sample = {"words": np.array([[0, 1]] * 2), "phi": np.array([[0.4, 0.3], [value] * 2], "f4")}
    results = SimpleNamespace(
        run=SimpleNamespace(
            samples=SimpleNamespace(
                read=lambda *_, **__: sample,
                path=lambda *_, **__: "top-words-step-4",
                verify=lambda *_, **__: None,
            )
        ),
        vocabulary=("a", "b"),
        fitted=SimpleNamespace(layers=(2,)),
        population=None,
    )
    with pytest.raises(
        CheckpointError, match=f"top-word probabilities of topic 1 sum to {2 * value:g}"
    ):
        KeptSamples.read_slim(results, 4)
    sample["phi"][1] = 0.1
    assert KeptSamples.read_slim(results, 4) is sample
    trials()
