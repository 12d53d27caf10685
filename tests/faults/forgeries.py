"""Changes of a single value, type, shape, name or length in a run, with matching digests.

A digest shows damage, not intent: somebody who can write a folder can write its digests, too.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import random
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pysgrld.run import jsonio
from pysgrld.run.checkpoint_read import seal, unseal
from pysgrld.run.files import digest_of
from pysgrld.run.identity import identity
from pysgrld.run.tensors import describe, encode, load, view

#: Values that a record may have in place of any other.
VALUES: list[Any] = [
    *(None, True, False, -1, 0, 1, 3, 1 << 31, 1 << 40, 1 << 63, 1 << 70, -(1 << 63)),
    *(0.5, -0.5, 1e-320, 1e300, "", "x", "\ud800", "../../x", "\u0000"),
    *([], [1], ["x", None], [[1]], {}, {"x": 1}),
]


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in a record."""
    if path:
        yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in inner:
        yield from _places(item, (*path, key))


def forge_record(record: Any, rng: random.Random) -> str:
    """Change a value, key or length in a record, in place; return a description of the change."""
    path = rng.choice(list(_places(record)))
    parent = record
    for key in path[:-1]:
        parent = parent[key]
    key, value = path[-1], parent[path[-1]]
    name = ".".join(map(str, path))
    way = rng.choice(["value", "value", "value", "delete", "number", "rename", "length"])
    if way == "number" and isinstance(value, int | float) and not isinstance(value, bool):
        new = rng.choice(
            [-value, value * 2, value + 1, value - 1, value * 10**9, float(value), value / 3]
        )
        parent[key] = new
        return f"{name} = {new!r}"
    if way == "length" and isinstance(value, list | str | dict) and value:
        if isinstance(value, dict):
            value[rng.choice(["x", "phi", "0", *value])] = rng.choice([*value.values(), 3])
        else:
            new = value + value[-1:] if rng.random() < 0.5 else value[:-1]
            parent[key] = new
        return f"{name} longer or shorter"
    if way == "delete":
        del parent[key]
        return f"{name} deleted"
    if way == "rename" and isinstance(parent, dict):
        parent[rng.choice([f"{key}x", str(key).upper()])] = parent.pop(key)
        return f"{name} renamed"
    new = rng.choice(VALUES)
    parent[key] = new
    return f"{name} = {new!r}"


