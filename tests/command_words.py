"""Words of a command line, made from options by name, or from a base and changes."""

from pysgrld.cli.train import SETTINGS
from pysgrld.models.options import option_text


def typed(options):
    """Return options of training as words of a command line, without those of value None."""
    return [
        word
        for name, value in options.items()
        if value is not None
        for word in (
            ("--set", f"{name}={value}")
            if name in SETTINGS
            else option_text(name, value).split(" ", 1)
        )
    ]


def last_of_each(words):
    """Return the words of a command line with only the last value of each setting.

    A setting may be given once, while a test's line consists of a base and its own changes.
    """
    words, last = list(words), {}
    for i, word in enumerate(words[:-1]):
        if word == "--set":
            last[str(words[i + 1]).split("=")[0]] = i
    kept = {i for start in last.values() for i in (start, start + 1)}
    within = {i + d for i, word in enumerate(words[:-1]) if word == "--set" for d in (0, 1)}
    return [word for i, word in enumerate(words) if i not in within or i in kept]
