"""The plan of the house (docs/internals/design.md): who may import whom, and who may know a name."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from parsed import nodes, tree

import pysgrld
from pysgrld.models.table import MODELS
from pysgrld.samplers import SAMPLERS

PACKAGE = Path(pysgrld.__file__).parent
#: What every part may import.
EVERYWHERE = {"errors", "types", "core", "_core"}
#: From the bottom to the top: a part, and those beneath it that it may import beside `EVERYWHERE`.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "types": set(),
    "core": set(),
    "options": set(),
    "run": {"options"},
    "corpus": {"options", "run"},
    "samplers": {"options"},
    "evaluate": {"corpus"},
    "chain": {"corpus", "evaluate", "options", "samplers"},
    "models": {"chain", "corpus", "evaluate", "options", "samplers"},
    "reading": {"chain", "corpus", "evaluate", "models", "options", "run"},
    "report": {"corpus", "evaluate", "models", "options", "reading", "run"},
    "effects": {"corpus", "reading", "report", "run"},
    "train": {"chain", "corpus", "evaluate", "models", "options", "reading", "run", "samplers"},
    "search": {
        *("chain", "corpus", "evaluate", "models", "options", "reading", "report", "run", "train")
    },
    "estimators": {
        *(
            "chain",
            "corpus",
            "evaluate",
            "models",
            "options",
            "reading",
            "report",
            "run",
            "samplers",
            "train",
        ),
        "effects",
    },
    "experiments": {
        *("chain", "corpus", "estimators", "evaluate", "models", "options", "reading", "run"),
        *("samplers", "train"),
    },
}
#: What NumPy rounds differently on one processor and another, or leaves to its BLAS.
ROUNDED = {
    "log",
    "log2",
    "log10",
    "log1p",
    "logaddexp",
    "exp",
    "exp2",
    "expm1",
    "power",
    "sin",
    "cos",
}
ROUNDED |= {"tan", "tanh", "dot", "vdot", "inner", "matmul", "tensordot", "einsum", "linalg"}
#: Where they may stand: what is shown or written for others, timing, and toys. Files by themselves:
#: multiples of a unit, whose sums are exact, and whole numbers; likeness, which topics are matched by;
#: a check of lengths.
SHOWN = ("effects/", "experiments/", "reading/plotting", "report/", "samplers/targets/")
SHOWN += (
    "chain/clusters.py",
    "evaluate/coherence.py",
    "evaluate/matching.py",
    "models/sam/fitted.py",
    "run/tensors.py",
)
#: The face of the package, which loads names from anywhere, and the command line, which is above all.
FACE = {"__init__", "__main__", "cli"}
#: Folders that may decide by the name of a model or of a sampler.
NAMED = ("models/", "samplers/", "cli/reproduce.py", "experiments/")


def part_of(module: str) -> str:
    """Folder or root module that a dotted name under pysgrld is in."""
    return module.split(".")[1] if "." in module else "__init__"


@cache
def imports(path: Path) -> set[str]:
    """Dotted names that a file imports; ``from pysgrld import x`` is pysgrld.x."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def files() -> list[Path]:
    return sorted(p for p in PACKAGE.rglob("*.py") if "cli" not in p.relative_to(PACKAGE).parts)


def test_every_part_of_the_package_has_its_place():
    parts = {p.relative_to(PACKAGE).parts[0].removesuffix(".py") for p in files()}
    assert parts == {*ALLOWED, *FACE} - {"cli"}
    assert len(list(PACKAGE.glob("*.py"))) <= 4


def test_parts_only_look_down():
    below: set[str] = set(EVERYWHERE)
    for part, allowed in ALLOWED.items():
        assert allowed <= below, f"{part} looks up: {allowed - below}"
        below.add(part)


@pytest.mark.parametrize("part", ALLOWED)
def test_a_part_imports_what_it_may_and_nothing_else(part):
    """Red with: ``from pysgrld import run`` in pysgrld/samplers."""
    allowed = ALLOWED[part] | EVERYWHERE | {part}
    for path in files():
        if path.relative_to(PACKAGE).parts[0].removesuffix(".py") == part:
            used = {part_of(m) for m in imports(path) if m.startswith("pysgrld.")}
            assert used <= allowed, f"{path.relative_to(PACKAGE)} imports {sorted(used - allowed)}"


def test_no_two_files_import_each_other_even_through_others():
    modules = {dotted(path): path for path in files()}
    arrows = {
        name: {m for i in imports(path) if (m := nearest(i, modules)) and m != name}
        for name, path in modules.items()
    }
    arrows["pysgrld"] = set()  # the face loads names when they are first used
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " -> ".join([*above[above.index(name) :], name])
        if name not in done:
            for below in sorted(arrows[name]):
                visit(below, (*above, name))
            done.add(name)

    for name in modules:
        visit(name, ())


