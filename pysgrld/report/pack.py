"""Format 1 of a page's data: numbers as few bytes, and blocks of them."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from pysgrld.types import Array

#: Name and version of the format.
FORMAT, VERSION = "sgmc-report", 1
#: Natural logarithms that 65,535 steps span: down to 1e-9.
SPAN = 20.8
LEAST = 1e-9
#: A place that nothing is at.
NONE = 65_535
_LEVEL = 9
_TYPES = {"u8": "<u1", "i8": "<i1", "u16": "<u2", "u32": "<u4"}


def log16(p: npt.ArrayLike) -> Array:
    """Give probabilities as uint16, 0.03 % apart; 65,535 is less than 1e-9.

    >>> log16([1.0, 0.5, 0.0]).tolist()
    [0, 2184, 65535]
    """
    p = np.asarray(p, np.float64)
    steps = np.round(-np.log(np.maximum(p, LEAST)) * (NONE / SPAN))
    return np.where(p < LEAST, NONE, np.clip(steps, 0, NONE - 1)).astype(np.uint16)


def linear16(x: npt.ArrayLike) -> Array:
    """Give numbers from -1 to 1 as uint16.

    >>> linear16([-1.0, 0.0, 1.0]).tolist()
    [1, 32768, 65535]
    """
    steps = np.round(np.clip(np.asarray(x, np.float64), -1, 1) * 32767)
    return (steps + 32768).astype(np.uint16)


def share16(x: npt.ArrayLike) -> Array:
    """Give shares from 0 to 1 as uint16."""
    return np.round(np.clip(np.asarray(x, np.float64), 0, 1) * 65535).astype(np.uint16)


def share8(x: npt.ArrayLike) -> Array:
    """Give shares from 0 to 1 as uint8."""
    return np.round(np.clip(np.asarray(x, np.float64), 0, 1) * 255).astype(np.uint8)


def signed8(x: npt.ArrayLike) -> Array:
    """Give correlations from -1 to 1 as int8."""
    return np.round(np.clip(np.asarray(x, np.float64), -1, 1) * 127).astype(np.int8)


def compact(value: Any) -> bytes:
    """Write plain values as JSON without blanks, in UTF-8; half a surrogate becomes a question mark."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


class Packed:
    """Parts one after the other, little-endian, each padded to four bytes.

    Attributes
    ----------
    parts : list of [str, str, int]
        Name, type and length of each; of text its bytes.
    """

    def __init__(self) -> None:
        self.parts: list[list[Any]] = []
        self._bytes: list[bytes] = []

    def add(self, name: str, type: str, values: npt.ArrayLike) -> Packed:
        """Add numbers: of type u8, i8, u16 or u32."""
        array = np.ascontiguousarray(np.asarray(values).ravel(), _TYPES[type])
        return self._part(name, type, len(array), array.tobytes())

    def text(self, name: str, content: bytes) -> Packed:
        """Add text in UTF-8."""
        return self._part(name, "utf8", len(content), content)

    def _part(self, name: str, type: str, length: int, content: bytes) -> Packed:
        self.parts.append([name, type, length])
        self._bytes.append(content + bytes(-len(content) % 4))
        return self

    def packed(self) -> bytes:
        """Give all parts as one zlib stream."""
        packer = zlib.compressobj(_LEVEL)
        return b"".join([packer.compress(part) for part in self._bytes]) + packer.flush()


class Scale:
    """Sizes of packed text that is still being chosen."""

    def __init__(self) -> None:
        self._packer = zlib.compressobj(_LEVEL)
        self.bytes = 0

    def add(self, content: bytes) -> int:
        """Add text; give about the bytes that all of it takes in a page, in base64."""
        packed = self._packer.compress(content) + self._packer.flush(zlib.Z_SYNC_FLUSH)
        self.bytes += len(packed)
        return self.bytes * 4 // 3
