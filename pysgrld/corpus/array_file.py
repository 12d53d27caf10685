"""A vector on disk that grows at its end."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pysgrld.types import Array

#: Bytes before the first value.
HEADER = 128


class ArrayFile:
    """A vector that grows at its end, as a ``.npy`` file: its header is written last."""

    def __init__(self, path: Path, dtype: np.dtype[Any], size: int | None = None) -> None:
        """Begin a file, or go on with one after its first ``size`` values."""
        self.dtype, self.size = dtype, size or 0
        self.digest = hashlib.sha256()
        self.file: BinaryIO
        if size is None:
            self.file = path.open("wb")
            self.file.write(bytes(HEADER))
            return
        self.file = path.open("r+b")
        self.file.truncate(HEADER + size * dtype.itemsize)
        self.file.seek(HEADER)
        while block := self.file.read(2**20):
            self.digest.update(block)

    def append(self, values: Array) -> None:
        """Write values after those that are there."""
        data = np.ascontiguousarray(values, self.dtype).data.cast("B") if len(values) else b""
        self.digest.update(data)
        self.file.write(data)
        self.size += len(values)

    def flush(self) -> int:
        """Force all values to disk, and return their number."""
        self.file.flush()
        os.fsync(self.file.fileno())
        return self.size

    def finish(self) -> str:
        """Write the header, force all of it to disk, and return the digest of the values."""
        text = f"{{'descr': '{self.dtype.str}', 'fortran_order': False, 'shape': ({self.size},), }}"
        self.file.seek(0)
        self.file.write(b"\x93NUMPY\x01\x00" + (HEADER - 10).to_bytes(2, "little"))
        self.file.write(text.ljust(HEADER - 11).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        return self.digest.hexdigest()
