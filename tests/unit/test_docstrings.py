"""Docstrings: complete where people call us, plain sentences everywhere; and one class for each name."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate
from parsed import nodes, tree

import pysgrld
import pysgrld.samplers.targets.simplex
import pysgrld.samplers.targets.sphere

PACKAGE = Path(pysgrld.__file__).parent
#: What of numpydoc's validator is a rule here: sections that it knows, in its order; a summary of one
#: sentence; every parameter with its type and a description; what is returned or yielded.
CHECKED = {
    *("GL03", "GL05", "GL06", "GL07", "GL08", "GL09", "GL10"),
    *("SS01", "SS02", "SS03", "SS04", "SS05", "SS06"),
    *("PR01", "PR02", "PR03", "PR04", "PR05", "PR06", "PR07", "PR08", "PR09", "PR10"),
    *("RT01", "RT02", "RT03", "RT04", "RT05", "YD01"),
}
#: No docstring begins like this: it would need the one above it to be read, or name a thing by a
#: relative clause only.
FORBIDDEN = ("The same", "What ", "And ")
#: Folders of the public face; modules of what is exported from elsewhere are found.
FACE = ("estimators", "samplers/targets")


def exported() -> list[str]:
    """Dotted names of all functions and classes that are exported, and of their public members."""
    names = []
    for module in (pysgrld, pysgrld.samplers.targets.simplex, pysgrld.samplers.targets.sphere):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                names.append(f"{module.__name__}.{name}")
            if inspect.isclass(thing):
                names += [f"{module.__name__}.{name}.{member}" for member in members(thing)]
    return names


def members(kind: type) -> list[str]:
    """Public methods and properties of a class that are written in this package."""
    found = []
    for name, member in inspect.getmembers(kind):
        function = member.fget if isinstance(member, property) else member
        ours = (getattr(function, "__module__", None) or "").startswith("pysgrld.")
        if ours and inspect.isroutine(function) and not name.startswith("_"):
            found.append(name)
    return found


def sources() -> list[Path]:
    """Files of the package; the command line is a link to a folder, or a folder once installed."""
    return sorted({*PACKAGE.rglob("*.py"), *(PACKAGE / "cli").rglob("*.py")})


def face() -> list[Path]:
    """Files of the public face: `FACE`, and where everything exported is written."""
    files = {path for folder in FACE for path in (PACKAGE / folder).rglob("*.py")}
    return sorted(files | {Path(inspect.getfile(resolve_name(name))) for name in KINDS})


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


EXPORTED = exported()
KINDS = [name for name in EXPORTED if not inspect.isdatadescriptor(resolve_name(name))]


@pytest.mark.parametrize("name", EXPORTED)
def test_what_is_exported_says_all_that_a_caller_needs(name):
    """Red with: `LDA.partial_fit` without its parameters, as it was in 0.1.0."""
    thing, checked = resolve_name(name), CHECKED
    if fields := getattr(thing, "_fields", ()):  # a tuple with names: they are its attributes
        described = NumpyDocString(thing.__doc__ or "")["Attributes"]
        assert [field for names, *_ in described for field in names.split(", ")] == list(fields)
        checked = CHECKED - {"PR01"}
    wrong = [f"{code}: {text}" for code, text in validate(name)["errors"] if code in checked]
    assert not wrong, "\n".join([name, *wrong])


def test_members_of_base_classes_are_found():
    assert {"pysgrld.LDA.fit", "pysgrld.DPMixture.set_params"} <= set(EXPORTED)
    assert "pysgrld.samplers.targets.simplex.Draws.omega" in EXPORTED


@pytest.mark.parametrize("path", face(), ids=name_of)
def test_public_functions_with_parameters_have_a_section_of_them(path):
    """A method without a docstring says what the base class says.

    Red with: `in_units`, whose parameters nobody could look up.
    """
    without = []
    for node in nodes(path):
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        parameters = {a.arg for a in [*node.args.args, *node.args.kwonlyargs]} - {"self", "cls"}
        doc = ast.get_docstring(node)
        if parameters and doc is not None and not NumpyDocString(doc)["Parameters"]:
            without.append(f"{node.name}:{node.lineno}")
    assert not without


def has_section(function: ast.FunctionDef) -> bool:
    return "Parameters\n---" in (ast.get_docstring(function) or "")


@cache
def functions_with_parameters() -> dict[tuple[str, str], ast.FunctionDef]:
    """Public functions of modules that take parameters, by module and name."""
    return {
        (module_of(path), node.name): node
        for path in sources()
        for node in tree(path).body
        if isinstance(node, ast.FunctionDef)
        if not node.name.startswith("_") and any([node.args.args, node.args.kwonlyargs])
    }


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_functions_that_another_folder_imports_have_a_section_of_parameters():
    """Red with: `make_folder` without its fail point explained."""
    functions, without = functions_with_parameters(), set()
    for path in sources():
        module = module_of(path)
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for node in nodes(path):
            if not isinstance(node, ast.ImportFrom):
                continue
            above = package.split(".")[: 1 - node.level or None] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                key = (source, alias.name)
                is_elsewhere = source.split(".")[1:2] != module.split(".")[1:2]
                if is_elsewhere and key in functions and not has_section(functions[key]):
                    without.add(f"{source}.{alias.name}")
    assert not without


def test_most_public_functions_have_a_section_of_parameters():
    """The share may only rise.

    Red with: twenty new functions whose parameters are not described.
    """
    functions = functions_with_parameters().values()
    assert sum(map(has_section, functions)) / len(functions) >= 0.595


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_a_docstring_begins_with_a_sentence_of_its_own(path):
    """Red with: "The same; returns the perplexity of this one draw of topics"."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    docs = [ast.get_docstring(node) or "" for node in nodes(path) if isinstance(node, kinds)]
    assert not [doc for doc in docs if doc.startswith(FORBIDDEN)]


def test_a_class_has_a_name_of_its_own():
    """Private classes are their module's own business.

    Red with: `Counts` of a corpus' format and `Counts` of samplers.
    """
    names = Counter(
        node.name
        for path in sources()
        for node in nodes(path)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert not [name for name, times in names.items() if times > 1]
