"""Arrays in safetensors files, and the invariants that arrays must satisfy.

A file consists of eight bytes with the header length, a JSON header and plain buffers.

Any safetensors reader can open these files. This module writes them without the library, to hash
and flush the bytes on the way, without a second copy of the arrays in memory. It reads them without
the library, to check the header against the file size first, and because the library accepts
changed data. Names are sorted and the file has nothing else, so equal arrays give equal bytes.

Checkpoints compress large arrays (`pysgrld.run.packing`). The tensor of such an array has the bytes
of its frame, and the metadata of the header have the array's type and shape.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import re
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from pysgrld.errors import CheckpointError
from pysgrld.run import jsonio
from pysgrld.run.files import PIECE, Buffer, Written, open_regular, read_into
from pysgrld.run.packing import MOST, compute_packed_size, pack, unpack
from pysgrld.types import Array, Condition, Invariant, is_prior

MAX_HEADER = 16 << 20
MAX_TENSORS = 4096
#: Maximum number of dimensions of an array.
MAX_AXES = 8
NAME = re.compile(r"[a-z0-9_.]{1,64}")

#: Arrays of a verified file stay in memory if they have at most this number of bytes.
_KEPT = 1 << 20

#: Alignment in bytes of loaded arrays, as expected by the compiled kernels.
ALIGNMENT = 64

_DTYPES = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype("u1"),
    "I8": np.dtype("i1"),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}

#: Key of a header under which the types and shapes of the compressed arrays are stored.
_METADATA = "__metadata__"
_FORM = re.compile(r"([A-Z0-9]{2,4})((?: \d{1,19})+)")


class DamagedError(Exception):
    """Error for a file that was changed after it was written; it names file and failed check."""


class Tensor(NamedTuple):
    """Position of an array in a file; `start` and `stop` count bytes after the header.

    `packed` is True if these bytes are a compressed array, of which `dtype` and `shape` are known.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int
    packed: bool = False


class TensorHeader(NamedTuple):
    """A checked header: the tensors in file order, and the position of the first tensor's bytes."""

    tensors: tuple[Tensor, ...]
    offset: int


def describe(arrays: Mapping[str, Array]) -> dict[str, dict[str, Any]]:
    """Return the header's entries (dtype and shape) for arrays, sorted by name.

    Raises
    ------
    ValueError
        For a name, type or number of arrays that cannot be stored.
    """
    described = {}
    for name in sorted(arrays):
        array = arrays[name]
        code = _CODES.get(array.dtype.newbyteorder("<"))
        if not NAME.fullmatch(name):
            raise ValueError(f"array name {name!r} must match {NAME.pattern}")
        if code is None or array.ndim > MAX_AXES:
            raise ValueError(f"array {name!r}: {array.dtype} of {array.ndim} axes cannot be stored")
        described[name] = {"dtype": code, "shape": list(array.shape)}
    if len(described) > MAX_TENSORS:
        raise ValueError(
            f"{len(described)} arrays are too many: at most {MAX_TENSORS} can be stored"
        )
    return described


def format_header(
    described: Mapping[str, Mapping[str, Any]], sizes: Mapping[str, int] = MappingProxyType({})
) -> bytes:
    """Return a file's header as bytes; the arrays must follow it in the order of the entries.

    Parameters
    ----------
    described : mapping
        For each name, ``dtype`` (its code in the format) and ``shape``.
    sizes : mapping, optional
        Sizes in bytes of compressed arrays, by name.

    Returns
    -------
    bytes
        The length of the header as 8 bytes, and the header.
    """
    header: dict[str, Any] = {}
    position = 0
    if sizes:
        forms = {name: (described[name]["dtype"], *described[name]["shape"]) for name in sizes}
        header[_METADATA] = {name: " ".join(map(str, form)) for name, form in forms.items()}
        frames = {name: {"dtype": "U8", "shape": [size]} for name, size in sizes.items()}
        described = {**described, **frames}
    for name, entry in described.items():
        stop = position + math.prod(entry["shape"]) * _DTYPES[entry["dtype"]].itemsize
        header[name] = {**entry, "data_offsets": [position, stop]}
        position = stop
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    # Pad with spaces to a multiple of 64 bytes, so that the first array is aligned in a mapped
    # file.
    text += b" " * (-(len(text) + 8) % ALIGNMENT)
    return len(text).to_bytes(8, "little") + text


