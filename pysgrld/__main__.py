"""Entry point of the command ``sgmc``, kept small so that Ctrl-C rarely interrupts its start."""

from __future__ import annotations

import gc

from pysgrld.errors import leave_at_once


def main() -> None:
    """Run ``sgmc``."""
    leave_at_once()
    from pysgrld.cli import main as command

    try:
        command()
    finally:
        gc.freeze()  # at exit, Python would search all modules for garbage, for a tenth of a second


if __name__ == "__main__":
    main()
