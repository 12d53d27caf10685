"""Entry point of ``sgmc``. It imports few modules, so that Ctrl-C rarely interrupts imports."""

from __future__ import annotations

import gc

from pysgrld.errors import leave_at_once

#: Python searches for garbage after this number of new containers. With Python's default, 700,
#: searches take 5 % of the time of ``sgmc report`` and find almost no garbage.
_BETWEEN_SEARCHES = 100_000


def main() -> None:
    """Run ``sgmc``."""
    leave_at_once()
    gc.set_threshold(_BETWEEN_SEARCHES)
    from pysgrld.cli import main as command

    try:
        command()
    finally:
        # Without `gc.freeze`, Python would search all modules for garbage at exit, for 0.1 seconds.
        gc.freeze()


if __name__ == "__main__":
    main()