def encode(arrays: Mapping[str, Array], *, compress: bool = False) -> Iterator[Buffer]:
    """Yield the bytes of a file that stores the given arrays, in pieces.

    Parameters
    ----------
    arrays : mapping
        Arrays by name.
    compress : bool
        True to compress large arrays. Each is compressed twice, first to know its size, so that
        compressed arrays need no memory.

    Yields
    ------
    bytes or memoryview
        Header, then the buffers in the order of names.
    """
    described = describe(arrays)
    sizes: dict[str, int] = {}
    if compress:
        every = {name: compute_packed_size(_to_little_endian(arrays[name])) for name in described}
        sizes = {name: size for name, size in every.items() if size is not None}
    yield format_header(described, sizes)
    for name in described:
        array = _to_little_endian(arrays[name])
        if name in sizes:
            yield from pack(array)
        elif array.size:
            yield array.reshape(-1).view(np.uint8).data


def _to_little_endian(array: Array) -> Array:
    """Return an array as contiguous little-endian numbers."""
    array = np.ascontiguousarray(array)
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def check_header(path: Path, head: bytes, size: int) -> TensorHeader:
    """Check a header against its file's size, before memory is allocated for the arrays.

    Parameters
    ----------
    path : Path
        Path for messages.
    head : bytes
        The JSON text, without the eight bytes of its length.
    size : int
        Size of the whole file in bytes.

    Raises
    ------
    DamagedError
        If the header is invalid; the message describes the first problem.
    """
    room = size - 8 - len(head)
    try:
        content = jsonio.parse(head)
    except ValueError as error:
        raise DamagedError(f"{path}: header: {error}") from None
    if not isinstance(content, dict) or len(content) > MAX_TENSORS:
        raise DamagedError(f"{path}: the header is not a table of at most {MAX_TENSORS} arrays")
    forms = content.pop(_METADATA, {})
    if not isinstance(forms, dict) or not forms.keys() <= content.keys():
        raise DamagedError(f"{path}: the metadata of the header do not fit its arrays")
    tensors = []
    for name, entry in content.items():
        if not NAME.fullmatch(name):
            raise DamagedError(f"{path}: the header has an invalid array name {name[:80]!r}")
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
            raise DamagedError(f"{path}: the header has wrong keys for array {name!r}")
        code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(code, str) or code not in _DTYPES:
            raise DamagedError(f"{path}: the header has a wrong dtype for array {name!r}")
        # The number and size of axes are limited, so that the product of sizes stays a small
        # integer.
        if (
            not isinstance(shape, list)
            or len(shape) > MAX_AXES
            or not all(type(n) is int and 0 <= n <= 1 << 62 for n in shape)
        ):
            raise DamagedError(f"{path}: the header has a wrong shape for array {name!r}")
        if (
            not isinstance(offsets, list)
            or len(offsets) != 2
            or not all(type(n) is int and 0 <= n <= room for n in offsets)
            or offsets[1] - offsets[0] != math.prod(shape) * _DTYPES[code].itemsize
        ):
            raise DamagedError(f"{path}: the header has wrong offsets for array {name!r}")
        tensor = Tensor(name, code, tuple(shape), offsets[0], offsets[1])
        tensors.append(_describe_packed(path, tensor, forms[name]) if name in forms else tensor)
    tensors.sort(key=lambda tensor: (tensor.start, tensor.stop, tensor.name))
    position = 0
    for tensor in tensors:
        if tensor.start != position:
            kind = "overlap" if tensor.start < position else "a hole"
            raise DamagedError(f"{path}: header: {kind} before array {tensor.name!r}")
        position = tensor.stop
    if position != room:
        raise DamagedError(
            f"{path}: the file has {room} bytes of data, but the header records {position}"
        )
    return TensorHeader(tuple(tensors), 8 + len(head))