def forge_array(array: np.ndarray, rng: random.Random) -> tuple[np.ndarray, str]:
    """Change a value, the type or the shape of an array."""
    way = rng.choice(["value", "value", "value", "all", "dtype", "shape", "shape", "length"])
    if way in ("value", "all") and array.size:
        new = array.copy()
        if array.dtype.kind == "f":
            values = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e30, -1e30, 1e-42, 0.5, 3.0]
            if array.dtype.itemsize == 8:
                values += [1e300, 1e-310]
        elif array.dtype.kind == "b":
            values = [True, False]
        else:
            info = np.iinfo(array.dtype)
            values = [info.min, info.max, 0, 1, info.max // 2, int(array.max()) // 2 + 1]
            values += [-1, -2] if info.min < 0 else []
        value = rng.choice(values)
        if way == "all":
            new[...] = value
            return new, f"all values {value}"
        place = tuple(rng.randrange(n) for n in array.shape)
        new[place] = value
        return new, f"{list(place)} = {value}"
    if way == "dtype":
        kinds = ["f4", "f8", "i4", "i8", "u1", "i1", "u4", "u8", "?", "f2", "i2"]
        kind = rng.choice([k for k in kinds if np.dtype(k) != array.dtype])
        with np.errstate(all="ignore"):
            return array.astype(kind), f"as {kind}"
    if way == "length" or array.ndim < 2:
        size = rng.choice([0, 1, array.shape[0] - 1, array.shape[0] + 1, 2 * array.shape[0], 1000])
        size = max(0, size) if array.ndim else 0
        if not array.ndim:
            return array.reshape(1), "one axis more"
        return np.resize(array, (size, *array.shape[1:])) if array.size else np.ones(
            (size, *array.shape[1:]), array.dtype
        ), f"length {size}"
    ways: dict[str, Callable[[], np.ndarray]] = {
        "transposed": lambda: array.T,
        "flat": lambda: array.reshape(-1),
        "one axis more": lambda: array[None],
        "no columns": lambda: array[:, :0],
        "one column less": lambda: array[:, 1:],
        "one column more": lambda: np.concatenate([array, array[:, :1]], 1),
        "16 columns more": lambda: np.concatenate([array] + 16 * [array[:, :1]], 1),
        "scalar": lambda: array.reshape(-1)[0] if array.size else np.zeros((), array.dtype),
        "first column": lambda: array[:, 0],
    }
    name = rng.choice(list(ways))
    return np.ascontiguousarray(ways[name]()).reshape(np.shape(ways[name]())), name


def forge_arrays(arrays: dict[str, np.ndarray], rng: random.Random) -> str:
    """Change one of several arrays, in place, or its name; return a description of the change."""
    name, way = rng.choice(list(arrays)), rng.random()
    if way < 0.05:
        del arrays[name]
        return f"{name} deleted"
    if way < 0.1:
        new = rng.choice(
            [f"{name}x", name.rpartition(".")[2], f"{name}.2", "posterior.sum.x", "exact.plan"]
        )
        arrays[new] = arrays.pop(name)
        return f"{name} renamed {new}"
    if way < 0.15:
        new = rng.choice(
            [
                "phi",
                "phi2.g",
                "exact.plan",
                "exact.last.phi",
                "posterior.sum.x",
                "exact.trace.x",
                "completion.x",
            ]
        )
        arrays[new] = arrays[name]
        return f"{new}, a copy of {name}"
    arrays[name], change = forge_array(arrays[name], rng)
    return f"{name} {change}"


def _manifests(place: Path) -> list[Path]:
    return sorted(place.glob("checkpoints/step-*/manifest.json"))


def _sign(place: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Rewrite the manifests of a run with a change and valid digests."""
    for path in _manifests(place):
        content = unseal(path, path.read_bytes())
        change(content)
        path.write_bytes(seal(content))


def _config(place: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Rewrite the record of a run with a change and valid digests, also in the manifests."""
    path = place / "config.json"
    config = jsonio.parse_sealed(path.read_bytes(), path)
    change(config)
    path.write_bytes(jsonio.format_sealed(config))
    with contextlib.suppress(Exception):  # a record without an identity
        own = identity(config)
        _sign(place, lambda m: m.update(config=own.fields, identity=own.digest))


def of_config(place: Path, rng: random.Random) -> str:
    """Forge the record of a run."""
    said = []

    def change(config):
        part = rng.choice(["options", "corpus", "", ""])
        said.append(forge_record(config[part] if part else config, rng))

    _config(place, change)
    return f"config.json: {said[0]}"


def of_manifest(place: Path, rng: random.Random) -> str:
    """Forge the manifest of the latest checkpoint."""
    path = _manifests(place)[-1]
    content = unseal(path, path.read_bytes())
    said = forge_record(content, rng)
    path.write_bytes(seal(content))
    return f"manifest.json: {said}"


def of_state(place: Path, rng: random.Random) -> str:
    """Forge an array in the latest checkpoint."""
    path = _manifests(place)[-1]
    state = path.with_name("state.safetensors")
    arrays = {name: array.copy() for name, array in load(state, digest_of(state)).items()}
    said = forge_arrays(arrays, rng)
    state.write_bytes(b"".join(encode(arrays, compress=True)))
    content = unseal(path, path.read_bytes())
    content["files"][state.name] = digest_of(state)._asdict()
    training = state.with_name("training.safetensors")
    whole = dict(load(training, digest_of(training))) if training.exists() else {}
    content["tensors"] = describe(arrays | whole)
    path.write_bytes(seal(content))
    return f"state: {said}"


def of_samples(place: Path, rng: random.Random) -> str:
    """Forge an array in one stored sample, or in all of them alike."""
    files = sorted((place / "samples").glob("*.safetensors"))
    if not files:
        return of_state(place, rng)
    seed = rng.random()
    some = files if rng.random() < 0.5 else [rng.choice(files)]
    for file in some:
        arrays = {name: array.copy() for name, array in view(file).items()}
        said = forge_arrays(arrays, random.Random(seed))
        file.write_bytes(b"".join(encode(arrays)))
        written = digest_of(file)._asdict()
        _sign(
            place,
            lambda m, file=file, written=written: m["samples"].update(
                {file.name: written} if file.name in m["samples"] else {}
            ),
        )
    return f"{'all samples' if len(some) > 1 else some[0].name}: {said}"


def of_json(place: Path, rng: random.Random) -> str:
    """Forge another record of a run or of its stored corpora."""
    paths = [place / name for name in ("status.json", "labels.json", "replication.json")]
    paths += [place / "corpus/meta.json", *sorted(place.glob("holdout/*/meta.json"))] * 3
    path = rng.choice(paths)
    if path.name == "labels.json":
        path.write_text(json.dumps({"topics": {"1": "a", "2": "b"}, "1": "x", "2": "y"}))
    if path.name == "replication.json":
        topics = json.loads((place / "config.json").read_text())["options"].get("topics") or 3
        step = json.loads((place / "status.json").read_text())["step"]
        path.write_text(json.dumps({"found": [1] * topics, "replicates": 6, "step": step}))
    if not path.exists():
        return of_config(place, rng)
    content = json.loads(path.read_text())
    was_sealed = isinstance(content, dict) and content.pop("digest", None)
    said = forge_record(content, rng)
    path.write_bytes(jsonio.format_sealed(content) if was_sealed else json.dumps(content).encode())
    return f"{path.relative_to(place)}: {said}"


def of_metrics(place: Path, rng: random.Random) -> str:
    """Forge a line in the metrics or the log."""
    path = place / rng.choice(["metrics.jsonl", "log.jsonl"])
    lines = path.read_text().splitlines()
    number = rng.randrange(len(lines))
    record = json.loads(lines[number])
    said = forge_record(record, rng)
    lines[number] = json.dumps(record)
    path.write_text("\n".join(lines) + "\n")
    if path.name == "metrics.jsonl":
        written = digest_of(path)._asdict()
        last = _manifests(place)[-1]
        content = unseal(last, last.read_bytes())
        content["append"][path.name] = written
        last.write_bytes(seal(content))
    return f"{path.name}:{number + 1}: {said}"


def of_numpy(place: Path, rng: random.Random) -> str:
    """Forge an array of a stored corpus or of the held-out documents, or the word counts."""
    paths = [place / "word-counts.npy", *sorted(place.glob("corpus/*.np[yz]"))]
    paths += sorted(place.glob("holdout/*/*.npz"))
    path = rng.choice(paths)
    if path.suffix == ".npy":
        array, said = forge_array(np.load(path), rng)
        np.save(path, array)
    else:
        with zipfile.ZipFile(path) as archive:
            parts = {
                info.filename: (info.compress_type, archive.read(info))
                for info in archive.infolist()
            }
        name = rng.choice(list(parts))
        kind, data = parts[name]
        if name.endswith(".npy"):
            array, said = forge_array(np.load(io.BytesIO(data), allow_pickle=False), rng)
            file = io.BytesIO()
            np.save(file, array)
            data = file.getvalue()
        elif name.endswith(".json"):
            record = json.loads(data)
            said = forge_record(record, rng)
            data = json.dumps(record).encode()
        else:
            data, said = data[: rng.randrange(len(data) + 1)], "cut"
        said = f"{name} {said}"
        parts[name] = kind, data
        with zipfile.ZipFile(path, "w") as archive:
            for other, (kind, content) in parts.items():
                archive.writestr(other, content, kind)
    _sign_corpus(path)
    if path.parent == place:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        _config(place, lambda config: config["corpus"].update({"word_counts": digest}))
    return f"{path.relative_to(place)}: {said}"


def _sign_corpus(path: Path) -> None:
    """Rewrite the digests of a stored corpus's file in all of its records."""
    record = path.with_name("meta.json")
    if not record.exists():
        return
    data = path.read_bytes()
    written = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}

    def update(value: Any) -> None:
        for key, item in value.items() if isinstance(value, dict) else ():
            if key == path.name and isinstance(item, dict):
                item.update({n: v for n, v in written.items() if n in item})
                item.pop("stamp", None)
            update(item)

    content = json.loads(record.read_text())
    update(content)
    record.write_text(json.dumps(content))


#: The ways to forge a run; the more often one is listed, the more often it is taken.
WAYS = [
    of_config,
    of_config,
    of_manifest,
    *4 * [of_state],
    *2 * [of_samples],
    of_json,
    of_metrics,
    of_numpy,
]
