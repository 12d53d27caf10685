"""Put the pages of the documentation where the site is built from, with links as the site has them.

python docs/site/stage.py build/site/pages
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Pages of the site that stand at the root of the sources.
OF_ROOT = {
    "README.md": "index.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
    "CODE_OF_CONDUCT.md": "CODE_OF_CONDUCT.md",
    "CITATION.cff": "CITATION.cff",
}
#: Pages of the reference, and what each has: classes and functions, or a module.
API = {
    "LDA": ("class", "pysgrld.LDA"),
    "DeepLDA": ("class", "pysgrld.DeepLDA"),
    "DPMixture": ("class", "pysgrld.DPMixture"),
    "SAM": ("class", "pysgrld.SAM"),
    "compare": ("function", "pysgrld.compare"),
    "diagnose": ("function", "pysgrld.diagnose"),
    "verdict": ("function", "pysgrld.verdict"),
    "report": ("function", "pysgrld.report.report"),
    "simplex": ("module", "pysgrld.samplers.targets.simplex"),
    "sphere": ("module", "pysgrld.samplers.targets.sphere"),
}
#: The head of the site, by its parts; pages that are in none are found by links and by the search.
PARTS = {
    "Start": "getting-started faq coming-from corpora documents python",
    "Use": "questions growing choosing-k report compare effect exports",
    "Understand": "evaluation diagnose calibration choosing-a-sampler models guided-topics over-time "
    "deep-lda mixture spherical performance",
    "At scale": "run-directory reliability parallel streams",
    "Python": " ".join(f"api/{name}" for name in API),
    "Project": "stability CHANGELOG SECURITY CONTRIBUTING CODE_OF_CONDUCT internals/README",
}
_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)")


def staged() -> dict[Path, str]:
    """Return the files that the site has, with their places in it."""
    found = {ROOT / name: place for name, place in OF_ROOT.items()}
    docs = ROOT / "docs"
    for path in sorted(docs.rglob("*")):
        inside = path.relative_to(docs)
        if path.is_file() and inside.parts[0] != "site" and "__pycache__" not in inside.parts:
            found[path] = inside.as_posix()
    return found


def linked(text: str, source: Path, place: str, files: dict[Path, str]) -> str:
    """Return a page whose links lead to the site's places; one to another file becomes its name."""

    def follow(match: re.Match[str]) -> str:
        what, target = match[1], match[2]
        path, hash_, part = target.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return match[0]
        to = Path(os.path.normpath(source.parent / path))
        if to in files:
            start = Path(place).parent.as_posix()
            return f"{what}({os.path.relpath(files[to], start)}{hash_}{part})"
        return f"{what[1:-1]} (`{to.relative_to(ROOT)}`)"

    return _LINK.sub(follow, text)


def main() -> None:
    """Write all pages into a folder that is made anew."""
    pages, files = Path(sys.argv[1]), staged()
    shutil.rmtree(pages, ignore_errors=True)
    for source, place in files.items():
        to = pages / place
        to.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            to.write_text(linked(source.read_text(), source, place, files))
        else:
            shutil.copy(source, to)
    (pages / "api").mkdir()
    for name, (kind, what) in API.items():
        members = "" if kind == "function" else "\n   :members:\n   :inherited-members:"
        text = f"# {name}\n\n```{{eval-rst}}\n.. auto{kind}:: {what}{members}\n```\n"
        (pages / "api" / f"{name}.md").write_text(text)
    trees = [
        f"```{{toctree}}\n:hidden:\n:caption: {part}\n\n" + "\n".join(names.split()) + "\n```\n"
        for part, names in PARTS.items()
    ]
    with (pages / "index.md").open("a") as index:
        index.write("\n" + "\n".join(trees))


if __name__ == "__main__":
    main()
