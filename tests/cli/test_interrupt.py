"""Ctrl-C before a command has begun."""

import signal
import subprocess
import sys

import pytest

from pysgrld import errors as interrupt

pytestmark = pytest.mark.cli

#: Sends itself a Ctrl-C while Python searches for a module.
PROGRAM = """
import os, signal, sys

moment, sys.argv = sys.argv[1], ["sgmc", "train", "nowhere.txt"]
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == moment:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Watch())
from pysgrld.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "moment", ["click", "pysgrld.models.options", "numpy", "pysgrld.train.loop"]
)
def test_ctrl_c_while_modules_are_loaded_ends_it_without_a_word(moment, tmp_path):
    """Red with: the command itself as the entry; the handler left to Python."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, moment],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_ctrl_c_raises_again_when_a_command_works_and_stays_ignored_where_it_was():
    before = signal.getsignal(signal.SIGINT)
    try:
        for there in (signal.default_int_handler, signal.SIG_IGN):
            signal.signal(signal.SIGINT, there)
            interrupt.leave_at_once()
            if there is signal.SIG_IGN:
                assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            interrupt.leave_in_order()
            assert signal.getsignal(signal.SIGINT) is there
    finally:
        signal.signal(signal.SIGINT, before)
