"""Damage each file of a run and of a stored corpus, and mutate inputs of each format.

A command that meets damage must be right or refuse it: it prints and writes what it does undamaged,
or warns of the file by its name, or ends with the documented code of damaged data and names the
file. All else is a fault: another result without a word (silent), a traceback or exit code 70
(bug), no end within half a minute (hang), a message without the file (unnamed).

    python benchmarks/damage.py folders [--flips 3] [-o folders.json]
    python benchmarks/damage.py inputs [--number 10000] [-o inputs.json]
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import gc
import gzip
import hashlib
import importlib
import io
import json
import lzma
import os
import pkgutil
import random
import select
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "SGMC_LOG_COLOR": "0", "NO_COLOR": "1"}

#: Seconds after which a command hangs.
HANGS = 30.0
#: Exit codes by which damaged data are refused: data, missing, checkpoint, mismatch.
REFUSED = {65, 66, 76, 78}
#: What is right, and what is a fault.
RIGHT = ("right", "warned", "refused")
FAULTS = ("silent", "unnamed", "bug", "hang")

DOCUMENTS, WORDS = 60, [f"{a}{b}" for a in ("red", "blue", "green") for b in "abcdefghij"]


class Case(NamedTuple):
    """A kind of damage, and a function that tries commands on it and returns a row for each."""

    name: str
    rows: Callable[[], list[dict[str, object]]]


class Done(NamedTuple):
    """Result of a command: its exit code (None if it hung), its two outputs, and the files it wrote."""

    code: int | None
    shown: str
    said: str
    files: dict[str, str]


def run(folder: Path, arguments: list[str], out: Path) -> Done:
    """Run a command in a fork of this process, which has imported all modules and has no threads."""
    shown, said = out / ".shown", out / ".said"
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.chdir(folder)
            for number, path in ((1, shown), (2, said)):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            from pysgrld.cli import main

            main(arguments)
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code or 0)
    handle = os.pidfd_open(pid)
    hung = not select.select([handle], [], [], HANGS)[0]
    if hung:
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(handle)
    texts = [path.read_text(errors="replace") if path.exists() else "" for path in (shown, said)]
    for path in (shown, said):
        path.unlink(missing_ok=True)
    files = {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }
    return Done(None if hung else code, texts[0], texts[1], files)


def judged(done: Done, undamaged: Done, named: Callable[[str], bool]) -> str:
    """Classify a command's reaction to damage, as one of the words of `RIGHT` and `FAULTS`."""
    if done.code is None:
        return "hang"
    new = "\n".join(set(done.shown.splitlines()) - set(undamaged.shown.splitlines()))
    told = named(f"{done.said}\n{new}")  # lists of checkpoints and of runs say it in their rows
    if done.code == 70 or done.code < 0 or "Traceback" in done.said or "bug in sgmc" in done.said:
        return "bug"
    if done.code in REFUSED:
        return "refused" if told else "unnamed"
    if done.code != undamaged.code:
        return "unnamed"
    if (done.shown, done.files) == (undamaged.shown, undamaged.files):
        return "right"
    return "warned" if told else "silent"


def load() -> None:
    """Import the whole package, so that forks need not import it."""
    import pysgrld

    for module in pkgutil.walk_packages(pysgrld.__path__, "pysgrld."):
        with contextlib.suppress(ImportError):
            importlib.import_module(module.name)
    gc.freeze()


# ---- folders: each file of a run and of a stored corpus, each damage, each command


def texts(seed: int = 0) -> list[dict[str, object]]:
    """Return documents with ids, titles and two columns."""
    rng = random.Random(seed)
    rows: list[dict[str, object]] = []
    for d in range(DOCUMENTS):
        own = WORDS[:18] if d % 2 else WORDS[12:]
        text = " ".join(rng.choices(own, k=rng.randint(8, 30)))
        rows.append(
            {"id": f"d{d}", "title": f"T {d}", "year": 1900 + d, "who": "xyz"[d % 3], "text": text}
        )
    return rows


