"""What ``import pysgrld`` says and costs."""

import shutil
import subprocess
import sys
from pathlib import Path

import pysgrld

PACKAGE = Path(pysgrld.__file__).parent


def test_in_the_folder_of_the_source_it_says_what_hides_the_package(tmp_path):
    """Red with: "No module named 'pysgrld._core'", which says nothing of the folder."""
    compiled = shutil.ignore_patterns("*.so", "__pycache__", "cli")
    shutil.copytree(PACKAGE, tmp_path / "pysgrld", ignore=compiled)
    code = "import pysgrld; pysgrld.LDA"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: {tmp_path} is the source of sgmc, which is not compiled")
    assert "pip install -e ." in last
