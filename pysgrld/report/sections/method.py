"""Section "Method": the run's options, and the definitions of all sections."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

from pysgrld.errors import plural
from pysgrld.models.options import option_text
from pysgrld.options.common import format_value
from pysgrld.report.reported_run import Section


class RunMethod(Section):
    """Section about how to read the page, and how the run was made."""

    def main(self) -> dict[str, Any]:
        """Return each training option's name and value, and whether the user set it."""
        config = self.run.results.run.config
        usual = config.get("defaults")
        usual = set(usual) if isinstance(usual, list) else set()
        options = [
            [option_text(name), _text(format_value(name, value)), name not in usual]
            for name, value in config.get("options", {}).items()
            if value is not None
        ]
        label_sources = Counter(
            label.by for label in self.run.named.values() if label.by is not None
        )
        return {
            "options": options
            + [
                ["names", f"of {plural(topics, 'topic')}, named by the command '{command}'", True]
                for command, topics in label_sources.items()
            ]
        }


def _text(value: Any) -> str:
    """Format a value; for a path, only its last part, so that the page reveals no folder names."""
    if isinstance(value, str):
        return os.path.basename(value.rstrip(os.sep)) or value  # noqa: PTH119 - text, not a path of ours
    if isinstance(value, list | tuple):
        return ",".join(map(_text, value))
    return str(value)