TRAIN = [
    *("-k", "4", "--minibatch", "10", "--sweeps", "2", "--set", "warm-up=4", "--set", "burn-in=8"),
    *(
        "--set",
        "sample-every=2",
        "--iterations",
        "60",
        "--holdout",
        "10",
        "--min-df",
        "1",
        "--threads",
        "1",
    ),
    *(
        "--stop-words",
        "none",
        "--eval-every",
        "10",
        "--checkpoint-every",
        "20",
        "--seed",
        "3",
        "-q",
    ),
]
#: Commands that read a run; {out} is an empty folder.
OF_RUNS = [
    ["topics", "run", "--json"],
    ["topics", "run", "--intervals"],
    ["topics", "run", "--by", "who"],
    ["eval", "run"],
    ["eval", "run", "--corpus", "new.jsonl"],
    ["infer", "run", "new.jsonl"],
    ["infer", "run", "new.jsonl", "--draws", "20"],
    ["diagnose", "run"],
    ["export", "run", "--to", "csv", "-o", "{out}/tables"],
    ["export", "run", "--to", "npy", "-o", "{out}/arrays"],
    ["report", "run", "-o", "{out}/page.html"],
    ["runs", "."],
    ["checkpoint", "list", "run"],
    ["checkpoint", "verify", "run"],
]
#: Commands that read a stored corpus.
OF_CORPORA = [
    ["corpus", "info", "stored", "--json"],
    ["corpus", "info", "stored", "--verify"],
    ["corpus", "sample", "stored", "-n", "20", "-o", "{out}/sample"],
    ["corpus", "build", "stored", "--min-df", "2", "-o", "{out}/again"],
    ["train", "stored", *TRAIN, "--out", "{out}/run"],
]


def damages(flips: int) -> Iterator[tuple[str, Callable[[Path, random.Random], None]]]:
    """Yield the name of each kind of damage, and the function that does it to a file."""

    def rewritten(
        change: Callable[[bytes, random.Random], bytes],
    ) -> Callable[[Path, random.Random], None]:
        return lambda path, rng: path.write_bytes(change(path.read_bytes(), rng)) and None

    def flip(data: bytes, rng: random.Random) -> bytes:
        if not data:
            return b"\x01"
        at = rng.randrange(len(data))
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]

    def pipe(path: Path, rng: random.Random) -> None:
        path.unlink()
        os.mkfifo(path)

    yield "zeroed", rewritten(lambda data, _: bytes(len(data)))
    yield "emptied", rewritten(lambda data, _: b"")
    yield "truncated", rewritten(lambda data, rng: data[: rng.randrange(len(data) or 1)])
    yield "grown", rewritten(lambda data, rng: data + rng.randbytes(rng.randrange(1, 40)))
    for _ in range(flips):
        yield "one bit flipped", rewritten(flip)
    yield "a pipe", pipe


def folders(flips: int, most: int | None, folder: Path) -> list[Case]:
    """Make a run and a stored corpus; return a case for each kind of damage to each of their files."""
    whole = folder / "whole" / "copy"
    whole.mkdir(parents=True)
    rows = [json.dumps(row) + "\n" for row in texts()]
    (whole / "in.jsonl").write_text("".join(rows))
    (whole / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in texts(1)[:10]))
    fields = ["--meta-field", "year:integer,who", "--keep-text", "all"]
    build = ["corpus", "build", "in.jsonl", "-o", "stored", "--min-df", "1", "--stop-words", "none"]
    for command in (["train", "in.jsonl", *TRAIN, *fields, "--out", "run"], [*build, *fields]):
        done = run(whole, command, folder)
        assert done.code == 0, done.said
    # a command may show times, and the places of files: what differs in a copy is not compared
    other = shutil.copytree(whole, folder / "other" / "copy")
    cases: list[Case] = []
    for place, commands in (("run", OF_RUNS), ("stored", OF_CORPORA)):
        undamaged = {}
        for command in commands:
            twice = [tried(whole, command, folder), tried(other, command, folder)]
            assert twice[0].code == 0, (command, twice[0])
            undamaged[" ".join(command)] = twice
        files = sorted(p.relative_to(whole) for p in (whole / place).rglob("*") if p.is_file())
        for file in files:
            for number, (damage, change) in enumerate(damages(flips)):
                first = len(cases) * (most or 0) % len(commands)
                some = (commands[first:] + commands[:first])[:most]
                what = partial(one, whole, file, damage, number, change, some, undamaged)
                cases.append(Case(f"{file} {damage}", what))
    return cases


