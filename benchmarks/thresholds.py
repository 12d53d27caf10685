"""Change every module-level threshold and default of the package, and list those that no test notices.

A constant is a name in capitals at the top of a module that is a number, or an arithmetic of
numbers. Each is made a fifth larger and a fifth smaller (a whole number by one at least), and each
comparison with it is turned (< for <=, > for >=), in a copy of the package. The tests that run are
some of those that enter a function that reads it: tests/entered.py finds which, in one run of all
tests. EXPLAINED has the constants that no test need notice, with the reasons; all others are in
benchmarks/results/thresholds.txt, and a test compares that list with the code.

    python benchmarks/thresholds.py [--only pysgrld/reading] [--minutes 60] [-o thresholds.json]
    python benchmarks/thresholds.py --page      write that list again, after a change of a number
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
#: Seconds after which tests are said to notice, as they do not end.
HANGS = 240
#: Seconds of tests that run for a change, how many of them at most, and those of a quick one.
SECONDS, MOST, QUICK = 40.0, 200, 0.3
#: The tests of values at which something begins or ends.
BOUNDARIES = "tests/unit/test_boundaries.py"
#: Comparisons, and what each is turned into.
TURNED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
#: Constants that no test need notice, by the reason: module (below pysgrld, or cli), then names.
EXPLAINED = {
    "How much is worked on, held or written at once: results are the same whatever it is.": """
        chain/mpi MOST FEW SMALL STRIP; core/draws _ROWS; corpus/about/archive SORTED;
        corpus/about/columns BYTES;
        corpus/about/texts FRAME LEVEL; corpus/build TOGETHER; corpus/chunks _WINDOW;
        corpus/formats/counts RUN;
        corpus/formats/json TOGETHER SIZE; corpus/formats/mediawiki PROLOG_PIECE; corpus/formats/npz
        PORTION; corpus/formats/parquet TOGETHER; corpus/formats/plain_text TOGETHER SIZE;
        corpus/lines STEP WINDOW; corpus/minibatches TOGETHER; corpus/phrases MOST_PAIRS;
        corpus/store BLOCK LOOKED_THROUGH; corpus/stored_files _PIECE
        _TOGETHER; corpus/vectors KEPT LONG TOGETHER HELD; effects/answers _CELLS;
        effects/composition _CELLS _CACHED; evaluate/coherence CELLS; evaluate/convergence BLOCK;
        evaluate/reader _CELLS; models/admixture BLOCK; models/dpmm/likelihood CELLS;
        models/dpmm/slice_sampling CHUNK; models/sam/chain BLOCK; models/sam/fitted BLOCK;
        models/sam/variational BLOCK; reading/infer DOCUMENTS ROOM _TOGETHER;
        reading/proportion_files GROUP WAITING; report/document_pass _CELLS _PRODUCTS;
        report/exports/arviz _CHUNK; report/exports/mallet _TOKENS _TOGETHER;
        report/exports/table_files _WAITING _VALUES; report/geometry _BLOCK; report/population
        _CELLS; report/sections/documents _TOGETHER; report/texts_and_metadata _BLOCK;
        report/tinted_texts _CACHED _CELLS _LETTERS; report/topic_words _ROWS;
        run/backlog HELD; run/files PIECE; samplers/concentration
        _TOGETHER; chain/exact TOGETHER; train/ranks_together _SMALL; reading/find_runs _END;
        search/outcome _END; train/loop _LAST_METRICS; run/choose _LAST""",
    "A time: of waiting, between two looks or two lines.": """
        chain/watch SAY LOOK; cli/progress SOON LATER FIRST; cli/ranks PATIENCE; corpus/minibatches
        PATIENCE; corpus/open NOTE_EVERY; corpus/prefetch PATIENCE; estimators/fitting SELDOM;
        experiments/processes LOOK; models/lda/collapsed LOOK; report/naming PATIENCE;
        run/lock INTERVAL SILENT; run/machine PATIENCE; run/signals BEAT GAP; train/processes LOOK
        PATIENCE GRACE TELL;
        train/ranks_together LOOKED_AT""",
    "A mark of a format, or the number of a stream of random numbers: any would do as well.": """
        chain/mpi _ALL; corpus/about/details WHOLE; corpus/about/scalars NONE;
        corpus/bzip2 _BLOCK _END _MARK _WORD _POLYNOMIAL; effects/composition _SEED;
        evaluate/reader _STREAM _BITS _LAYER;
        models/exact_tokens _NUMBER; models/dpmm/slice_sampling _STICKS _COMPONENTS _CONCENTRATION
        _BETA _FRESH _CHOICE _SWAPS _UNIFORMS _BIRTHS; models/sam/score _PRIOR _PROPOSAL;
        report/page_file VERSION; report/population _SEED; samplers/points _START _PACE;
        search/rounds _KEY; train/short_chains _OTHERS; experiments/bench/timing SCHEMA; report/page_file
        NONE LEVEL SPAN; run/tensors ALIGNMENT""",
    "How fine numbers are stored or cut: beyond what the result is rounded to.": """
        chain/clusters _UNIT; estimators/inputs FINE RESOLUTION; evaluate/reader _FINE; types UNIT;
        report/page_file LEAST; models/word_order _TINY; report/exports/pyldavis _TINY;
        report/exports/mallet _LEAST; samplers/shapes LEAST; run/tensors TOLERANCE; options/parse
        SMALLEST""",
    "A limit far from what anybody has, against files that somebody made to harm.": """
        corpus/about/archive MOST_LEVELS; corpus/bzip2 _LONGEST; corpus/formats/extract _MOST_PARTS;
        corpus/formats/json _LARGEST; corpus/formats/records LARGEST;
        corpus/stored_files _LONGEST; corpus/write _LONGEST_NOTE;
        options/word_files LARGEST LARGEST_SEEDS; report/exports/pyldavis _WORDS; run/directory
        MAX_VOCABULARY; run/jsonio LONGEST; run/tensors MAX_HEADER MAX_TENSORS; chain/rank_cost
        MOST; run/machine MOST; run/choose _TRIES; search/plan MOST""",
    "How many letters, lines, points or colours are shown.": """
        cli/answers LISTED; cli/diagnose WIDEST; cli/effect WHOLE NAME; cli/options COLUMN;
        cli/settings LONGEST; cli/several EACH; cli/terminal PARAGRAPH; cli/topics BESIDE;
        corpus/inputs MOST PARAGRAPH;
        effects/design _SHOWN POINTS; effects/picture TOPICS _LEVELS _LETTERS _BESIDE;
        estimators/dataframes TOPICS_SHOWN WORDS_SHOWN TOPICS_DRAWN; estimators/notebook *;
        models/seeds NAMED; options/word_files _SHOWN; reading/diagnosis SHOWN; reading/verdict LISTED;
        reading/diagnosis_picture GREATEST; report/compare/comparison _TURN;
        report/sections/agreement _OTHER_WORDS;
        report/sections/documents TITLE; report/tinted_texts STRETCH WORDS _NEAR;
        report/sections/groups _LABEL _TITLE;
        report/sections/layers WORDS; report/sections/sure POINTS; report/sections/topics TOP;
        search/show _LISTED; report/naming TITLE SAID""",
    "What a figure of a paper, a benchmark or its quick form is made with.": """
        experiments/bench/ranks *; experiments/bench/results *; experiments/corpora *;
        experiments/curves *; experiments/dlda_mnist *; experiments/dlda_curves *;
        experiments/lda_curves *; experiments/mld_tv *; experiments/sam_circle *;
        experiments/sam_vmf_posterior *; experiments/scir_dpmm *; experiments/scir_synthetic *;
        experiments/sgrld_fig1 *""",
    "Steps of a layout of points, whose picture is looked at.": """
        report/geometry _STEPS _EXAGGERATED _FACTOR _PERPLEXITY""",
    "Sweeps, passes or trajectories, chosen by a benchmark: a fifth more shows in no test.": """
        models/lda/mean_field PASSES; models/lda/reader PASSES; models/token_reader EXPECTED_PASSES;
        models/sam/fitted FIRST FURTHER; evaluate/reader FRESH_SWEEPS FURTHER_SWEEPS NEXT_DRAW_SWEEPS;
        models/dpmm/births STEPS; models/sam/score DRAWS PROPOSALS SPARSE; samplers/ascent
        _HALVINGS; samplers/concentration _TRIES; models/lda/declared PASSES""",
}


#: Constants of the page that no test need notice: so many samples, weightings or documents a figure is
#: averaged over, a guard against dividing by almost nothing, where an ascent ends, a width that any slice
#: sampler may have; a fifth more changes no digit shown.
AVERAGED = """
    search/outcome SAMPLES; search/rounds RESAMPLES; effects/composition WEIGHTINGS _UNITS _LEAST
    _LEVERAGE; effects/design _AVERAGED; reading/results COHERENCE_DOCUMENTS WEIGHT_DOCUMENTS;
    report/population WEIGHTINGS; report/document_pass DOCUMENTS; models/dpmm/fitted NEIGHBOURS;
    samplers/concentration _WIDTH; samplers/ascent TOLERANCE _ENOUGH; samplers/lazy_rows RENEW;
    samplers/state ALL_THE_WAY"""
#: Constants whose comparisons may be turned: nobody is promised what becomes of exactly so many, and the
#: next smaller or larger number would do as well.
TURNS = """
    cli/batch_script MOST_JOBS; corpus/about/archive LEVELS; corpus/about/details MOST;
    corpus/formats/counts
    MANY; corpus/formats/extract DEEPEST VALUES; corpus/formats/json_elements _CERTAIN;
    corpus/formats/mediawiki
    PROLOG DEPTH FIELD _MOST_AFTER; corpus/formats/text_fields CHARACTERS TIMES WORDS; corpus/inputs
    SEVERAL; corpus/lines HEAD HEAD_LINES; effects/design LEVELS; estimators/inputs MOST_WORDS;
    models/dtm/declared MOST_ROWS; models/exact_sweeps EXACT_BYTES; models/exact_tokens DOCUMENTS;
    models/resolve FEW; reading/verdict FEW ENOUGH; reading/intervals ENOUGH; reading/use MOST_CELLS;
    report/geometry FEWEST; report/sections/documents TITLES ROOM; report/sections/groups MOST;
    report/sections/map PAIRS; report/sections/predictions FEWEST; report/topic_words TOPICS_OF_WORD;
    run/tensors _KEPT"""


class Mutant(NamedTuple):
    """One change at one position of a file."""

    path: str
    line: int
    name: str
    what: str
    start: int
    end: int
    text: str


def explained(tables: Iterable[str] = EXPLAINED.values()) -> dict[str, set[str]]:
    """Return constants that no test need notice, by the files that have them; ``*`` is all of one.

    Raises
    ------
    SystemExit
        If there is no such constant: a row that has outlived what it explains.
    """
    found: dict[str, set[str]] = {}
    for rows in tables:
        for row in rows.split(";"):
            module, *names = row.split()
            path = f"{module}.py" if module.startswith("cli/") else f"pysgrld/{module}.py"
            known = constants(ROOT / path)
            if gone := set(names) - {"*", *known}:
                raise SystemExit(f"{path} has no constant {', '.join(sorted(gone))}")
            found.setdefault(path, set()).update(known if names == ["*"] else names)
    return found


def constants(path: Path) -> dict[str, ast.expr]:
    """Return module-level names in capitals with numbers as values, and these values."""
    found: dict[str, ast.expr] = {}
    for node in ast.parse(path.read_text()).body:
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            both = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            pairs = (
                list(zip(target.elts, node.value.elts, strict=False))
                if both
                else [(target, node.value)]
            )
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs = [(node.target, node.value)]
        for name, value in pairs:
            if (
                isinstance(name, ast.Name)
                and re.fullmatch("_?[A-Z][A-Z0-9_]*", name.id)
                and is_number(value)
            ):
                found[name.id] = value
    return found


def is_number(node: ast.expr) -> bool:
    """Return whether an expression consists of numbers and arithmetic only."""
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    return isinstance(node, ast.BinOp) and is_number(node.left) and is_number(node.right)


def is_whole(node: ast.expr) -> bool:
    """Return whether an arithmetic expression of numbers is an integer."""
    return isinstance(eval(ast.unparse(node)), int)


def modules() -> list[Path]:
    """Return the modules of the package and of the command."""
    found = sorted([*(ROOT / "pysgrld").rglob("*.py"), *(ROOT / "cli").rglob("*.py")])
    return [path for path in found if not path.is_symlink() and "pysgrld/cli/" not in str(path)]


def page() -> str:
    """Return the list of all constants that are not explained.

    Raises
    ------
    SystemExit
        If a constant has no comment that states its purpose.
    """
    lines = [
        "Numbers at the top of modules on which a result, a verdict or a default depends. The comment",
        "above each number in the code states its purpose and its source. After you change a number, run",
        "`python benchmarks/thresholds.py --page`, which writes this list, and give the reason in",
        "CHANGELOG.md. Numbers on which no result depends are listed in the script, with the reason.",
        "",
    ]
    known = explained()
    for path in modules():
        module = path.relative_to(ROOT)
        source = path.read_text().splitlines()
        for name, value in constants(path).items():
            if name in known.get(str(module), ()):
                continue
            if not has_comment(source, value.lineno - 1):
                raise SystemExit(
                    f"{module}: add a comment (#:) above {name} that states its purpose"
                )
            lines.append(f"{module} {name} {ast.unparse(value)}")
    return "\n".join(lines) + "\n"


def has_comment(source: list[str], line: int) -> bool:
    """Return True if a comment ``#:`` stands above the assignment that the line belongs to."""
    while not re.match(r"[_A-Z(]", source[line]):
        line -= 1
    while source[line - 1].startswith("#") and not source[line - 1].startswith("#:"):
        line -= 1
    return source[line - 1].startswith("#:")


