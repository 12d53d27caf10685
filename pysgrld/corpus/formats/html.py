"""Pages of the web: each file is a document, of which the text stays that a reader would see."""

from __future__ import annotations

import codecs
import re

from selectolax.lexbor import LexborHTMLParser

from pysgrld.corpus.encodings import UTF8, not_in
from pysgrld.corpus.formats.protocol import BadFile, Whole
from pysgrld.corpus.formats.whole import one_document
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.errors import plural

SUFFIXES = (".html", ".htm", ".xhtml")

_PAGE = re.compile(
    rb"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<(!DOCTYPE\s+html|html|head|body|title|meta)[\s/>]",
    re.I | re.S,
)
#: Where a page says its encoding, as browsers look for it: in its first bytes.
_CHARSET = re.compile(
    rb"<(?:meta|\?xml)\b[^>]*?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)", re.I
)
_LOOKED_AT = 4096
#: What these names mean on the web: the encodings that hold them.
_WIDER = {
    "iso8859-1": "windows-1252",
    "ascii": "windows-1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
}

#: What holds no text of the page.
_UNSEEN = ["script", "style", "template", "noscript", "svg", "math", "head", "iframe", "object"]
#: What begins and ends a line of the page.
_BLOCKS = (
    "address,article,aside,blockquote,body,br,caption,center,dd,details,dir,div,dl,dt,fieldset,"
    "figcaption,figure,footer,form,h1,h2,h3,h4,h5,h6,header,hr,legend,li,main,menu,nav,ol,option,p,"
    "pre,section,select,summary,table,tbody,td,tfoot,th,thead,tr,ul"
)
#: Tags that may stay open, and values in one tag: with more, parsers take quadratic time.
DEEPEST, VALUES = 10_000, 5_000
_CLOSED_BY_NEXT = rb"(?:p|li|td|tr|th|dt|dd|option|br|hr|img|input|meta|link|col|area|source|wbr)\b"
_OPENED = re.compile(rb"<(?!%s)[a-z]" % _CLOSED_BY_NEXT, re.I)
_CLOSED = re.compile(rb"</(?!%s)[a-z]" % _CLOSED_BY_NEXT, re.I)
_LONG_TAG = re.compile(rb"<[a-z][^<>]{%d,}" % (2 * VALUES), re.I)


def sniff(head: bytes, name: str) -> bool:
    """Whether the file begins as a page, or is named so."""
    return bool(_PAGE.match(head)) or name.lower().endswith(SUFFIXES)


def text(data: bytes, options: CorpusOptions) -> Whole:
    """Give the text of a page, a line for each of its blocks, and its title.

    Raises
    ------
    BadFile
        If it is not in the encoding that it says, or nested beyond all that a person writes.
    """
    _check_nesting(data)
    page = LexborHTMLParser(_decoded(data, options))
    found = page.css_first("head title")
    title = " ".join(found.text().split()) if found is not None else ""
    page.strip_tags(_UNSEEN)
    if page.body is None:
        return Whole(b"", title or None)
    for block in page.body.css(_BLOCKS):
        block.insert_before("\n")
        block.insert_after("\n")
    return Whole(page.body.text(deep=True).encode(UTF8, "surrogatepass"), title or None)


def _decoded(data: bytes, options: CorpusOptions) -> str:
    """Decode a page by --encoding, which has made it UTF-8, else by what it says, else as UTF-8."""
    encoding, says = UTF8, _CHARSET.search(data, 0, _LOOKED_AT)
    if options.encoding == UTF8 and says is not None:
        try:
            encoding = codecs.lookup(says[1].decode("ascii", "replace")).name
        except LookupError:
            encoding = UTF8
    if encoding.startswith(("utf-16", "utf-32")):  # the line that says so could not be read then
        encoding = UTF8
    try:
        return data.decode(_WIDER.get(encoding, encoding))
    except (UnicodeError, LookupError):
        if encoding == UTF8:
            raise BadFile("not UTF-8", not_in(options.encoding)) from None
        reason = f"not {encoding}, which it says it is; give another --encoding"
        raise BadFile("not in its encoding", reason) from None


def _check_nesting(data: bytes) -> None:
    still = len(_OPENED.findall(data)) - len(_CLOSED.findall(data))
    if still > DEEPEST:
        raise BadFile("nested too deeply", f"{plural(still, 'tag')} of this page are never closed")
    if any(len(tag[0].split()) > VALUES for tag in _LONG_TAG.finditer(data)):
        raise BadFile("nested too deeply", f"a tag of this page has more than {VALUES:,} values")


read = one_document(text)
