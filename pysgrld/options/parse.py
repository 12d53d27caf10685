"""Functions that parse the texts of option values; they raise `UsageError` for invalid texts.

No NumPy here: help must be instant.
"""

from __future__ import annotations

import codecs
import itertools
import math
import re
from collections.abc import Callable
from typing import Any

from pysgrld.errors import UsageError

#: Smallest normal number in single precision, in which topics are stored. Smaller numbers would
#: lose digits or become 0.
SMALLEST = 2.0**-126
#: Maximum number of layers of a deep model.
MAX_LAYERS = 8


def or_word(parse: Callable[[str], Any], *words: str) -> Callable[[str], Any]:
    """Return a parser that keeps the given words as they are, and parses other texts by ``parse``.

    Parameters
    ----------
    parse : callable
        Parser of any other text.
    *words : str
        Words that stand for themselves.

    Returns
    -------
    callable
        A parser.
    """
    return lambda text: text if text in words else parse(text)


def integer(low: int, high: int = 2**31 - 1, /, **words: Any) -> Callable[[str], Any]:
    """Return a parser of integers in [low, high], and of words that stand for special values.

    Parameters
    ----------
    low : int
    high : int, optional
    **words : object
        Words, each with the value that it stands for.

    Returns
    -------
    callable
        The parser; it raises `UsageError` for other text.
    """

    def parse(text: str) -> Any:
        if text in words:
            return words[text]
        if not re.fullmatch(r"[+-]?\d{1,18}", text) or not low <= int(text) <= high:
            other = "".join(f", or {word}" for word in words)
            raise UsageError(f"'{text}' is not a whole number from {low} to {high}{other}")
        return int(text)

    return parse


def real(low: float, high: float = math.inf) -> Callable[[str], float]:
    """Return a parser of finite numbers strictly between ``low`` and ``high``.

    Parameters
    ----------
    low : float
    high : float, optional

    Returns
    -------
    callable
        The parser; it raises `UsageError` for other text.
    """

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (low < value < high):
            bound = f"greater than {low:g}" + ("" if high == math.inf else f" and below {high:g}")
            raise UsageError(f"'{text}' is not a number {bound}")
        return value

    return parse


def reals(low: float, count: int, description: str) -> Callable[[str], tuple[float, ...]]:
    """Return a parser of ``count`` numbers above ``low``, separated by commas.

    Parameters
    ----------
    low : float
    count : int
        Number of values; 0 for any number.
    description : str
        Description of the values, for the message about a wrong number of values.

    Returns
    -------
    callable
        The parser; it raises `UsageError` for other text.
    """

    def parse(text: str) -> tuple[float, ...]:
        parts = text.split(",")
        if count and len(parts) != count:
            raise UsageError(f"'{text}' is not {description}")
        return tuple(real(low, 1e6)(part) for part in parts)

    return parse


def widths(value: str) -> tuple[int, ...]:
    """Parse the numbers of topics of a deep model's layers, lowest layer first.

    Parameters
    ----------
    value : str
        The text that the user typed.

    Returns
    -------
    tuple of int
        Topics of each layer, none larger than the one before.

    Raises
    ------
    UsageError
        If a number is invalid, there are too many layers, or a layer is wider than the one below.
    """
    layers = tuple(integer(1, 1 << 18)(part) for part in value.split(","))
    if len(layers) > MAX_LAYERS:
        raise UsageError(f"'{value}' has {len(layers)} layers; the maximum is {MAX_LAYERS}")
    for i, (below, above) in enumerate(itertools.pairwise(layers), 2):
        if above > below:
            raise UsageError(
                f"'{value}': layer {i} has {above} topics, more than the {below} topics of "
                f"layer {i - 1} below; list the layers from the bottom, with no number greater "
                "than the number before"
            )
    return layers


def choice(*values: str) -> Callable[[str], str]:
    """Return a parser that accepts only the given words; its attribute ``values`` lists them.

    Returns
    -------
    callable
        The parser; it raises `UsageError` for other text.
    """

    def parse(text: str) -> str:
        if text not in values:
            raise UsageError(f"'{text}' is not one of {', '.join(values)}")
        return text

    parse.values = values  # type: ignore[attr-defined]
    return parse


