"""Entry point of the command ``sgmc``, so small that Ctrl-C can hardly interrupt it."""

from __future__ import annotations

from pysgrld.errors import leave_at_once


def main() -> None:
    """Run ``sgmc``."""
    leave_at_once()
    from pysgrld.cli import main as command

    command()


if __name__ == "__main__":
    main()