def mutants(path: Path, root: Path) -> Iterator[Mutant]:
    """Yield the changes of the constants of a module, and of the comparisons with whole numbers in it.

    A measured number is never equal to a threshold, so that < and <= of a fraction are the same.
    """
    source = path.read_text()
    ends = [0]
    for line in source.splitlines(keepends=True):
        ends.append(ends[-1] + len(line.encode()))
    known, where = constants(path), str(path.relative_to(root))
    for name, node in known.items():
        value = eval(ast.unparse(node))
        start, end = _span(node, ends)
        for factor in (1.2, 0.8):
            new = value * factor
            if isinstance(value, int):
                new = round(new) if round(new) != value else value + (1 if factor > 1 else -1)
            yield Mutant(where, node.lineno, name, f"{value:g} to {new:g}", start, end, repr(new))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in TURNED:
            sides = node.left, node.comparators[0]
            names = [
                n.id
                for side in sides
                for n in ast.walk(side)
                if isinstance(n, ast.Name) and n.id in known and is_whole(known[n.id])
            ]
            if names:
                (_, left), (right, _) = (_span(side, ends) for side in sides)
                kind = type(node.ops[0])
                between = source.encode()[left:right].decode()
                text = between.replace(_SIGNS[kind], TURNED[kind], 1)
                what = f"{_SIGNS[kind]} to {TURNED[kind]}"
                yield Mutant(where, node.lineno, names[0], what, left, right, text)


