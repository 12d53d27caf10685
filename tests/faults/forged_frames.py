"""Changes of compressed arrays of checkpoints and samples, with matching digests."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from faults.forgeries import _manifests, _sign, forge_array, of_state

from pysgrld.models.samples import CELLS, TOKENS, TOPICS, _compress
from pysgrld.run.checkpoint_read import seal, unseal
from pysgrld.run.files import digest_of
from pysgrld.run.packing import MOST, pack
from pysgrld.run.tensors import describe, encode, load, view

#: A length that no run here has: the header of a frame, or a form, promises ten gigabytes.
HUGE = 10 << 30
#: Bytes of a frame, and how many times as much it unpacks to: more than a real run takes, or as much
#: as a reader has to accept.
BOMB, RATIOS = 5 << 20, (64, MOST)


def _skippable(size: int) -> bytes:
    """Return a frame that a decompressor skips."""
    return b"\x50\x2a\x4d\x18" + size.to_bytes(4, "little") + bytes(size)


def _promise(frame: bytes, head: bytes) -> bytes:
    """Return a frame with another header: a window and a content of ten gigabytes."""
    return frame[:4] + head + frame[zstandard.frame_header_size(frame) :]


def _squeeze(data: bytes, window: int) -> bytes:
    """Return a frame that needs a window of 2 ** window bytes, and does not state its length."""
    parameters = zstandard.ZstdCompressionParameters.from_level(1, window_log=window)
    engine = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return engine.compress(data) + engine.flush()


def forge_frame(frame: bytes, data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Change a zstd frame of ``data``; return it and a description of the change."""
    place = rng.randrange(len(frame))
    length = HUGE.to_bytes(8, "little")
    ways: dict[str, Callable[[], bytes]] = {
        "cut": lambda: frame[:place],
        "of no bytes": lambda: b"",
        "with bytes after it": lambda: frame + bytes(rng.choice([1, 9, 4096])),
        "twice": lambda: 2 * frame,
        "after a skippable one": lambda: _skippable(rng.choice([0, 9, 4096])) + frame,
        "with a changed bit": lambda: (
            frame[:place] + bytes([frame[place] ^ 1 << rng.randrange(8)]) + frame[place + 1 :]
        ),
        "not compressed": lambda: data,
        "that promises ten gigabytes": lambda: _promise(frame, b"\xe0" + length),
        "with a window of a gigabyte": lambda: _promise(frame, b"\xc0\xa0" + length),
        "with a real window of 128 MB": lambda: _squeeze(data, 27),
        "of ever more zeros": lambda: _squeeze(bytes(64 << 20), 20),
        "without a length": lambda: _squeeze(data, 20),
    }
    way = rng.choice(list(ways))
    return ways[way](), f"a frame {way}"


def _forge_form(array: np.ndarray, rng: random.Random) -> Any:
    """Return a wrong type and shape of a compressed array, as the metadata of a header have them."""
    code, *shape = describe({"x": array})["x"].values()
    shape = list(map(str, *shape))
    longer = [str(int(shape[0]) + rng.choice([-1, 1, 7])), *shape[1:]]
    return rng.choice(
        [
            *(None, 3, [], {}, "", code, f"{code} ", f"{code} nan", f"{code} -1", f"{code} 0"),
            *(" ".join([code, f"-{shape[0]}", *shape[1:]]), " ".join([code, *shape, "\n"])),
            *(
                " ".join([code, *longer]),
                " ".join([code, *shape[::-1]]),
                " ".join([code, *shape, "1"]),
            ),
            *(" ".join([other, *shape]) for other in ("F64", "I8", "BOOL", "F16", "NAN", "x")),
            *(f"{code} {n}" for n in (array.size, HUGE, 1 << 62, 10**18, 10**19, "1 " * 9 + "1")),
            *(f"{code} {1 << 32} {1 << 32}", f"{code} {1 << 62} 0", f"{code} {1 << 62} 4"),
        ]
    )


def _parse_form(form: Any) -> dict[str, Any] | None:
    """Return the manifest's entry for a form, or None if it has none."""
    try:
        code, *shape = form.split()
        return {"dtype": code, "shape": [int(n) for n in shape]}
    except (AttributeError, ValueError):
        return None


