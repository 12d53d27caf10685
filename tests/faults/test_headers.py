"""Checkpoints with false claims, under stale and under valid digests. Rows 30, 31, 35, 36."""

from __future__ import annotations

import copy
import json
import random
import resource
import shutil

import numpy as np
import pytest
from faults_runs import checkpoints, opened, sign_again, train_command, train_here
from trial_counts import counts

from pysgrld.errors import CheckpointError, MismatchError
from pysgrld.run import jsonio
from pysgrld.run.checkpoint_read import MANIFEST, STATE, read_checkpoint, read_manifest, seal
from pysgrld.run.files import digest_of
from pysgrld.run.tensors import DamagedError, encode, load
from pysgrld.train.loop import Training


def container(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def tensor(dtype: object = "F32", shape: object = (2,), offsets: object = (0, 8)) -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


BIG = 1 << 62
LIES = {
    "empty file": b"",
    "seven bytes": b"\0" * 7,
    "length 2^62": BIG.to_bytes(8, "little") + b"{}",
    "length 2^64-1": b"\xff" * 8 + b"{}",
    "length beyond the file": (3).to_bytes(8, "little") + b"{}",
    "length 0": bytes(8),
    "length 17 MiB": (17 << 20).to_bytes(8, "little") + b" " * (17 << 20),
    "not json": container(b"{{"),
    "list": container([]),
    "number": container(b"1"),
    "null": container(b"null"),
    "not utf-8": container(b'{"\xff": 1}'),
    "nan": container(b'{"a": NaN}'),
    "deep": container(b"[" * 100_000),
    "key twice": container(
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
        b'"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        b"x",
    ),
    "metadata": container({"__metadata__": {"a": "b"}}),
    "metadata no table": container({"__metadata__": [], "a": tensor()}, bytes(8)),
    "metadata of a plain array": container(
        {"__metadata__": {"a": "F32 2"}, "a": tensor()}, bytes(8)
    ),
    "metadata of a bomb": container(
        {"__metadata__": {"a": "U8 1000000000"}, "a": tensor("U8", [8])}, bytes(8)
    ),
    "entry no table": container({"a": 1}),
    "key missing": container({"a": {"dtype": "F32", "shape": [2]}}, bytes(8)),
    "key too many": container({"a": {**tensor(), "x": 1}}, bytes(8)),
    "unknown dtype": container({"a": tensor("F128")}, bytes(8)),
    "object dtype": container({"a": tensor("O")}, bytes(8)),
    "dtype no text": container({"a": tensor(["F32"])}, bytes(8)),
    "shape overflow to 2": container({"a": tensor(shape=[1 << 32, 1 << 32])}, bytes(8)),
    "shape overflow past 64": container({"a": tensor(shape=[BIG, 4, 2])}, bytes(8)),
    "shape negative": container({"a": tensor(shape=[-1, -2])}, bytes(8)),
    "shape fraction": container({"a": tensor(shape=[2.0])}, bytes(8)),
    "shape true": container({"a": tensor(shape=[True, 2])}, bytes(8)),
    "shape text": container({"a": tensor(shape="2")}, bytes(8)),
    "shape of nine axes": container({"a": tensor(shape=[1] * 8 + [2])}, bytes(8)),
    "shape 10^400": container({"a": tensor(shape=[10**400])}, bytes(8)),
    "shape 10^5000": container(b'{"a":{"shape":[1' + b"0" * 5000 + b"]}}", bytes(8)),
    "offsets reversed": container({"a": tensor(offsets=[8, 0])}, bytes(8)),
    "offsets negative": container({"a": tensor(offsets=[-8, 0])}, bytes(8)),
    "offsets beyond": container({"a": tensor(offsets=[8, 16])}, bytes(8)),
    "offsets three": container({"a": tensor(offsets=[0, 8, 8])}, bytes(8)),
    "offsets none": container({"a": tensor(offsets=None)}, bytes(8)),
    "hole at the start": container({"a": tensor(offsets=[4, 12])}, bytes(12)),
    "hole between": container({"a": tensor(), "b": tensor(offsets=[9, 17])}, bytes(17)),
    "overlap": container({"a": tensor(), "b": tensor(offsets=[4, 12])}, bytes(12)),
    "same bytes twice": container({"a": tensor(), "b": tensor()}, bytes(8)),
    "data after the last": container({"a": tensor()}, bytes(9)),
    "data missing": container({"a": tensor()}, bytes(7)),
    "name with a slash": container({"../a": tensor()}, bytes(8)),
    "name in capitals": container({"A": tensor()}, bytes(8)),
    "too many arrays": container({f"a{i}": tensor("U8", [0], [0, 0]) for i in range(4097)}),
}


@pytest.mark.row(31)
@pytest.mark.parametrize("lie", LIES)
def test_a_header_that_lies_is_refused(lie, tmp_path, trials):
    """By its header, under a digest that is right. Red with: holes allowed."""
    path = tmp_path / "a"
    path.write_bytes(LIES[lie])
    with pytest.raises(DamagedError, match="/a: ") as caught:
        load(path, digest_of(path))
    assert "SHA-256" not in str(caught.value)
    trials()


# ---- row 30: any mutation


VALUES = [
    0,
    1,
    -1,
    40,
    1 << 31,
    1 << 62,
    1 << 64,
    10**400,
    1.5,
    -0.0,
    1e308,
    None,
    True,
    False,
    "",
    "x",
    "F32",
    "I64",
    "phi.g",
    [],
    {},
    [0],
    [1 << 61, 8],
    {"a": 1},
    [[[[[[[[[[0]]]]]]]]]],
]


def places(tree, path=()):
    """Yield every node of a JSON value, with its path."""
    yield path
    if isinstance(tree, dict | list):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield from places(tree[key], (*path, key))


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def mutated(rng, tree):
    """Change one to three things in a JSON value: values, keys, order, neighbours."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.randint(1, 3)):
        *path, key = rng.choice([place for place in places(tree) if place] or [(None,)])
        if key is None:
            return tree
        parent = at(tree, path)
        old, kind = parent[key], rng.randrange(6)
        if kind == 0 or (kind == 1 and type(old) is not int):
            parent[key] = copy.deepcopy(rng.choice(VALUES))
        elif kind == 1:
            parent[key] = old + rng.choice([-1, 1, 1 << 32, -(1 << 63)])
        elif kind == 2:
            del parent[key]
        elif kind == 3:
            other = rng.choice(list(places(tree)))
            parent[key] = copy.deepcopy(at(tree, other))
        elif isinstance(parent, dict):
            parent[rng.choice(["x", "phi.g", "a/b", "step", f"{key}", "A"])] = old
            if kind == 4:
                parent.pop(key)
        else:
            parent.insert(rng.randrange(len(parent) + 1), old)
    return tree


def scribbled(rng, text):
    """Change one to three places of a text at random."""
    text = bytearray(text)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(text))
        kind = rng.randrange(3)
        if kind == 0:
            text[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del text[place : place + rng.randint(1, 20)]
        else:
            text[place:place] = rng.choice([b"0", b"-1", b"1e9", b"null", b"[", b"}", b"NaN"])
        text = text or bytearray(b"{}")
    return bytes(text)


@pytest.fixture
def training(copied, monkeypatch):
    """Return what `train` makes of the checkpoint of `copied` before it trains."""
    caught = []
    monkeypatch.setattr(Training, "go", lambda self: caught.append(self))
    train_here(copied, iterations=45)
    return caught[0]


class Target:
    """The latest checkpoint of a run, to be overwritten and restored."""

    def __init__(self, folder):
        self.path = checkpoints(folder)[0]
        self.manifest = read_manifest(self.path)
        state = (self.path / STATE).read_bytes()
        length = int.from_bytes(state[:8], "little")
        self.head, self.data = state[8 : 8 + length], state[8 + length :]
        self.header = json.loads(self.head)
        self.sealed = (self.path / MANIFEST).read_bytes()

    def write(self, sealed, head):
        data = len(head).to_bytes(8, "little") + head + self.data
        (self.path / STATE).write_bytes(data)
        (self.path / MANIFEST).write_bytes(sealed)

    def sign(self, content, head):
        """Write a manifest that matches the state, whatever the state's header claims."""
        self.write(b"", head)
        content = content | {"files": {STATE: digest_of(self.path / STATE)._asdict()}}
        (self.path / MANIFEST).write_bytes(seal(content))


def text(value):
    return json.dumps(value, separators=(",", ":")).encode()


@pytest.mark.row(30)
@counts(500, 100_000)
def test_mutated_manifests_and_headers(copied, training, trials, n):
    """Four kinds in turn: manifest or header, under digests that are stale or made anew.

    Under stale digests nothing is accepted. Under valid ones what is accepted is a state of this
    run by names, types and shapes, and finite; all else is refused in a sentence, by the reader or
    by the one who would go on from it. Nothing is allocated by what a file claims.

    Red with: no check of holes; arrays put back by name without their types; the digest left out.
    """
    rng = random.Random(n)
    target, run = Target(copied), training.run
    shutil.copytree(run.path / "samples", copied / "samples")
    own = training.chain.arrays() | training.posterior.arrays()
    own = {name: (a.dtype, a.shape) for name, a in own.items() if name != "posterior.history"}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    accepted = 0
    with run.lock():
        for trial in range(n):
            kind = trial % 4
            if kind == 0:
                if rng.random() < 0.5:
                    sealed = scribbled(rng, target.sealed)
                else:
                    sealed = jsonio.pretty(mutated(rng, json.loads(target.sealed)))
                target.write(sealed, target.head)
                same = sealed == target.sealed
            elif kind == 1:
                content = mutated(rng, target.manifest)
                try:
                    sealed = seal(content if isinstance(content, dict) else {})
                except ValueError:  # 10^400 cannot be written
                    sealed = b"{}"
                target.write(sealed, target.head)
            elif kind == 2:
                scribble = rng.random() < 0.5
                head = (
                    scribbled(rng, target.head)
                    if scribble
                    else text(mutated(rng, target.header)).ljust(len(target.head))
                )
                target.write(target.sealed, head)
                same = head == target.head
            else:
                header = mutated(rng, target.header)
                described = {
                    name: {k: v for k, v in entry.items() if k != "data_offsets"}
                    for name, entry in header.items()
                    if isinstance(entry, dict)
                }
                target.sign(target.manifest | {"tensors": described}, text(header))
            try:
                found = read_checkpoint(target.path, run.identity)
                if kind in (0, 2):
                    assert same, trial
                    continue
                run.rewind(found)
                training._restore(found)
            except (DamagedError, CheckpointError, MismatchError):
                continue
            finally:
                trials()
            accepted += 1
            for name, (dtype, shape) in own.items():
                array = found.arrays[name]
                assert (array.dtype, array.shape) == (dtype, shape), trial
                assert np.isfinite(array).all(), trial
            shutil.rmtree(run.path / "samples")
            shutil.copytree(copied / "samples", run.path / "samples")
    assert accepted < n / 4
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 256 << 10


@pytest.mark.row(30)
@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("phi.g", np.zeros((48, 16)), "float64"),
        ("phi.g", np.zeros((47, 16), np.float32), r"\(47, 16\)"),
        ("phi.sums", None, "lacks array 'phi.sums'"),
        ("completion.z", np.int32(99), "'completion.z' of the checkpoint has topic 99 at"),
        ("posterior.samples", np.int64(99), "99 samples"),
        ("posterior.history", np.zeros((3, 2)), "posterior.history"),
    ],
)
def test_a_whole_checkpoint_that_is_no_state_of_this_run_is_76(copied, trials, name, value, says):
    """Red with: arrays put back without looking (a traceback, or a cast that nobody notices)."""
    newest = checkpoints(copied)[0]
    content = read_manifest(newest)
    arrays = dict(load(newest / STATE, digest_of(newest / STATE)))
    if value is None:
        del arrays[name]
    elif value.ndim == 0:
        arrays[name] = np.full_like(arrays[name], value)
    else:
        arrays[name] = value
    (newest / STATE).write_bytes(b"".join(encode(arrays)))
    tensors = {n: t for n, t in content["tensors"].items() if n in arrays}
    if value is not None and value.ndim:
        code = {"float64": "F64", "float32": "F32"}[value.dtype.name]
        tensors[name] = {"dtype": code, "shape": list(value.shape)}
    sign_again(newest, tensors=tensors)
    with pytest.raises(CheckpointError, match=says) as caught:
        train_here(copied, iterations=45)
    assert str(newest) in str(caught.value)
    assert caught.value.exit_code == 76
    trials()


# ---- rows 35 and 36


@pytest.mark.row(35)
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_a_bad_value_under_a_valid_digest(copied, trials, value):
    """In the only checkpoint: 76, naming array and index. Red with: values not looked at."""
    newest, *others = checkpoints(copied)
    for path in others:
        shutil.rmtree(path)
    arrays = dict(load(newest / STATE, digest_of(newest / STATE)))
    arrays["phi.g"][1, 2] = value
    (newest / STATE).write_bytes(b"".join(encode(arrays)))
    sign_again(newest)
    done = train_command(copied, "--iterations", "45", code=76)
    assert f"array 'phi.g' has {value} at [1, 2]" in done.stderr
    trials()


@pytest.mark.row(36)
def test_a_newer_schema_is_refused_by_name_and_left_alone(copied, trials):
    newest = checkpoints(copied)[0]
    sign_again(newest, min_reader=3, schema=3, sgmc="9.9")
    done = train_command(copied, "--iterations", "45", code=76)
    assert "was written by sgmc 9.9 and cannot be read by sgmc" in done.stderr
    assert checkpoints(copied)[0] == newest
    assert opened(copied).status["state"] == "finished"
    trials()
