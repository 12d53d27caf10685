"""Text in other encodings than UTF-8, made UTF-8 while it is read."""

from __future__ import annotations

import codecs
from collections.abc import Generator
from contextlib import closing

UTF8 = "utf-8"

#: How malformed bytes are decoded: to what no UTF-8 has, so that they are found like malformed UTF-8.
_MALFORMED = "pysgrld.malformed"
codecs.register_error(_MALFORMED, lambda error: ("\udcff", error.end))  # type: ignore[attr-defined]


class Guess:
    """A guess whether bytes that are read in another encoding are UTF-8 all the same."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder(UTF8)()
        self._valid, self._beyond = True, False

    def see(self, block: bytes) -> None:
        """Look at what comes next."""
        if self._valid:
            try:
                self._beyond |= not self._decoder.decode(block).isascii()
            except UnicodeError:
                self._valid = False

    @property
    def utf8(self) -> bool:
        """Whether all that was seen is UTF-8, and not ASCII alone."""
        return self._valid and self._beyond


def as_utf8(
    blocks: Generator[bytes, None, None], encoding: str, guess: Guess
) -> Generator[bytes, None, None]:
    """Yield text of another encoding as UTF-8, where what was malformed is malformed too."""
    decoder = codecs.getincrementaldecoder(encoding)(_MALFORMED)
    with closing(blocks):
        try:
            for block in blocks:
                guess.see(block)
                if text := decoder.decode(block):
                    yield text.encode(UTF8, "surrogatepass")
            if text := decoder.decode(b"", True):
                yield text.encode(UTF8, "surrogatepass")
        except UnicodeError:  # UTF-16 or UTF-32 whose bytes are in no known order: all of it
            yield "\udcff".encode(UTF8, "surrogatepass")


def not_in(encoding: str) -> str:
    """Say that text is not in an encoding, and how another one is said: which it is cannot be known."""
    if encoding != UTF8:
        return f"not {encoding} (choose another --encoding)"
    return (
        "not UTF-8 (if all of it is in another encoding, say which: --encoding windows-1252 for Western "
        "text and Excel's CSV, windows-1251 for Cyrillic, gb18030 for Chinese, shift_jis for Japanese)"
    )