def duration(value: str) -> float:
    """Parse a duration such as 0.25s, 15m, 2h30m or 1d; return seconds.

    Parameters
    ----------
    value : str
        The text that the user typed.

    Returns
    -------
    float
        Seconds, above 0.

    Raises
    ------
    UsageError
        If the text is no duration.
    """
    units = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", value)
    if not parts or "".join(n + u for n, u in parts) != value:
        raise UsageError(f"'{value}' is not a duration; write 30s, 15m or 2h30m")
    seconds = sum(float(n) * units[u] for n, u in parts)
    if not 0 < seconds < 1e9:
        raise UsageError(f"'{value}' is not a duration above 0, such as 30s or 2h30m")
    return seconds


def every(value: str) -> int | str:
    """Parse an interval: a number of iterations, or a duration.

    Parameters
    ----------
    value : str
        The typed text.

    Returns
    -------
    int or str
        Iterations, or the duration as typed.
    """
    if re.fullmatch(r"\d{1,9}", value) and int(value) > 0:
        return int(value)
    if value.isdigit():
        raise UsageError(f"'{value}' is not a number of iterations; give 1 or more")
    duration(value)
    return value


def requeue_code(value: str) -> int:
    """Parse the exit code of a run that is stopped early; refuse codes with other meanings."""
    code: int = integer(1, 255)(value)
    if code in (2, 64, 65, 66, 70, 73, 74, 75, 76, 78, 86, 87, 88, 130) or code > 127:
        raise UsageError(
            f"exit code '{value}' already has another meaning; give 85, or 99 for Grid Engine"
        )
    return code


def share_or_count(value: str) -> int | float:
    """Parse a count (a whole number) or a fraction (a decimal number above 0 and at most 1).

    Parameters
    ----------
    value : str
        The text that the user typed.

    Returns
    -------
    int or float
        An int is a count, a float is a fraction.

    Raises
    ------
    UsageError
        If the text has neither form.
    """
    if re.fullmatch(r"\d{1,18}", value):
        return int(value)
    share = real(0.0, math.inf)(value)
    if share > 1.0:
        raise UsageError(
            f"'{value}' is neither a whole number nor a fraction above 0 and at most 1"
        )
    return share


def part(value: str) -> tuple[int, int]:
    """Parse a text I/N, which stands for part I of N parts, counted from 1.

    Parameters
    ----------
    value : str
        The text that the user typed.

    Returns
    -------
    (int, int)
        I and N.

    Raises
    ------
    UsageError
        If the text does not have this form.
    """
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", value)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"'{value}' is not of the form I/N with I from 1 to N, such as 3/64")
    return int(match[1]), int(match[2])


def schedule(value: str) -> tuple[float, float, float]:
    """Parse the numbers ``A,B,C`` in the step size A (1 + t/B)^(-C) of iteration t.

    Parameters
    ----------
    value : str
        The text that the user typed.

    Returns
    -------
    (float, float, float)
        A, B and C.

    Raises
    ------
    UsageError
        If the text does not have this form, or a number is out of range.
    """
    try:
        a, b, c = (float(part) for part in value.split(","))
    except ValueError:
        raise UsageError(
            f"'{value}' is not of the form A,B,C with three numbers, for A*(1 + t/B)^(-C)"
        ) from None
    if not (0 < a <= 1e6 and 0 < b <= 1e12 and 0 <= c <= 1):
        raise UsageError(f"'{value}': A*(1 + t/B)^(-C) needs A > 0, B > 0 and 0 <= C <= 1")
    return a, b, c


#: Names of languages by code. Languages with a stop-word list come first.
LANGUAGES = {
    **{"da": "danish", "nl": "dutch", "en": "english", "fi": "finnish", "fr": "french"},
    **{"de": "german", "id": "indonesian", "it": "italian", "no": "norwegian", "pt": "portuguese"},
    **{"ru": "russian", "es": "spanish", "sv": "swedish"},
    **{"af": "afrikaans", "sq": "albanian", "ar": "arabic", "hy": "armenian", "eu": "basque"},
    **{"be": "belarusian", "bn": "bengali", "bs": "bosnian", "bg": "bulgarian", "ca": "catalan"},
    **{"zh": "chinese", "hr": "croatian", "cs": "czech", "et": "estonian", "tl": "tagalog"},
    **{"gl": "galician", "ka": "georgian", "el": "greek", "he": "hebrew", "hi": "hindi"},
    **{"hu": "hungarian", "is": "icelandic", "ga": "irish", "ja": "japanese", "kk": "kazakh"},
    **{"ko": "korean", "la": "latin", "lv": "latvian", "lt": "lithuanian", "mk": "macedonian"},
    **{"ms": "malay", "mr": "marathi", "ne": "nepali", "fa": "persian", "pl": "polish"},
    **{"ro": "romanian", "sr": "serbian", "sk": "slovak", "sl": "slovenian", "sw": "swahili"},
    **{"ta": "tamil", "te": "telugu", "th": "thai", "tr": "turkish", "uk": "ukrainian"},
    **{"ur": "urdu", "vi": "vietnamese", "cy": "welsh"},
}
#: Number of languages with a stop-word list, which come first in `LANGUAGES`. No library is needed
#: to detect these languages.
LISTED = 13


