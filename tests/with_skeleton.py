"""The ``sgmc`` command with one more model: this row of the table is all that it takes.

Processes of ``--chains`` read this file as well, and pytest takes it as a plugin (``-p with_skeleton``).
"""

import json
import os

from pysgrld.models.table import MODELS

MODELS["multinomial"] = "skeletons.multinomial.declared"

if __name__ == "__main__":
    from pysgrld.cli import main

    if "SIGNAL_AT" in os.environ:
        from fork_server import signal_at

        signal_at(*json.loads(os.environ["SIGNAL_AT"]))
    main(prog_name="sgmc")
