"""Values of options as a person reads them."""

from __future__ import annotations

from typing import Any

from pysgrld.errors import UsageError
from pysgrld.options.common import SHARED
from pysgrld.options.seeds import SEEDS

_SPELL = {name: option.spell for name, option in (SHARED | SEEDS).items() if option.spell}


def spelled(name: str, value: Any) -> Any:
    """Give the value of an option, named with dashes or without, as it is shown: a list as it says."""
    spell = _SPELL.get(name.removeprefix("--"))
    if spell is None or not isinstance(value, list | tuple):
        return value
    try:
        return spell(value)
    except UsageError:  # of a record that is damaged
        return value
