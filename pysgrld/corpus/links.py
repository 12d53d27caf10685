"""Functions that remove HTML, links, e-mail addresses, @names and placeholders from web texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from string import ascii_letters, digits

from pysgrld.corpus._tokenize import AMPERSAND, AT, LINK, SHORT, TAG, signs_in
from pysgrld.corpus._tokenize import GARBLED as _GARBLED

#: Name of the count of texts in UTF-8 that another program read as Latin-1.
GARBLED = "garbled"
#: Name of the count of texts from which a licence was removed.
LICENCE = "licence"
#: Texts, in lower case, that only state that the real text is missing.
PLACEHOLDERS = frozenset(
    (
        *("[deleted]", "[removed]", "[deleted by user]", "[removed by reddit]"),
        *("[no abstract available]", "no abstract available", "no abstract available."),
        *("[abstract not available]", "abstract not available", "no abstract", "[no abstract]"),
        *("na", "n/a", "<na>", "nan", "null", "none", "nil", "#n/a"),
    )
)
_LONGEST = max(map(len, PLACEHOLDERS))
_INITIALS = "".join({text[0] + text[0].upper() for text in PLACEHOLDERS}).encode()

_ENTITY = re.compile(rb"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});")
_LINK = re.compile(rb"(?:https?|ftp)://[^\s<>\"\x5d)}]+|\bwww\.[^\s<>\"\x5d)}]+", re.I)
#: Pattern of tags of HTML and JATS that may be within a word. They are removed.
_INLINE_TAG = re.compile(
    rb"</?(?:jats:)?(?:b|i|u|s|em|strong|sub|sup|span|font|italic|bold|mark|small|a)(?:\s[^<>]*)?/?>",
    re.I,
)
#: Pattern of all other tags, and of comments. They become a blank.
_TAG = re.compile(
    rb"<!--[^<>]*-->|</?(?:jats:)?(?:p|br|div|ul|ol|li|h[1-6]|blockquote|code|pre|img|table|t[rdh]|tbody|thead|hr|sec|title"
    rb"|section|article|figure|figcaption|iframe|script|style|dl|d[td]|label|list|list-item|abstract)"
    rb"(?:\s[^<>]*)?/?>",
    re.I,
)
_WWW = re.compile(rb"www\.")
#: Pattern of an at sign and of the name or domain after it.
_AT = re.compile(rb"@(?:[\w\x80-\xff-]+((?:\.[\w\x80-\xff-]+)+)?)?")
#: Bytes that may come before the at sign in an e-mail address, including bytes of UTF-8 letters.
_LOCAL = frozenset((ascii_letters + digits + "_.+-").encode()) | {*range(128, 256)}
#: Maximum number of bytes before the at sign in an e-mail address (RFC 5321).
_MOST_LOCAL = 64
_WORDS = frozenset(bytes([byte]) for byte in _LOCAL)
#: Kinds of strings that are removed from texts, with their names in log messages, in the singular
#: and in the plural.
CALLED = {
    "link": ("link", "links"),
    "address": ("e-mail address", "e-mail addresses"),
    "name": ("@name", "@names"),
    "RT": ("RT", "RT"),
    "tag": ("HTML tag", "HTML tags"),
}


def plain_texts(
    documents: Iterable[bytes], *, keep_links: bool, left_out: Counter[str]
) -> list[bytes]:
    """Return texts without HTML, links, e-mail addresses, @names and placeholders.

    Entities become characters; HTML tags, links, e-mail addresses, @names and the RT of a retweet are
    left out; a placeholder for a missing text becomes empty.

    Parameters
    ----------
    documents : iterable of bytes
    keep_links : bool
        Whether tags, links, addresses, names and RT are kept.
    left_out : Counter
        Receives the number of parts left out, by kind, and the number of each placeholder.
    """
    texts = list(documents)
    for place, signs in signs_in(texts, _LONGEST, _INITIALS):
        text = texts[place]
        if signs & SHORT:
            placeholder = text.strip().decode("utf-8", "replace").casefold()
            if placeholder in PLACEHOLDERS:
                left_out[f"'{placeholder}'"] += 1
                texts[place] = b""
                continue
        if signs & _GARBLED:
            left_out[GARBLED] += 1
        if signs & AMPERSAND and (plain := _ENTITY.sub(_character, text)) != text:
            # Some texts were encoded twice, as in &amp;lt;, so decode twice.
            text = _ENTITY.sub(_character, plain) if b"&" in plain else plain
            signs |= AT | LINK | TAG  # Decoding may reveal a link, a tag or a name.
        if signs & TAG and not keep_links and b"<" in text:
            text, n_tags = _INLINE_TAG.subn(b"", text)
            text, n_blocks = _TAG.subn(b" ", text)
            if n_tags + n_blocks:
                left_out["tag"] += n_tags + n_blocks
        if signs & (AT | LINK) and not keep_links and (spans := _spans(text)):
            pieces, last = [], 0
            for begin, end, kind in spans:
                left_out[kind] += 1
                pieces.append(text[last:begin])
                last = end
            text = b" ".join([*pieces, text[last:]])
        texts[place] = text
    return texts


def without_links(text: str) -> str:
    """Replace links, e-mail addresses, @names and RT by as many blanks as they have characters.

    Parameters
    ----------
    text : str
        Text of a document.

    Returns
    -------
    str
        The text with a blank for each character of a link.
    """
    data = text.encode("utf-8", "surrogatepass")
    if not (spans := _spans(data)):
        return text
    pieces, last = [], 0
    for begin, end, _ in spans:
        pieces.append(data[last:begin].decode("utf-8", "surrogatepass"))
        pieces.append(" " * len(data[begin:end].decode("utf-8", "replace")))
        last = end
    return "".join([*pieces, data[last:].decode("utf-8", "surrogatepass")])


def _spans(text: bytes) -> list[tuple[int, int, str]]:
    """Return start, end and kind of each link, e-mail address, @name and RT in a text, in order."""
    spans: list[tuple[int, int, str]] = []
    if b"://" in text or _WWW.search(text):
        spans = [(*match.span(), "link") for match in _LINK.finditer(text)]
    if b"@" not in text:
        return spans
    links, place, last = spans, 0, 0
    spans = []
    for match in _AT.finditer(text):
        at, end = match.span()
        while place < len(links) and links[place][1] <= at:
            spans.append(links[place])
            last = links[place][1]
            place += 1
        if place < len(links) and links[place][0] <= at:
            continue  # This at sign is part of a link.
        begin = at
        while begin > last and begin > at - _MOST_LOCAL and text[begin - 1] in _LOCAL:
            begin -= 1
        if begin < at:
            if match[1] is not None:
                spans.append((begin, end, "address"))
                last = end
        elif end > at + 1 and text[at - 1 : at] != b"@":
            end = at + 1 + len(match[0][1:].split(b".")[0].split(b"-")[0])
            start = max(last, at - 8)
            before = text[start:at].rstrip()
            if before.endswith(b"RT") and before[-3:-2] not in _WORDS:
                spans.append((start + len(before) - 2, start + len(before), "RT"))
            spans.append((at, end, "name"))
            last = end
    return [*spans, *links[place:]]


def _character(match: re.Match[bytes]) -> bytes:
    """Return the character that an HTML entity stands for.

    An unknown entity, or the entity of the character NUL, is returned as it is.
    """
    from html import unescape  # Import late, because the module loads a large table.

    entity = match[0].decode("ascii")
    character = unescape(entity)
    if character == entity or "\0" in character:
        return match[0]
    return character.encode("utf-8", "replace")
