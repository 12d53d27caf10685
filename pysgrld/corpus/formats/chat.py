"""Reader for chats that WhatsApp exports as text; a message begins with its time and author."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pysgrld.corpus.formats.protocol import Context, Texts
from pysgrld.corpus.formats.record_texts import Numbered, texts_of
from pysgrld.corpus.formats.tagged import lines_of
from pysgrld.corpus.lines import Lines

_BEGIN = (
    r"[\u200e\ufeff]*\[?(\d{1,4}[./-]\d{1,2}[./-]\d{1,4}),? "
    r"(\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:[ \u202f][AaPp]\.?[Mm]\.?)?)(?:\]| -) "
)
_MESSAGE = re.compile(_BEGIN + r"[\u200e~]*([^:]{1,60}): (.*)")
_NOTICE = re.compile(_BEGIN)
#: Text that replaces a picture or another file if the chat was exported without files.
_LEFT_OUT = re.compile(r"\u200e?<[\w ]+ omitted>|\u200e?\w+ omitted")


def read(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document per message of a chat."""
    known = ("text", "from", "date")
    yield from texts_of(_messages(context, source), source, context, "message", known)


def _messages(context: Context, source: Lines) -> Iterator[Numbered]:
    """Yield the number and fields of each message of a chat; skip WhatsApp's automatic notices."""
    number, message = 0, dict[str, str]()
    for _, line in lines_of(context, source):
        match = _MESSAGE.match(line)
        if not match and not _NOTICE.match(line):
            if message:
                message["text"] += f"\n{line}"
            continue
        if message:
            number += 1
            yield number, message
        message = {}
        if match:
            text = "" if _LEFT_OUT.fullmatch(match[4].strip()) else match[4]
            message = {"date": f"{match[1]} {match[2]}", "from": match[3], "text": text}
    if message:
        yield number + 1, message