def _describe_packed(path: Path, tensor: Tensor, form: Any) -> Tensor:
    """Return a compressed array's entry with uncompressed type and shape, parsed from ``form``."""
    match = _FORM.fullmatch(form) if isinstance(form, str) else None
    shape = tuple(map(int, match[2].split())) if match else ()
    if (
        match is None
        or match[1] not in _DTYPES
        or len(shape) > MAX_AXES
        or tensor.dtype != "U8"
        or len(tensor.shape) != 1
        or not 0 < math.prod(shape) * _DTYPES[match[1]].itemsize <= MOST * tensor.shape[0]
    ):
        raise DamagedError(
            f"{path}: the header has a wrong type or shape for compressed array {tensor.name!r}"
        )
    return tensor._replace(dtype=match[1], shape=shape, packed=True)


def _read_header(path: Path, fd: int, size: int) -> tuple[TensorHeader, bytes]:
    """Read and check a file's header; return the header and all bytes before the arrays."""
    if size < 8:
        raise DamagedError(f"{path}: the file has {size} bytes, too few for a header")
    prefix = bytearray(8)
    read_into(fd, memoryview(prefix))
    length = int.from_bytes(prefix, "little")
    if length > min(MAX_HEADER, size - 8):
        raise DamagedError(
            f"{path}: the header length {length} does not fit a file of {size} bytes"
        )
    head = bytearray(length)
    read_into(fd, memoryview(head))
    return check_header(path, bytes(head), size), bytes(prefix + head)


class StoredArrays(Mapping[str, Array]):
    """The arrays of a verified file; only small arrays stay in memory.

    A large array is read from the file at each access, and the caller owns the copy.

    Parameters
    ----------
    path : Path
    fd : int
        Descriptor of the open file, which this object duplicates, so that the file may be deleted.
    header : TensorHeader

    Attributes
    ----------
    described : dict
        dtype and shape of each array.
    """

    def __init__(self, path: Path, fd: int, header: TensorHeader) -> None:
        self._path, self._offset = path, header.offset
        self._tensors = {tensor.name: tensor for tensor in header.tensors}
        self._small: dict[str, Array] = {}
        self._digests: dict[str, bytes] = {}
        self.described = {
            t.name: {"dtype": t.dtype, "shape": list(t.shape)} for t in header.tensors
        }
        self._fd = os.dup(fd)

    def __del__(self) -> None:
        os.close(self._fd)

    def __reduce__(self) -> tuple[type[dict[str, Array]], tuple[dict[str, Array]]]:
        """Pickle the arrays themselves, because the open file is unavailable in other processes."""
        return dict, (dict(self),)

    def __contains__(self, name: object) -> bool:
        # The inherited method would read the array, which takes time.
        return name in self._tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def is_large(self, name: str) -> bool:
        """Return True if each access to an array reads it from the file."""
        return name in self._tensors and name not in self._small

    def __getitem__(self, name: str) -> Array:
        """Return an array by name.

        Raises
        ------
        CheckpointError
            If the file has been changed since it was verified, or cannot be read any more.
        """
        if name in self._small:
            return self._small[name]
        tensor, digest = self._tensors[name], hashlib.sha256()
        try:
            array = self._read(tensor, digest.update)
        except (OSError, EOFError, DamagedError) as error:
            raise CheckpointError(
                f"{self._path}: cannot be read any more ({error}); run the command again"
            ) from None
        if digest.digest() != self._digests[name]:
            raise CheckpointError(f"{self._path}: changed during reading; run the command again")
        return array

    def verify(self, tensor: Tensor, update: Callable[[Buffer], None]) -> Array:
        """Read an array and record its digest; cache the array if it is small."""
        digest = hashlib.sha256()

        def told(piece: Buffer) -> None:
            update(piece)
            digest.update(piece)

        array = self._read(tensor, told)
        self._digests[tensor.name] = digest.digest()
        if array.nbytes <= _KEPT:
            self._small[tensor.name] = array
        return array

    def _read(self, tensor: Tensor, tell: Callable[[Buffer], None]) -> Array:
        dtype = _DTYPES[tensor.dtype]
        count = math.prod(tensor.shape) * dtype.itemsize
        raw = np.empty(count + ALIGNMENT, dtype=np.uint8)
        skip = -raw.ctypes.data % ALIGNMENT
        raw = raw[skip : skip + count]
        array = raw.view(dtype).reshape(tensor.shape)
        if tensor.packed:
            start, stop = (self._offset + place for place in (tensor.start, tensor.stop))
            try:
                unpack(self._fd, start, stop, array, tell)
            except ValueError as error:
                raise DamagedError(f"{self._path}: array {tensor.name!r}: {error}") from None
            return array
        for start in range(0, count, PIECE):
            piece = raw[start : start + PIECE].data
            read_into(self._fd, piece, self._offset + tensor.start + start)
            tell(piece)
        return array


