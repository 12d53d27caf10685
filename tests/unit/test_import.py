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
    assert last.startswith(f"ImportError: {tmp_path} has the uncompiled source of sgmc")
    assert "pip install -e ." in last


#: Imports the package in a sub-interpreter, then in the main one.
IN_BOTH = """
import sys
interpreters = __import__("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
code = (
    "import warnings; warnings.simplefilter('ignore')\\n"
    "try:\\n"
    "    from pysgrld import LDA\\n"
    "except ImportError as error:\\n"
    "    print('ImportError:', error, flush=True)"
)
interpreters.run_string(interpreters.create(), code)
import pysgrld
pysgrld.LDA
print("main", flush=True)
"""


def test_a_sub_interpreter_is_refused():
    """Red with: a wait for ever for the lock of the main interpreter."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", IN_BOTH],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith("ImportError: pysgrld cannot be imported in a sub-interpreter")
    assert lines[1] == "main"


def test_the_server_of_forks_begins_without_mpi4py():
    """So that tests of the command line run without it. Red with: all modules imported, or none."""
    code = (
        "import sys; sys.modules['mpi4py'] = None; import fork_server, pysgrld; "
        "fork_server.import_modules(pysgrld); "
        "print('pysgrld.chain.mpi' in sys.modules, 'pysgrld.train.loop' in sys.modules)"
    )
    folder = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["False", "True"], done.stderr


#: Trains a model on a few documents and shows its topics; prints the slow imports that neither needs.
COMMANDS = """
import sys
from pysgrld.cli import main
text = "\\n".join(["ship storm harbour sail"] * 20 + ["bread oven flour salt"] * 20)
open("corpus.txt", "w").write(text)
for args in (["train", "corpus.txt", "-k", "2", "--iterations", "20", "--exact-sweeps", "40", "-q"],
             ["topics", "-q"], ["runs"]):
    try: main(args)
    except SystemExit as end: assert end.code == 0, args
slow = {"email.message", "importlib.metadata", "numpy.ma", "pysgrld.report.making", "xml.etree"}
slow |= {f"pysgrld.models.{model}.resolved" for model in ("dlda", "dpmm", "dtm", "sam")}
print(sorted(slow & set(sys.modules)))
"""


def test_commands_import_no_module_that_they_do_not_need(tmp_path):
    """Red with: all models imported for their scores; the version read from metadata; np.median."""
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_the_entry_point_ends_with_the_exit_code_of_the_command(tmp_path):
    """Red with: an error lost in the shortened end of the process."""
    line = [sys.executable, "-m", "pysgrld", "no-such-command"]
    done = subprocess.run(line, capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
