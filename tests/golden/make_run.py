"""Make the run that every later release must go on with: ``python tests/golden/make_run.py``.

Called once at a release, and when the schema of checkpoints changes before one. It writes
``run-VERSION-SCHEMA.tar.xz`` beside this file: a corpus of sixty lines and a run of it that was
stopped after twenty iterations. tests/faults/test_resume.py goes on with each of them.
"""

from __future__ import annotations

import os
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from faults_runs import OPTIONS, Silent, stop_at, write_corpus  # noqa: E402

from pysgrld.errors import Interrupted  # noqa: E402
from pysgrld.run.checkpoint_read import SCHEMA  # noqa: E402
from pysgrld.run.machine import version  # noqa: E402
from pysgrld.train.request import Request  # noqa: E402
from pysgrld.train.start import train  # noqa: E402


def plain(entry):
    """Leave out who made the archive and when: the same run is the same file."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def main():
    target = HERE / f"run-{version()}-{SCHEMA}.tar.xz"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_corpus(Path("corpus.txt"))
        try:
            train(Request(["corpus.txt"], OPTIONS | {"out": "run"}), Silent(stop_at(20)))
        except Interrupted as stopped:
            print(stopped)
        with tarfile.open(target, "w:xz") as archive:
            for name in ("corpus.txt", "run"):
                archive.add(name, filter=plain)
    print(f"{target}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
