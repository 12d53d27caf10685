"""What a release is made by: one version everywhere, pinned workflows, pages that keep their word."""

import re
import tomllib
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


def test_the_matrix_has_the_versions_that_are_promised():
    least = PROJECT["requires-python"].removeprefix(">=")
    versions = re.search(r"python: \[(.*)\]", (ROOT / ".github/workflows/test.yml").read_text())[1]
    first, *_, last = re.findall(r"3\.\d+", versions)
    assert first == least
    assert f"{first} to {last}" in (ROOT / "docs/stability.md").read_text()
    assert pysgrld.__version__ == PROJECT["version"]