class JoinedArrays(ChainMap[str, Array]):
    """Arrays of several verified files, accessible as one mapping."""

    def __init__(self, *parts: StoredArrays) -> None:
        super().__init__()
        self.maps = list(parts)  # type: ignore[arg-type]  # ChainMap wants mappings to write to

    def is_large(self, name: str) -> bool:
        """Return True if each access to an array reads it from its file."""
        return any(part.is_large(name) for part in self.maps if isinstance(part, StoredArrays))


def load(
    path: Path,
    expected: Written,
    violation_of: Callable[[str, Array], str | None] = lambda name, array: None,
) -> StoredArrays:
    """Verify a file by hashing all bytes and checking all arrays; return the arrays.

    Parameters
    ----------
    path : Path
    expected : Written
    violation_of : callable, optional
        Takes the name and the array; returns the problem of the array, or None if it has none.

    Raises
    ------
    DamagedError
        If size, header, arrays or SHA-256 are not as expected.
    OSError
        If the file cannot be opened or read.
    """
    with open_regular(path) as (fd, size):
        if size != expected.size:
            raise DamagedError(f"{path}: has {size} bytes, but was written with {expected.size}")
        digest, problem = hashlib.sha256(), None
        try:
            header, head = _read_header(path, fd, size)
            digest.update(head)
            arrays = StoredArrays(path, fd, header)
            for tensor in header.tensors:
                array = arrays.verify(tensor, digest.update)
                problem = problem or violation_of(tensor.name, array)
        except EOFError as error:
            raise DamagedError(f"{path}: {error}") from None
        if digest.hexdigest() != expected.sha256:
            raise DamagedError(f"{path}: SHA-256 differs from the recorded one")
    if problem:
        raise DamagedError(f"{path}: {problem}")
    return arrays


def view(path: Path) -> dict[str, Array]:
    """Map a file's arrays into memory, read-only.

    Parameters
    ----------
    path : Path

    Returns
    -------
    dict of str to Array
        Arrays by name, which keep the mapping alive.

    Raises
    ------
    DamagedError
        If the file is not a valid file of arrays.
    OSError
        If it cannot be opened or mapped.
    """
    with open_regular(path) as (fd, size):
        try:
            header, _ = _read_header(path, fd, size)
        except EOFError as error:
            raise DamagedError(f"{path}: {error}") from None
        if any(tensor.packed for tensor in header.tensors):
            raise DamagedError(f"{path}: has compressed arrays")
        mapped = mmap.mmap(fd, size, access=mmap.ACCESS_READ)
    arrays = {}
    for tensor in header.tensors:
        count, begin = math.prod(tensor.shape), header.offset + tensor.start
        values = np.frombuffer(mapped, _DTYPES[tensor.dtype], count, begin)
        arrays[tensor.name] = values.reshape(tensor.shape)
    return arrays


