"""Megabytes of text read per second into a stored corpus, and read and counted by other tools.

    python benchmarks/reading.py FILE [--dump DUMP.xml.bz2] [--repeats 3]

FILE is text, a document a line, possibly compressed. It is written as text, gz, bz2, CSV and Parquet,
and each is built into a corpus by ``sgmc corpus build``, texts kept, one thread, in a process of its own
with its start. polars, duckdb and scikit-learn read the same file and count the words of each document,
and write nothing; one that is missing is left out. Megabytes are of text as UTF-8; seconds are the least
of the repeats, of the processor and by the clock. The table of docs/internals/speed.md comes from here.
"""

from __future__ import annotations

import argparse
import bz2
import csv
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from pysgrld.corpus.lines import blocks

TOOLS = {"polars": "polars", "duckdb": "duckdb", "scikit-learn": "sklearn"}
WORD = r"\w\w+"


def main() -> None:
    """Write the files, and print a row for each of them and tool."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--dump", type=Path, help="a dump of Wikipedia, for sgmc alone")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--count-by", choices=TOOLS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.count_by:
        counted(given.count_by, given.file)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with given.file.open("rb") as file:
            text = b"".join(blocks(file.read))
        files = written(text, folder)
        print("| file | tool | MB/s of the processor | by the clock |\n|---|---|---:|---:|")
        for path in files:
            row(path.suffix, "sgmc", build(path, folder), len(text), given.repeats, folder)
            for tool, module in TOOLS.items():
                alone = tool == "scikit-learn" and path.suffix != ".txt"
                if find_spec(module) and not alone and path.suffix != ".bz2":
                    command = [sys.executable, __file__, str(path), "--count-by", tool]
                    row(path.suffix, tool, command, len(text), given.repeats, folder)
        if given.dump:
            with bz2.open(given.dump) as file:
                size = sum(map(len, iter(lambda: file.read(1 << 20), b"")))
            row(".xml.bz2", "sgmc", build(given.dump, folder), size, given.repeats, folder)


def written(text: bytes, folder: Path) -> list[Path]:
    """Write a text, one document per line, in the formats to compare."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    lines = text.decode().rstrip("\n").split("\n")
    (folder / "a.txt").write_bytes(text)
    (folder / "a.gz").write_bytes(gzip.compress(text, 6))
    (folder / "a.bz2").write_bytes(bz2.compress(text))
    with (folder / "a.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "text"])
        rows.writerows(enumerate(lines))
    table = pa.table({"id": pa.array(range(len(lines))), "text": lines})
    pq.write_table(table, folder / "a.parquet", compression="zstd")
    return [folder / name for name in ("a.txt", "a.gz", "a.bz2", "a.csv", "a.parquet")]


def build(path: Path, folder: Path) -> list[str]:
    """Return the command that builds a corpus."""
    typed = ["--keep-text", "all", "--quiet", "--out", str(folder / "built")]
    return [sys.executable, "-P", "-m", "pysgrld", "corpus", "build", str(path), *typed]


def row(name: str, tool: str, command: list[str], size: int, repeats: int, folder: Path) -> None:
    """Run a command, and print the megabytes that it reads per second."""
    best = [float("inf"), float("inf")]
    one = dict.fromkeys(("OMP_NUM_THREADS", "POLARS_MAX_THREADS", "SGMC_THREADS"), "1")
    for _ in range(repeats):
        shutil.rmtree(folder / "built", ignore_errors=True)
        began, clock = os.times(), time.perf_counter()
        subprocess.run(command, check=True, env=os.environ | one)
        now, took = os.times(), time.perf_counter() - clock
        spent = now.children_user + now.children_system
        best[0] = min(best[0], spent - began.children_user - began.children_system)
        best[1] = min(best[1], took)
    cells = " | ".join(f"{size / 1e6 / seconds:.1f}" for seconds in best)
    print(f"| {name.removeprefix('.')} | {tool} | {cells} |", flush=True)


def counted(tool: str, path: Path) -> None:
    """Count the words of each document with another tool."""
    if tool == "polars":
        import polars as pl

        if path.suffix == ".parquet":
            table = pl.read_parquet(path, columns=["text"])
        elif path.suffix == ".csv":
            table = pl.read_csv(path, columns=["text"])
        else:
            table = pl.DataFrame({"text": lines_of(path)})
        words = pl.col("text").str.to_lowercase().str.extract_all(WORD)
        found = table.with_row_index().with_columns(words).explode("text")
        found.group_by("index", "text").len()
    elif tool == "duckdb":
        import duckdb

        base = duckdb.connect(config={"threads": 1})
        reads = {".parquet": "read_parquet(?)", ".csv": "read_csv(?, max_line_size=64000000)"}
        if path.suffix in reads:
            base.execute(f"create table t as select text from {reads[path.suffix]}", [str(path)])
        else:
            import pyarrow as pa

            base.register("texts", pa.table({"text": lines_of(path)}))
            base.execute("create table t as select text from texts")
        words = "select rowid as d, unnest(regexp_extract_all(lower(text), '\\w\\w+')) as w from t"
        base.execute(f"create table n as select d, w, count(*) as n from ({words}) group by all")
    else:
        from sklearn.feature_extraction.text import CountVectorizer

        CountVectorizer(token_pattern=WORD).fit_transform(lines_of(path))


def lines_of(path: Path) -> list[str]:
    """Return the documents of a text file."""
    opened = gzip.open if path.suffix == ".gz" else Path.open
    with opened(path, "rb") as file:
        return file.read().decode().rstrip("\n").split("\n")


if __name__ == "__main__":
    main()