def dotted(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def nearest(name: str, modules: dict[str, Path]) -> str | None:
    """The module that ``import name`` reads: itself, or the one that it is a name of."""
    if name in modules:
        return name
    above = name.rpartition(".")[0]
    return above if above in modules and above != "pysgrld" else None


def test_families_do_not_know_each_other():
    for name in MODELS:
        for path in (PACKAGE / "models" / name).rglob("*.py"):
            others = [
                m
                for m in imports(path)
                if m.startswith("pysgrld.models.") and m.split(".")[2] in set(MODELS) - {name}
            ]
            assert not others, f"{path.name} imports {others}"


def test_samplers_do_not_know_each_other():
    rows = {sampler.module for sampler in SAMPLERS.values()}
    for path in (PACKAGE / "samplers").rglob("*.py"):
        if dotted(path) in rows:
            others = [m for m in imports(path) if nearest(m, dict.fromkeys(rows)) in rows]
            assert not others, f"{path.name} imports {others}"


def test_click_and_tqdm_are_imported_in_the_command_line_and_for_the_bar_of_fit_only():
    for path in files():
        used = {m.split(".")[0] for m in imports(path)}
        of_fit = {"tqdm"} if path.parts[-2:] == ("estimators", "fitting.py") else set()
        assert not (used & {"click", "tqdm"}) - of_fit, path.name


@pytest.mark.parametrize("folder", ["pysgrld", "cli"])
def test_nobody_else_decides_by_the_name_of_a_model_or_of_a_sampler(folder):
    """Red with: ``options.model == "dpmm"`` in pysgrld/train."""
    names = {*MODELS, *SAMPLERS}
    root = PACKAGE if folder == "pysgrld" else PACKAGE / "cli"
    for path in sorted(root.rglob("*.py")):
        where = path.relative_to(PACKAGE).as_posix()
        if where.startswith(NAMED):
            continue
        for node in nodes(path):
            if isinstance(node, ast.Compare | ast.MatchValue):
                said = {c.value for c in ast.walk(node) if isinstance(c, ast.Constant)}
                assert not said & names, f"{where}:{node.lineno} compares {said & names}"


def test_nobody_asks_what_class_a_model_is_of():
    """Red with: ``isinstance(chain, MixtureChain)`` in pysgrld/train."""
    own = {
        node.name
        for path in (PACKAGE / "models").rglob("*.py")
        for node in tree(path).body
        if isinstance(node, ast.ClassDef)
    }
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in nodes(path):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "isinstance",
                "issubclass",
            ):
                asked = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
                assert not asked & own, f"{path.name}:{node.lineno} asks for {asked & own}"


def test_no_table_holds_functions_without_a_signature():
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name != "option.py":
            assert "Callable[..., Any]" not in path.read_text() or "cli" in path.parts, path.name


def test_results_are_not_made_of_what_processors_round_differently():
    """Red with: ``np.log(p)``, or ``a @ b``, in pysgrld/evaluate/completion.py."""
    for path in files():
        where = path.relative_to(PACKAGE).as_posix()
        if where.startswith(SHOWN):
            continue
        for node in nodes(path):
            if isinstance(node, ast.BinOp | ast.AugAssign):
                assert not isinstance(node.op, ast.MatMult), f"{where}:{node.lineno}: a product"
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np":
                said = f"{where}:{node.lineno}: np.{node.attr}; core.arithmetic has one"
                assert node.attr not in ROUNDED, said


def test_only_tables_that_are_read_as_tables_are_laid_out_by_hand():
    by_hand = {p.name for p in PACKAGE.rglob("*.py") if "# fmt: skip" in p.read_text()}
    assert by_hand <= {"common.py"}


def test_no_two_modules_have_names_that_differ_by_an_ending_only():
    """A folder may be the plural of a file in it. Red with: a module training.py beside train/."""
    places = {p.stem: p for p in files()} | {p.name: p for p in PACKAGE.rglob("*") if p.is_dir()}
    for name, place in places.items():
        for ending in ("s", "r", "er", "ing", "ed"):
            other = places.get(name + ending)
            assert other in (None, place.parent), f"{name} and {name + ending}"


#: What reads a severity, a stop reason or a standard error out of a sentence.
READS_PROSE = re.compile(
    r'partition\(" ± "\)|partition\(": "\)|" in reason\b(?!\.lower)|startswith\("(warning|error|sgmc): '
    r'|removeprefix\("(warning|error|sgmc): |"warning: |"note: '
)


def test_no_value_is_read_out_of_a_sentence():
    """Severities, stop reasons and errors are fields; the screen alone writes "warning: ".

    Red with: a note that begins with "warning: ", or ``"iteration" in reason``.
    """
    found = [
        f"{path}:{number}"
        for folder in ("pysgrld", "cli")
        for path in sorted((PACKAGE.parent / folder).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if READS_PROSE.search(line) and "self._line(severity" not in line
    ]
    assert not found


def test_options_that_the_user_chose_stay_a_mapping_in_options_and_models_alone():
    """Elsewhere they are `Choices`, and then `Resolved`: nobody looks an option up by its name.

    Red with: ``request.given.get("threads")`` in train/.
    """
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for folder in ("train", "search", "reading", "report", "run", "chain", "effects")
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        for node in nodes(path)
        if (isinstance(node, ast.Name) and node.id == "given")
        or (isinstance(node, ast.Attribute) and node.attr == "given")
        or (isinstance(node, ast.arg) and node.arg == "given")
    ]
    assert not found