def check_values(path: Path, invariants: Mapping[str, Invariant]) -> None:
    """Check that all floats in a file are finite, and that its matrices satisfy invariants.

    Raises
    ------
    DamagedError
        If an array or row breaks an invariant, which the message names, or if the header is
        invalid.
    OSError
        If it cannot be opened or read.
    """
    with open_regular(path) as (fd, size):
        try:
            header, _ = _read_header(path, fd, size)
            for tensor in header.tensors:
                dtype, (rows, columns) = _DTYPES[tensor.dtype], tensor.shape
                width = columns * dtype.itemsize
                block = max(1, PIECE // max(1, width))
                for row in range(0, rows, block):
                    piece = memoryview(bytearray(min(block, rows - row) * width))
                    read_into(fd, piece, header.offset + tensor.start + row * width)
                    part = np.frombuffer(piece, dtype).reshape(min(block, rows - row), columns)
                    if problem := violation(tensor.name, part, invariants, finite=True, first=row):
                        raise DamagedError(f"{path}: {problem}")
        except EOFError as error:
            raise DamagedError(f"{path}: {error}") from None


# ---- invariants of arrays

#: Empty mapping, for a file without arrays or for arrays without known invariants.
NONE: Mapping[str, Any] = MappingProxyType({})

#: Maximum deviation of a row's sum or norm from 1, which single precision causes.
TOLERANCE = 1e-3

#: Range of an array's values for each condition. All floats in a checkpoint must satisfy `FINITE`,
#: so that their squares and sums stay finite.
_RANGES = {
    Condition.FINITE: (-1e100, 1e100),
    Condition.NOT_NEGATIVE: (0.0, 1e100),
    Condition.COUNT: (0.0, 2.0**53),
    Condition.INDEX: (-1.0, 2.0**31),
    Condition.SHARE: (0.0, 1.0 + TOLERANCE),
    Condition.PRIOR: (0.0, 1e100),
    Condition.LOGARITHM: (-1e6, 1e6),
    Condition.ROWS_SUM_TO_1: (0.0, 1.0 + TOLERANCE),
    Condition.ROWS_UNIT_NORM: (-1.0 - TOLERANCE, 1.0 + TOLERANCE),
}

_WILDCARDS = frozenset("*?[")


def violation(
    name: str,
    array: Array,
    invariants: Mapping[str, Invariant],
    *,
    finite: bool = False,
    first: int = 0,
) -> str | None:
    """Describe the first invariant that an array violates; return None if it violates none.

    Parameters
    ----------
    name : str
    array : ndarray
        The array; it must be a matrix if an invariant concerns rows.
    invariants : mapping
        Invariants of arrays, by shell pattern of their names; all matching ones apply.
    finite : bool
        True if every float must be finite, even if no pattern matches the array's name.
    first : int
        Number of the array's first row, for messages.
    """
    matches = [invariant for pattern, invariant in invariants.items() if fnmatchcase(name, pattern)]
    conditions = {invariant.condition for invariant in matches}
    if finite and array.dtype.kind == "f":
        conditions.add(Condition.FINITE)
    for condition, row in dict.fromkeys(matches):
        if condition is Condition.ROWS_SUM_TO_1:
            with np.errstate(invalid="ignore"):
                values, wrong = array.sum(axis=1, dtype=np.float64), "sums to {:g} instead of 1"
        elif condition is Condition.ROWS_UNIT_NORM:
            values = np.sqrt(np.square(array, dtype=np.float64).sum(axis=1))
            wrong = "has the norm {:g} instead of 1"
        else:
            if condition is Condition.PRIOR and not (array.size and is_prior(array)):
                return f"array {name!r} has values that are not valid prior parameters"
            continue
        off = ~(np.abs(values - 1) < TOLERANCE)  # `off` is True for NaN.
        if off.any():
            k = int(off.argmax())
            return f"{row} {first + k} {wrong.format(values[k])}"
    if conditions:
        low = max(_RANGES[condition][0] for condition in conditions)
        high = min(_RANGES[condition][1] for condition in conditions)
        if array.dtype.kind == "f":  # The array's type must be able to represent the bounds.
            most = float(np.finfo(array.dtype).max)
            low, high = max(low, -most), min(high, most)
        flat, step = array.reshape(-1), max(1, PIECE // 8 // array.itemsize)
        for start in range(0, flat.size, step):
            piece = flat[start : start + step]
            good = (piece >= low) & (piece <= high)  # For NaN, both comparisons are False.
            if not good.all():
                index = np.unravel_index(start + int(good.argmin()), array.shape)
                where = ", ".join(str(int(i)) for i in index)
                return f"array {name!r} has {array[index]} at [{where}]"
    return None


def required(invariants: Mapping[str, Invariant]) -> list[str]:
    """Return the names of the arrays that must exist: all names without wildcards."""
    return [name for name in invariants if not _WILDCARDS & set(name)]