def _span(node: ast.expr, ends: list[int]) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return ends[node.lineno - 1] + node.col_offset, ends[node.end_lineno - 1] + node.end_col_offset


def functions(path: Path) -> list[tuple[str, set[str]]]:
    """Return the functions of a module as ``path:name``, and the names that each reads."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            found.append((f"{path.relative_to(ROOT)}:{node.name}", names))
    return found


def readers(path: str, name: str) -> set[str]:
    """Return the functions that read a constant, in its module and where it is imported.

    Of one that no function reads they are all of its module, as others are made of it there.
    """
    own = functions(ROOT / path)
    derived = {name}
    for node in ast.parse((ROOT / path).read_text()).body:  # constants of constants
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if derived & {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}:
                derived |= {t.id for t in targets if isinstance(t, ast.Name)}
    found = {place for place, names in own if names & derived}
    for other in modules():
        if re.search(rf"\bimport\b[^=]*\b{name}\b", other.read_text()):
            found |= {place for place, names in functions(other) if name in names}
    return found or {place for place, _ in own}


def entered(folder: Path) -> dict[str, tuple[float, set[str]]]:
    """Return the seconds of each test and the functions that it enters, from what all tests wrote."""
    found: dict[str, tuple[float, set[str]]] = {}
    for file in folder.glob("*.jsonl"):
        for line in file.read_text().splitlines():
            if not line.endswith("]}"):  # its process was killed as it wrote
                continue
            row = json.loads(line)
            seconds, places = found.get(row["test"], (0.0, set()))
            found[row["test"]] = max(seconds, row["seconds"]), places | set(row["entered"])
    return found


def tests_of(
    mutant: Mutant, tests: dict[str, tuple[float, set[str]]], texts: dict[str, str]
) -> list[str]:
    """Return tests that enter a function that reads a constant, those of boundaries first.

    Then the quick ones of files that have its name or its module's; then of each file the quickest, in
    turns, so that as many files as possible have a say.
    """
    places = readers(mutant.path, mutant.name)
    word = re.compile(rf"\b{mutant.name}\b|\b{Path(mutant.path).stem}\b")
    files: dict[str, list[str]] = {}
    for test in sorted(tests, key=lambda test: (tests[test][0], test)):
        if places & tests[test][1]:
            files.setdefault(test.partition("::")[0], []).append(test)
    own = [f for f in sorted(files) if word.search(texts.get(f, ""))]
    turns = files.get(BOUNDARIES, [])
    turns += [t for f in own for t in files[f] if tests[t][0] < QUICK and t not in turns]
    order = own + [f for f in sorted(files) if f not in own]
    turns += [files[f][at] for at in range(MOST) for f in order if at < len(files[f])]
    turns = list(dict.fromkeys(turns))
    chosen, seconds = [], 0.0
    for test in turns[:MOST]:
        seconds += tests[test][0]
        if chosen and seconds > SECONDS:
            break
        chosen.append(test)
    return chosen


def noticed(mutant: Mutant, copy: Path, tests: list[str]) -> bool:
    """Return whether a test fails in a copy of the package that has the change."""
    path = copy / mutant.path
    good = path.read_bytes()
    path.write_bytes(good[: mutant.start] + mutant.text.encode() + good[mutant.end :])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-n",
        "0",
        *tests,
    ]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, timeout=HANGS, check=False
        )
        return done.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_bytes(good)


def main() -> int:
    """Try mutants until the time is over, and print those that no test notices."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="files whose path begins with this")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=0, help="of the order in which they are tried")
    parser.add_argument(
        "--page", action="store_true", help="write the list of numbers, and try none"
    )
    parser.add_argument(
        "--comparisons", action="store_true", help="turn comparisons alone, and change no number"
    )
    parser.add_argument("--list", action="store_true", help="print the mutants, and try none")
    parser.add_argument("--entered", type=Path, help="what tests/entered.py wrote, if it is there")
    parser.add_argument("-o", "--out", type=Path)
    asked = parser.parse_args()
    if asked.page:
        (ROOT / "benchmarks" / "results" / "thresholds.txt").write_text(page())
        return 0
    found = [m for path in modules() for m in mutants(path, ROOT) if m.path.startswith(asked.only)]
    known = explained([*EXPLAINED.values(), AVERAGED])
    whole = len(found)
    turns = explained([TURNS])
    found = [m for m in found if m.name not in known.get(m.path, ())]
    found = [m for m in found if m.what[0] not in "<>" or m.name not in turns.get(m.path, ())]
    if asked.comparisons:
        found = [m for m in found if m.what[0] in "<>"]
    random.Random(asked.seed).shuffle(found)
    if asked.list:
        print(*(f"{m.path}:{m.line} {m.name} {m.what}" for m in found), sep="\n")
        return 0
    texts = {
        str(p.relative_to(ROOT)): p.read_text() for p in sorted((ROOT / "tests").rglob("test_*.py"))
    }
    with tempfile.TemporaryDirectory(prefix="thresholds-") as place:
        if asked.entered is None:
            print("all tests run first, to find what each enters", flush=True)
            subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-p", "entered", "-n", str(asked.jobs)],
                cwd=ROOT,
                env={**os.environ, "SGMC_ENTERED": place},
                stdout=subprocess.DEVNULL,
                check=True,
            )
        tests = entered(asked.entered or Path(place))
    tests = {name: row for name, row in tests.items() if "/golden/" not in name}
    until = time.monotonic() + 60 * asked.minutes
    rows: list[dict[str, object]] = []

    def work(job: int) -> None:
        with tempfile.TemporaryDirectory(prefix="thresholds-") as name:
            copy = Path(name) / "copy"
            skipped = shutil.ignore_patterns(
                ".git", "__pycache__", ".*_cache", "build", "results", "img"
            )
            shutil.copytree(ROOT, copy, symlinks=True, ignore=skipped)
            for at in range(job, len(found), asked.jobs):
                if time.monotonic() > until:
                    return
                chosen = tests_of(found[at], tests, texts)
                seen = bool(chosen) and noticed(found[at], copy, chosen)
                mutant = found[at]
                rows.append(
                    {
                        "place": f"{mutant.path}:{mutant.line}",
                        "name": mutant.name,
                        "what": mutant.what,
                        "tests": len(chosen),
                        "noticed": seen,
                    }
                )

    with ThreadPoolExecutor(asked.jobs) as pool:
        list(pool.map(work, range(asked.jobs)))
    missed = [row for row in rows if not row["noticed"]]
    print(
        f"{len(rows):,} of {len(found):,} changes tried, {len(missed):,} that no test notices; "
        f"{whole - len(found):,} others are of constants that need none"
    )
    for row in sorted(missed, key=lambda row: str(row["place"])):
        print(row["place"], row["name"], row["what"], f"({row['tests']} tests)")
    if asked.out:
        asked.out.write_text(json.dumps({"changes": len(found), "tried": rows}, indent=1))
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
