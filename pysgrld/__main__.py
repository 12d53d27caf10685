"""Entry point of ``sgmc``, which imports little, so that Ctrl-C rarely interrupts imports."""

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
        # Without this call, Python would search all modules for garbage at exit, for 0.1 seconds.
        gc.freeze()


if __name__ == "__main__":
    main()
