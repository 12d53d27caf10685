"""Entry point of the command ``sgmc``, so small that Ctrl-C can hardly interrupt it."""

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
