"""Golden cases in a process whose NumPy and BLAS are told to use another processor type."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

import pysgrld

#: What NumPy finds here beyond what it was built to need.
FOUND = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
#: ... and of it, what only processors with AVX-512 have.
WIDE = [name for name in FOUND if name.startswith(("AVX512", "X86_V4"))]

#: Settings of the environment by the processor that they stand for. Kernels of a BLAS that is not
#: OpenBLAS stay as they are.
PROCESSORS = {
    "AVX2": {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": " ".join(WIDE)},
    "SSE": {
        "OPENBLAS_CORETYPE": "Prescott",
        "NPY_DISABLE_CPU_FEATURES": " ".join(FOUND),
        "SGMC_ISA": "baseline",
    },
}

_SCRIPT = """
import json, sys, pathlib
from golden.cases import run_hashes
folder = pathlib.Path(sys.argv[1])
print(json.dumps({name: run_hashes(name, folder) for name in sys.argv[2:]}))
"""


def hashes_on(processor: str, names: list[str], folder: Path) -> dict[str, dict[str, str]]:
    """Run cases as on the given processor, in a separate process."""
    ours = {name: value for name, value in os.environ.items() if name not in _set_by_any()}
    # the package that the tests import: as it is installed, where that is so
    places = (Path(pysgrld.__file__).parents[1], Path(__file__).parents[1])
    ours["PYTHONPATH"] = os.pathsep.join(map(str, places))
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(folder), *names],
        env=ours | PROCESSORS[processor],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, dict[str, str]] = json.loads(done.stdout)
    return found


def _set_by_any() -> set[str]:
    return {name for settings in PROCESSORS.values() for name in settings}