def tried(whole: Path, command: list[str], scratch: Path) -> Done:
    """Run a command on a folder, with an empty folder for its output."""
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        out = Path(name)
        done = run(whole, [part.replace("{out}", name) for part in command], out)
        return done._replace(
            shown=done.shown.replace(name, "OUT"), said=done.said.replace(name, "OUT")
        )


def one(
    whole: Path,
    file: Path,
    damage: str,
    number: int,
    change: Callable[[Path, random.Random], None],
    commands: list[list[str]],
    undamaged: dict[str, list[Done]],
) -> list[dict[str, object]]:
    """Damage one file of a copy, and run all commands on the copy."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "copy"
        shutil.copytree(whole, copy, symlinks=True)  # which keeps the times of files
        change(copy / file, random.Random(f"{file} {number}"))
        for command in commands:
            first, second = undamaged[" ".join(command)]
            done = tried(copy, command, Path(name))
            same = {k for k, v in first.files.items() if second.files.get(k) == v}
            cut = [
                d._replace(
                    files={k: v for k, v in d.files.items() if k in same or k not in first.files}
                )
                for d in (done, first)
            ]
            if first.shown != second.shown:
                cut = [d._replace(shown="") for d in cut]
            # a file of a sample or a checkpoint may be named by its folder
            names = {file.name, file.parent.name} if "step-" in str(file.parent) else {file.name}
            if file.name == "meta.json":  # record and file differ: which is damaged cannot be known
                names.add("was changed since it was written")
            what = judged(*cut, lambda said, names=names: any(n in said for n in names))
            found.append(
                {
                    "case": str(file),
                    "damage": damage,
                    "command": " ".join(command),
                    "found": what,
                    "code": done.code,
                    "said": done.said[-300:] if what in FAULTS else "",
                }
            )
    return found


# ---- inputs: each format, mutated


def inputs(folder: Path) -> dict[str, Path]:
    """Write a valid input of each format, and return their paths by name."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    from scipy import sparse

    rows = texts()
    text = "".join(f"{row['text']}\n" for row in rows)
    rng = np.random.default_rng(0)
    counts = sparse.csr_matrix(rng.poisson(0.4, (DOCUMENTS, len(WORDS))))
    triples = [(i + 1, j + 1, int(counts[i, j])) for i, j in zip(*counts.nonzero(), strict=True)]
    body = "".join(f"{i} {j} {n}\n" for i, j, n in triples)
    uci = f"{DOCUMENTS}\n{len(WORDS)}\n{len(triples)}\n{body}"
    by_row = [[(j, n) for i, j, n in triples if i == d + 1] for d in range(DOCUMENTS)]
    pages = "".join(
        f"<page><title>{row['title']}</title><ns>0</ns><id>{d}</id><revision>"
        f"<id>{d}</id>"
        f'<model>wikitext</model><format>text/x-wiki</format><text xml:space="preserve">'
        f"'''{row['text']}''' [[{row['text']}]]</text>"
        "</revision></page>\n"
        for d, row in enumerate(rows)
    )
    csv = "id,title,text\n" + "".join(f'{r["id"]},"{r["title"]}","{r["text"]}"\n' for r in rows)
    plain = {
        "lines.txt": text,
        "rows.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "rows.json": json.dumps(rows, indent=1),
        "rows.csv": csv,
        "rows.tsv": csv.replace(",", "\t"),
        "docword.x.txt": uci,
        "docs.ldac": "".join(
            f"{len(r)} " + " ".join(f"{j - 1}:{n}" for j, n in r) + "\n" for r in by_row
        ),
        "docs.svmlight": "".join("1 " + " ".join(f"{j}:{n}" for j, n in r) + "\n" for r in by_row),
        "counts.mtx": "%%MatrixMarket matrix coordinate integer general\n"
        f"{DOCUMENTS} {len(WORDS)} {len(triples)}\n{body}",
        "dump.xml": '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11">\n'
        f"<siteinfo><sitename>W</sitename></siteinfo>\n{pages}</mediawiki>\n",
        "page.html": f"<html><head><title>T</title></head><body><p>{text}</p></body></html>",
    }
    found = {}
    for name, content in plain.items():
        (folder / name).write_text(content)
        found[name] = folder / name
    for name, pack in (
        ("lines.txt.gz", lambda data: gzip.compress(data, mtime=0)),
        ("rows.jsonl.bz2", bz2.compress),
        ("docword.y.txt.xz", lzma.compress),
    ):
        (folder / name).write_bytes(
            pack(
                plain[
                    {"docword.y.txt.xz": "docword.x.txt"}.get(name, name.rpartition(".")[0])
                ].encode()
            )
        )
        found[name] = folder / name
    with contextlib.suppress(ImportError):
        import zstandard

        (folder / "rows.csv.zst").write_bytes(
            zstandard.ZstdCompressor(write_checksum=True).compress(csv.encode())
        )
        found["rows.csv.zst"] = folder / "rows.csv.zst"
    for form in ("csr", "csc", "coo"):
        data = io.BytesIO()
        sparse.save_npz(data, counts.asformat(form))
        (folder / f"{form}.npz").write_bytes(data.getvalue())
        found[f"{form}.npz"] = folder / f"{form}.npz"
    pq.write_table(
        pa.table({key: [row[key] for row in rows] for key in rows[0]}), folder / "rows.parquet"
    )
    found["rows.parquet"] = folder / "rows.parquet"
    with contextlib.suppress(ImportError):
        import docx

        document = docx.Document()
        for row in rows:
            document.add_paragraph(str(row["text"]))
        document.save(str(folder / "page.docx"))
        found["page.docx"] = folder / "page.docx"
    (folder / "page.pdf").write_bytes(pdf([str(row["text"]) for row in rows]))
    found["page.pdf"] = folder / "page.pdf"
    return found