def of_packed(place: Path, rng: random.Random) -> str:
    """Compress an array of the latest checkpoint, and forge its frame, its form or its values."""
    path = _manifests(place)[-1]
    state = path.with_name("state.safetensors")
    arrays = {name: array.copy() for name, array in load(state, digest_of(state)).items()}
    if not (names := [name for name, array in arrays.items() if array.size and array.ndim]):
        return of_state(place, rng)
    name, way = rng.choice(names), rng.choice(["frame", "form", "array", "bomb", "both", "name"])
    array, said, key = arrays[name], "", name
    if way == "array":
        array, said = forge_array(array, rng)
        if not (array.size and array.ndim):
            array, said = arrays[name], "intact"
    form: Any = " ".join(map(str, (describe({"x": array})["x"]["dtype"], *array.shape)))
    frame = b"".join(pack(np.ascontiguousarray(array)))
    if way in ("frame", "both"):
        frame, said = forge_frame(frame, array.tobytes(), rng)
    if way in ("form", "both"):
        form = _forge_form(array, rng)
        said += f" form {form!r}"
    if way == "bomb":
        size = rng.choice(RATIOS) * BOMB
        rows = size // (array.itemsize * math.prod(array.shape[1:]))
        form = " ".join([form.split()[0], *map(str, (rows, *array.shape[1:]))])
        zeros = np.zeros((rows, *array.shape[1:]), array.dtype)
        frame = b"".join(pack(zeros))[:BOMB].ljust(BOMB, b"\0")
        said = f"a bomb of {size >> 20} MB"
        key = rng.choice([name, name, "phi2.g", "posterior.sum.x"])
    if way == "name":
        key = rng.choice(["x", "__metadata__", "", f"{name}x"])
        said = f"metadata of {key!r}"
    _write_packed(state, path, arrays, (name, key, form, frame))
    return f"state packed: {name} {said}"


def _write_packed(
    state: Path, manifest: Path, arrays: dict[str, np.ndarray], packed: tuple[str, str, Any, bytes]
) -> None:
    """Write a state with one compressed array, and a manifest of it.

    Parameters
    ----------
    state, manifest : Path
    arrays : dict
    packed : tuple
        The array's name, its name in the metadata, its form, and its frame.
    """
    name, key, form, frame = packed
    described = describe(arrays)
    entries = described | {name: {"dtype": "U8", "shape": [len(frame)]}}
    if key in ("phi2.g", "posterior.sum.x"):
        entries = described | {key: {"dtype": "U8", "shape": [len(frame)]}}
        name = key
    header: dict[str, Any] = {"__metadata__": {key: form}}
    data, position = b"", 0
    for each in sorted(entries):
        piece = frame if each == name else np.ascontiguousarray(arrays[each]).tobytes()
        header[each] = entries[each] | {"data_offsets": [position, position + len(piece)]}
        position += len(piece)
        data += piece
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % 64)
    state.write_bytes(len(text).to_bytes(8, "little") + text + data)
    content = unseal(manifest, manifest.read_bytes())
    content["files"][state.name] = digest_of(state)._asdict()
    training = state.with_name("training.safetensors")
    whole = dict(load(training, digest_of(training))) if training.exists() else {}
    content["tensors"] = {**described, name: _parse_form(form) or entries[name]} | describe(whole)
    manifest.write_bytes(seal(content))


def of_counted(place: Path, rng: random.Random) -> str:
    """Forge the compressed counts of one stored sample, or of all of them alike."""
    files = [f for f in sorted((place / "samples").glob("*.safetensors")) if CELLS in view(f)]
    if not files:
        return of_packed(place, rng)
    seed, name = rng.random(), rng.choice([CELLS, TOPICS, TOKENS])
    some = files if rng.random() < 0.5 else [rng.choice(files)]
    for file in some:
        again = random.Random(seed)
        arrays = {key: array.copy() for key, array in view(file).items()}
        frame = arrays[name].tobytes()
        data = zstandard.ZstdDecompressor().decompress(frame)
        if again.random() < 0.5:
            new, said = forge_frame(frame, data, again)
        else:
            numbers, said = forge_array(np.frombuffer(data, np.uint8), again)
            flat = np.abs(numbers.reshape(-1).astype(np.int64))
            new = _compress(flat).tobytes()
        arrays[name] = np.frombuffer(new, np.uint8)[None]
        file.write_bytes(b"".join(encode(arrays)))
        written = digest_of(file)._asdict()
        _sign(
            place,
            lambda m, file=file, written=written: m["samples"].update(
                {file.name: written} if file.name in m["samples"] else {}
            ),
        )
    return f"{'all samples' if len(some) > 1 else some[0].name} packed: {name} {said}"
