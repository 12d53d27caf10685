"""What a release is made by: one version everywhere, pinned workflows, pages that keep their word."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import pysgrld

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("CITATION.cff", r"^version: (\S+)$"),
        ("packaging/conda/recipe.yaml", r"^  version: (\d\S*)$"),
        ("packaging/spack/package.py", r'^    version\("([^"]+)"'),
    ],
)
def test_the_version_is_that_of_the_package(path, pattern):
    assert re.findall(pattern, (ROOT / path).read_text(), re.M) == [PROJECT["version"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_pin_what_they_use_and_may_do_nothing_unasked(path):
    """Red with: a tag that somebody can move; a token that may write; credentials that stay."""
    text = path.read_text()
    used = re.findall(r"uses: (\S+)( # v\d+\.\d+\.\d+)?", text)
    assert used
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name) and tag for name, tag in used)
    assert re.search(r"^permissions: \{\}$", text, re.M)
    assert not re.search(r": write(?!.*trusted publishing)", text)
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")
    assert text.count("runs-on:") == text.count("timeout-minutes:")


def test_recipes_need_what_the_package_needs():
    """Red with: a dependency that was added to pyproject.toml alone."""
    conda = (ROOT / "packaging/conda/recipe.yaml").read_text()
    spack = (ROOT / "packaging/spack/package.py").read_text()
    for needed in PROJECT["dependencies"]:
        name, least = needed.split(">=")
        assert f"{name} >={least}" in conda
        assert f'"py-{name}@{least}:"' in spack


#: Licences under which anybody may use, change and pass on what sgmc needs; MPL-2.0 and
#: the LGPL ask for changes of their own files alone.
FREE = re.compile(
    r"BSD|MIT\b|Apache|Python Software Foundation|PSF|MPL-2\.0|Zlib|ISC\b|CC0|Unlicense|HPND|MPICH|LGPL",
    re.I,
)
BOUND = re.compile(r"\bA?GPL|Affero|Proprietary|Commons Clause|SSPL", re.I)


def test_what_is_needed_may_be_used_by_anybody():
    """Of what is installed here. Red with: a dependency under the GPL, or without a licence."""
    extras = PROJECT["optional-dependencies"]
    users = extras.keys() - {"test", "lint", "docs", "bench", "consumers"}
    needs = {*PROJECT["dependencies"], *(need for name in users for need in extras[name])}
    names = {re.match(r"[\w.-]+", need)[0] for need in needs} - {"pysgrld"}
    seen = set()
    for name in sorted(names):
        try:
            data = metadata.metadata(name)
        except metadata.PackageNotFoundError:
            continue
        classifiers = [c for c in data.get_all("Classifier") or [] if c.startswith("License")]
        said = " ".join(
            [data.get("License-Expression") or "", *classifiers, (data.get("License") or "")[:200]]
        )
        assert FREE.search(said), f"{name}: {said[:100]!r}"
        assert not BOUND.search(said), f"{name}: {said[:100]!r}"
        seen.add(name)
    assert {re.match(r"[\w.-]+", need)[0] for need in PROJECT["dependencies"]} <= seen


def test_the_matrix_has_the_versions_that_are_promised():
    least = PROJECT["requires-python"].removeprefix(">=")
    versions = re.search(r"python: \[(.*)\]", (ROOT / ".github/workflows/test.yml").read_text())[1]
    first, *_, last = re.findall(r"3\.\d+", versions)
    assert first == least
    assert f"{first} to {last}" in (ROOT / "docs/stability.md").read_text()
    assert pysgrld.__version__ == PROJECT["version"]