def pdf(lines: list[str]) -> bytes:
    """Write lines as a PDF of one page."""
    content = "BT /F1 8 Tf 10 800 Td 10 TL " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
    parts = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 820] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    data, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{part}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(parts) + 1}\n0000000000 65535 f \n{table}trailer\n"
    end += f"<< /Size {len(parts) + 1} /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF\n"
    return data + end.encode()


#: Formats whose contents have checksums: a result of such a file must be that of the whole one.
CHECKED = (".gz", ".bz2", ".xz", ".npz")


def mutated(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """Mutate the bytes of a file in one to three ways."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        end = min(end, at + rng.choice((1, 4, 64, 4096)))
        other = rng.choice(others)
        cut = rng.randrange(len(other))
        way = rng.randrange(9)
        if way < 3 and data:
            place = rng.randrange(len(data))
            data = data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]
        elif way == 3:
            data = data[:at]
        elif way == 4:
            data = data[:at] + data[end:]
        elif way == 5:
            data = data[:end] + data[at:]
        elif way == 6:
            data = data[:at] + rng.randbytes(end - at) + data[end:]
        elif way == 7:
            data = data[:at] + other[cut : cut + rng.choice((8, 200))] + data[end:]
        else:
            odd = (
                b"-1",
                b"0",
                b"99999999999999999999",
                b"1e308",
                b"nan",
                b"\0",
                b"\xff\xfe",
                b'"',
                b"\n\n",
                b"\r",
            )
            data = data[:at] + rng.choice(odd) + data[at:]
    return data


def input_cases(number: int, folder: Path, seed: int) -> list[Case]:
    """Return cases of mutated inputs, which take formats in turn."""
    (folder / "good").mkdir()
    good = inputs(folder / "good")
    data = {name: path.read_bytes() for name, path in good.items()}
    undamaged = {name: build_of(path, folder) for name, path in good.items()}
    for name, (done, _) in undamaged.items():
        assert done.code == 0, (name, done.said)
    names = list(data)

    def case(at: int) -> list[dict[str, object]]:
        name, rng = names[at % len(names)], random.Random(f"{seed} {at}")
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / name
            path.write_bytes(mutated(data[name], list(data.values()), rng))
            done, mark = build_of(path, Path(place))
        before, whole = undamaged[name]
        if done.code in (0, *REFUSED, 87) and "Traceback" not in done.said:
            found = "refused" if done.code else "right"
            if done.code and name not in done.said:
                found = "unnamed"
            if not done.code and name.endswith(CHECKED) and mark != whole:
                found = "silent"
        else:
            found = judged(done, before, lambda _: False)
        return [
            {
                "case": name,
                "damage": "mutated",
                "command": f"{seed} {at}",
                "found": found,
                "code": done.code,
                "said": done.said[-300:] if found in FAULTS else "",
            }
        ]

    return [Case(f"{names[at % len(names)]} {at}", partial(case, at)) for at in range(number)]


def build_of(path: Path, scratch: Path) -> tuple[Done, str]:
    """Build a corpus from an input, and return the result with the corpus's fingerprint."""
    options = ["--min-df", "1", "--max-df", "1.0", "--stop-words", "none", "-q"]
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        done = run(scratch, ["corpus", "build", str(path), "-o", f"{name}/s", *options], Path(name))
        meta = Path(name) / "s" / "meta.json"
        mark = json.loads(meta.read_text())["fingerprint"] if meta.exists() else ""
        return done, mark


# ---- all cases, on some processes


def main() -> int:
    """Try all cases, print the results, and return 1 if there is a fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["folders", "inputs"])
    parser.add_argument(
        "--flips", type=int, default=3, help="bits flipped of each file, one at a time"
    )
    parser.add_argument(
        "--commands", type=int, help="tried on each folder, in turn; all by default"
    )
    parser.add_argument("--number", type=int, default=10_000, help="mutated inputs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="cases whose name has this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("-o", "--out", type=Path)
    asked = parser.parse_args()
    load()
    with tempfile.TemporaryDirectory(prefix="damage-") as name:
        if asked.what == "folders":
            cases = folders(asked.flips, asked.commands, Path(name))
        else:
            cases = input_cases(asked.number, Path(name), asked.seed)
        cases = [case for case in cases if asked.only in case.name]
        found = on_processes(cases, asked.jobs, Path(name))
    total, faults = (
        Counter(row["found"] for row in found),
        [r for r in found if r["found"] in FAULTS],
    )
    print(
        f"{len(cases):,} {asked.what}, {len(found):,} commands: "
        + ", ".join(f"{total[k]:,} {k}" for k in (*RIGHT, *FAULTS))
    )
    for row in faults:
        print(*(row[key] for key in ("found", "code", "case", "damage", "command")), sep=" | ")
        print("    ", str(row["said"]).strip().replace("\n", "\n     "))
    if asked.out:
        asked.out.write_text(
            json.dumps({"cases": len(cases), "found": total, "faults": faults}, indent=1)
        )
    return bool(faults)


def on_processes(cases: list[Case], jobs: int, folder: Path) -> list[dict[str, Any]]:
    """Try all cases on parallel processes, which are forks of this one."""
    pids = []
    for job in range(jobs):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                with (folder / f"found-{job}").open("w") as file:
                    for at in range(job, len(cases), jobs):
                        for row in cases[at].rows():
                            file.write(json.dumps(row) + "\n")
                            file.flush()
                code = 0
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(code)
        pids.append(pid)
    for pid in pids:
        assert os.waitpid(pid, 0)[1] == 0
    return [
        json.loads(line)
        for job in range(jobs)
        for line in (folder / f"found-{job}").read_text().splitlines()
    ]


if __name__ == "__main__":
    sys.exit(main())