def language(value: str) -> str:
    """Parse the name or the code of a language; return the name.

    Parameters
    ----------
    value : str
        The text that the user typed.

    Returns
    -------
    str
        Name in lower case.

    Raises
    ------
    UsageError
        If the language is unknown.
    """
    text = value.strip().lower()
    name = LANGUAGES.get(text, text)
    if name not in LANGUAGES.values():
        raise UsageError(
            f"'{value}' is not a language that can be detected; give one of {', '.join(LANGUAGES)}"
        )
    return name


def encoding(value: str) -> str:
    """Parse the name of a text encoding; return Python's name for this encoding.

    Parameters
    ----------
    value : str
        The typed text.

    Returns
    -------
    str
        Name of the codec.
    """
    try:
        b"a".decode(value, "backslashreplace")
    except (LookupError, ValueError):
        raise UsageError(
            f"'{value}' is not a known encoding; give utf-8, windows-1252, latin-1, shift_jis or "
            "another one"
        ) from None
    return codecs.lookup(value).name


def lists(value: str) -> str:
    """Parse the names of stop-word lists, separated by commas; "none" must stand alone."""
    names = [name.strip() for name in value.split(",")]
    if not all(names):
        raise UsageError(
            f"'{value}' has an empty name; write lists separated by commas, such as english,FILE"
        )
    if "none" in names and len(names) > 1:
        raise UsageError(
            f"'{value}': none cannot be combined with other values; give it alone, or leave it out"
        )
    return ",".join(names)


KINDS = ("string", "category", "integer", "real", "time", "flag")
#: `EVERYTHING` selects all fields of the documents, and `NOTHING` selects no field.
EVERYTHING, NOTHING = "all", "none"


def column(value: str) -> tuple[str, str | None]:
    """Split a text NAME or NAME:kind into the name of a column and the kind of its values.

    Parameters
    ----------
    value : str
        The text that the user typed.

    Returns
    -------
    (str, str or None)
        Name, and kind if the text has one.
    """
    name, colon, kind = value.rpartition(":")
    return (name, kind) if colon and kind in KINDS else (value, None)


def columns(value: str) -> str:
    """Check a text of columns NAME or NAME:kind, separated by commas; return the text unchanged.

    Instead of a list, the text may be one of the words ``auto``, ``all`` and ``none``.

    Parameters
    ----------
    value : str
        The text that the user typed.

    Returns
    -------
    str
        The same text.

    Raises
    ------
    UsageError
        If a name is empty or occurs twice, or "auto", "all" or "none" is combined with others.
    """
    names = [column(name)[0] for name in value.split(",")]
    if not all(names):
        raise UsageError(
            f"'{value}' has an empty name; write NAME or NAME:kind, separated by commas"
        )
    if len(set(names)) < len(names):
        raise UsageError(f"'{value}' has the same field twice; remove one")
    for word in ("auto", EVERYTHING, NOTHING):
        if word in names and value != word:
            raise UsageError(
                f"'{value}': {word} cannot be combined with other values; give it alone, or leave "
                "it out"
            )
    return value


def size(value: str) -> int:
    """Parse a size in bytes, such as 500M, 2G or 1.5GiB.

    Parameters
    ----------
    value : str
        The typed text.

    Returns
    -------
    int
        Bytes.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKMGT]?)(i?B)?", value)
    if not match:
        raise UsageError(f"'{value}' is not a size; write 500M or 2G")
    power = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}[match[2]]
    number = float(match[1]) * 1024.0**power
    if not 1.0 <= number < 2.0**63:
        raise UsageError(f"'{value}' is not a size from 1 byte to 8388607T")
    return int(number)


#: Parser of the values of ``--keep-text``: auto, all, none, or a size in bytes.
kept_text = or_word(size, "auto", "all", "none")
