"""Readers for messages of mail and news, from files with one message and from mbox files.

Files with one message are .eml files, maildirs and 20 Newsgroups. Python's email package decodes
messages. The text of a document is the plain text in the body, or else the visible text of the HTML
page in the body. Attachments are left out.
"""

from __future__ import annotations

import email.policy
import re
from collections.abc import Iterator
from datetime import datetime
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any

from pysgrld.corpus.formats.extract import check_tags, shown
from pysgrld.corpus.formats.protocol import BadDocument, Context, Texts
from pysgrld.corpus.formats.record_texts import Numbered, texts_of
from pysgrld.corpus.formats.text_fields import MAIL_TITLE
from pysgrld.corpus.lines import UTF8, Lines, undecodable
from pysgrld.corpus.reading import CorpusOptions

#: Headers of a message that become fields with the same names. The text becomes the field `body`.
_HEADERS = (
    *("subject", "from", "to", "cc", "date", "message-id", "in-reply-to", "newsgroups"),
    *("organization", "sender", "list-id", "keywords", "x-gmail-labels"),
)
#: Pattern of the first line of a message in an mbox file. A blank line must precede this line.
_FROM = re.compile(rb"From (?:.*[ \t])?(?:19|20)[0-9]{2}\b[^\n]*\n?")
_ESCAPED = re.compile(rb"^>(>*From )", re.M)
_ENCODED = ("base64", "quoted-printable")


def message(data: bytes, options: CorpusOptions) -> dict[str, Any]:
    """Parse a message, and return its text and headers as fields.

    Raises
    ------
    BadDocument
        If the text is not in the encoding that the message declares.
    """
    parsed = email.message_from_bytes(data, policy=email.policy.compat32)
    record: dict[str, Any] = {"body": _body(parsed, options)}
    for name in _HEADERS:
        value = _header(parsed.get(name))
        record[name] = _time(value) if name == "date" else value
    return record


def mbox(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document for each message of an mbox file."""
    yield from texts_of(_messages(context, source), source, context, "message", title=MAIL_TITLE)


def _messages(context: Context, source: Lines) -> Iterator[Numbered]:
    """Yield the number and the fields of each message in an mbox file."""
    number, limit = 0, context.options.max_line
    lines: list[bytes] = []
    size, blank = 0, True

    def parsed() -> dict[str, Any] | BadDocument:
        if size > limit:
            return BadDocument(
                "line too long",
                f"the message has more than {limit} bytes; allow more with --set max-line=SIZE",
            )
        try:
            return message(_ESCAPED.sub(rb"\1", b"".join(lines)), context.options)
        except BadDocument as bad:
            return bad

    begun = False
    for block in source.lines(context.bad):
        for line in block.splitlines(keepends=True):
            if blank and line.startswith(b"From ") and _FROM.match(line):
                if begun:
                    number += 1
                    yield number, parsed()
                lines, size, begun = [], 0, True
            else:
                size += len(line)
                if size <= limit:
                    lines.append(line)
            blank = not line.strip()
    if begun:
        number += 1
        yield number, parsed()


def _body(parsed: Message, options: CorpusOptions) -> str:
    """Return the plain text of a message, or the text of its HTML parts if it has no plain text."""
    plain: list[str] = []
    pages: list[str] = []
    for part in parsed.walk():
        kind = part.get_content_type()
        attached = part.get_content_disposition() == "attachment"
        if attached or kind not in ("text/plain", "text/html"):
            continue
        text = _text(part, options)
        if kind == "text/html":
            check_tags(text.encode(UTF8, "replace"))
            pages.append(shown(text)[0].decode(UTF8, "replace"))
        else:
            plain.append(text)
    return "\n\n".join(text for text in plain if text.strip()) or "\n\n".join(pages)


def _text(part: Message, options: CorpusOptions) -> str:
    """Decode the text of one part of a message.

    Raises
    ------
    BadDocument
        If the text is neither in the declared encoding nor UTF-8.
    """
    data = part.get_payload(decode=True)
    assert isinstance(data, bytes)
    coded = str(part.get("content-transfer-encoding", "")).strip().lower() in _ENCODED
    # With --encoding, the whole file was converted to UTF-8, so a declared encoding is wrong. Only
    # base64 and quoted-printable parts were not converted.
    says = part.get_content_charset() if coded or options.encoding == UTF8 else None
    for encoding in (says, UTF8):
        try:
            if encoding:
                return data.decode(encoding)
        except (LookupError, UnicodeError):
            continue
    raise BadDocument("not UTF-8", undecodable(options.encoding))


def _header(value: Any) -> str | None:
    """Decode a header to text; return None if the header is missing or empty."""
    if value is None:
        return None
    try:
        text = str(make_header(decode_header(str(value))))
    except (HeaderParseError, LookupError, UnicodeError, ValueError):
        text = str(value)
    text = text.encode(UTF8, "surrogateescape").decode(UTF8, "replace")
    return " ".join(text.split()) or None


def _time(value: str | None) -> datetime | None:
    """Parse the date in a header; return None if the date is missing or invalid."""
    try:
        return None if value is None else parsedate_to_datetime(value)
    except (TypeError, ValueError, OverflowError):
        return None
