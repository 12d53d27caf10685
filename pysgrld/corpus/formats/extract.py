"""Extraction of the text from web pages, Word documents and PDF files.

Each file is one document. selectolax parses web pages, lxml (installed with python-docx) Word
documents, and pypdf PDF files; python-docx and pypdf are optional. A parser is imported only when a
file of its format is read.
"""

from __future__ import annotations

import codecs
import logging
import re
import zipfile
from io import BytesIO
from typing import Any

from pysgrld.corpus.formats.protocol import BadDocument
from pysgrld.corpus.lines import UTF8, undecodable
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.errors import MissingInputError, plural
from pysgrld.options.spelling import is_mark

#: Pattern of the declaration of the encoding in a web page.
_CHARSET = re.compile(
    rb"<(?:meta|\?xml)\b[^>]*?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)", re.I
)
#: Number of bytes at the start of a web page in which its encoding may be declared.
_LOOKED_AT = 4096
#: Encodings that browsers substitute for a declared encoding. The substitutes have more characters.
_WIDER = {
    "iso8859-1": "windows-1252",
    "ascii": "windows-1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
}

#: Elements of HTML without visible text, which are removed.
_UNSEEN = ["script", "style", "template", "noscript", "svg", "math", "head", "iframe", "object"]
#: Elements of HTML at which a new line of the extracted text begins.
_BLOCKS = (
    "address,article,aside,blockquote,body,br,caption,center,dd,details,dir,div,dl,dt,fieldset,"
    "figcaption,figure,footer,form,h1,h2,h3,h4,h5,h6,header,hr,legend,li,main,menu,nav,ol,option,p,"
    "pre,section,select,summary,table,tbody,td,tfoot,th,thead,tr,ul"
)
#: Maximum number of unclosed tags in a web page. With more tags, parsers take quadratic time.
DEEPEST = 10_000
#: Maximum number of attributes in one tag. With more attributes, parsers take quadratic time.
VALUES = 5_000
_CLOSED_BY_NEXT = rb"(?:p|li|td|tr|th|dt|dd|option|br|hr|img|input|meta|link|col|area|source|wbr)\b"
_OPENED = re.compile(rb"<(?!%s)[a-z]" % _CLOSED_BY_NEXT, re.I)
_CLOSED = re.compile(rb"</(?!%s)[a-z]" % _CLOSED_BY_NEXT, re.I)
_LONG_TAG = re.compile(rb"<[a-z][^<>]{%d,}" % (2 * VALUES), re.I)

#: First bytes of a Word document that has a password or is in the old format (.doc).
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#: Line after each article in a Word document that Nexis exports.
_END_OF_ARTICLE = "\nEnd of Document"
#: Maximum number of files in the zip archive of a Word document. Real documents have fewer files.
_MOST_PARTS = 10_000
#: Maximum size in bytes of an unpacked stream in a PDF file. Extracting the text of a stream takes
#: about fifteen times as much memory.
_LARGEST_STREAM = 2**24
#: Pattern of a hyphen at the end of a line, and of the characters before and after the hyphen. The
#: hyphen may divide a word.
_DIVIDED = re.compile("(\\S)([-\u2010\u00ad]\n)(?=(\\S))")


def html(data: bytes, options: CorpusOptions) -> tuple[bytes, str | None]:
    """Return the visible text of a web page, one paragraph per line, and the title of the page.

    Raises
    ------
    BadDocument
        If the page is not in the encoding that it declares, or is nested too deeply.
    """
    check_tags(data)
    return shown(_decoded(data, options))


def check_tags(data: bytes) -> None:
    """Raise an error if a web page has so many unclosed tags that parsing takes quadratic time.

    Raises
    ------
    BadDocument
        If the page is nested more deeply than any page that a person writes.
    """
    still = len(_OPENED.findall(data)) - len(_CLOSED.findall(data))
    if still > DEEPEST:
        raise BadDocument(
            "nested too deeply",
            f"this page has {plural(still, 'tag')} that are never closed; correct the page",
        )
    if any(len(tag[0].split()) > VALUES for tag in _LONG_TAG.finditer(data)):
        raise BadDocument(
            "nested too deeply",
            f"an HTML tag of this page has more than {VALUES:,} attributes; correct the page",
        )


def shown(text: str) -> tuple[bytes, str | None]:
    """Return the visible text of a decoded web page, one paragraph per line, and its title."""
    from selectolax.lexbor import LexborHTMLParser

    page = LexborHTMLParser(text)
    title_element = page.css_first("head title")
    title = " ".join(title_element.text().split()) if title_element is not None else ""
    page.strip_tags(_UNSEEN)
    if page.body is None:
        return b"", title or None
    for block in page.body.css(_BLOCKS):
        block.insert_before("\n")
        block.insert_after("\n")
    return page.body.text(deep=True).encode(UTF8, "surrogatepass"), title or None


def _decoded(data: bytes, options: CorpusOptions) -> str:
    """Decode a web page from the encoding that it declares, or from UTF-8 if it declares none.

    If --encoding is given, the page was converted to UTF-8 before.
    """
    encoding, says = UTF8, _CHARSET.search(data, 0, _LOOKED_AT)
    if options.encoding == UTF8 and says is not None:
        try:
            encoding = codecs.lookup(says[1].decode("ascii", "replace")).name
        except LookupError:
            encoding = UTF8
    # The declaration was read as ASCII, so the encoding cannot be UTF-16 or UTF-32.
    if encoding.startswith(("utf-16", "utf-32")):
        encoding = UTF8
    try:
        return data.decode(_WIDER.get(encoding, encoding))
    except (UnicodeError, LookupError):
        if encoding == UTF8:
            raise BadDocument("not UTF-8", undecodable(options.encoding)) from None
        reason = (
            f"the page declares the encoding {encoding}, but is not valid {encoding}; give "
            "the right encoding with --encoding"
        )
        raise BadDocument("wrong encoding", reason) from None


def docx(data: bytes, options: CorpusOptions) -> tuple[bytes, None]:
    """Return the text of a Word document, one paragraph per line.

    Raises
    ------
    BadDocument
        If the file is damaged, protected by a password, or unpacks to more than ``max_line`` bytes.
    MissingInputError
        If python-docx is not installed.
    """
    try:
        import docx.oxml.ns as names
        from lxml import etree
    except ImportError:
        raise MissingInputError(
            "reading Word documents needs python-docx: pip install python-docx"
        ) from None
    if data.startswith(_COMPOUND):
        raise BadDocument(
            "protected by a password",
            "the document is protected by a password, or is an old .doc file; save it as .docx "
            "without a password",
        )
    paragraph, text, *blanks = map(names.qn, ("w:p", "w:t", "w:tab", "w:br", "w:cr"))
    words = _Words(text, {paragraph: "\n"} | dict.fromkeys(blanks, " "))
    # The parser passes the elements to `words` one by one. A tree of all elements would take twenty
    # times the memory.
    parser = etree.XMLParser(
        target=words, resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False
    )
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            part = _main_part(archive, options.max_line)
            with archive.open(part) as file:
                while block := file.read(2**16):
                    parser.feed(block)
        content: str = parser.close()
        if (n_articles := content.count(_END_OF_ARTICLE)) > 1:
            raise BadDocument(
                "several articles",
                f"the file contains {n_articles} articles of Nexis; download them as separate "
                "files",
            )
        return content.encode("utf-8", "surrogatepass"), None
    except (BadDocument, MemoryError):
        raise
    except Exception as error:  # The parser may raise any error for a damaged file.
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadDocument(
            "damaged file",
            f"this is not a Word document, or it is damaged ({reason[:120]}); save it again",
        ) from None


class _Words:
    """Callbacks of an XML parser that collect the text of a Word document.

    Parameters
    ----------
    text : str
        Tag of the elements with text.
    signs : dict of str to str
        Maps the tag of an element to the character that the element stands for.
    """

    _FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"

    def __init__(self, text: str, signs: dict[str, str]) -> None:
        self._text, self._signs = text, signs
        self._parts: list[str] = []
        self._hidden = 0  # Number of open elements "Fallback", which repeat text in another form.
        self._is_text = False

    def start(self, tag: str, attributes: Any) -> None:
        """Handle the start of an element."""
        del attributes
        if tag == self._FALLBACK:
            self._hidden += 1
        elif not self._hidden:
            self._is_text = tag == self._text
            if sign := self._signs.get(tag):
                self._parts.append(sign)

    def end(self, tag: str) -> None:
        """Handle the end of an element."""
        self._is_text = False
        self._hidden -= tag == self._FALLBACK

    def data(self, data: str) -> None:
        """Handle a part of the text of an element; an element's text may come in several parts."""
        if self._is_text and not self._hidden:
            self._parts.append(data)

    def close(self) -> str:
        """Return the collected text."""
        return "".join(self._parts)


def _main_part(archive: zipfile.ZipFile, limit: int) -> zipfile.ZipInfo:
    """Find the name of the file with the main text in the zip archive of a Word document.

    Raises
    ------
    BadDocument
        If the archive has too many files, or its XML files unpack to more than `limit` bytes.
    KeyError
        If the archive has no such file.
    """
    from lxml import etree

    parts = {part.filename: part for part in archive.infolist()}
    size = sum(
        part.file_size for part in parts.values() if part.filename.endswith((".xml", ".rels"))
    )
    if size > limit or len(parts) > _MOST_PARTS:
        raise BadDocument(
            "line too long",
            f"the document unpacks to {size} bytes, more than {limit}; allow more with "
            "--set max-line=SIZE",
        )
    target = "word/document.xml"
    with archive.open(parts["_rels/.rels"]) as file:
        for _, element in etree.iterparse(file, resolve_entities=False, no_network=True):
            if element.get("Type", "").endswith("/officeDocument"):
                target = element.get("Target", "").lstrip("/")
            element.clear()
    return parts[target]


def pdf(data: bytes, options: CorpusOptions) -> tuple[bytes, None]:
    """Return the text of all pages of a PDF file, without hyphens that divide words at line ends.

    Raises
    ------
    BadDocument
        If the file is damaged, protected by a password, or has more than ``max_line`` bytes of text.
    MissingInputError
        If pypdf is not installed.
    """
    try:
        import pypdf
    except ImportError:
        raise MissingInputError("reading PDF needs pypdf: pip install pypdf") from None
    # By default, pypdf logs each irregularity of a file.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    pages: list[str] = []
    size = 0
    try:
        _bound_streams(pypdf)
        file = pypdf.PdfReader(BytesIO(data))
        if file.is_encrypted and not file.decrypt(""):
            raise BadDocument(
                "protected by a password",
                "the document is protected by a password; save it without a password",
            )
        for page in file.pages:
            pages.append(page.extract_text())
            size += len(pages[-1])
            if size > options.max_line:
                raise BadDocument(
                    "line too long",
                    f"the text has more than {options.max_line} bytes; allow more with "
                    "--set max-line=SIZE",
                )
    except (BadDocument, MemoryError):
        raise
    except Exception as error:  # The parser may raise any error for a damaged file.
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadDocument(
            "damaged file", f"this is not a PDF, or it is damaged ({reason[:120]}); export it again"
        ) from None
    return joined_lines("\n".join(pages)).encode("utf-8", "replace"), None


def joined_lines(text: str) -> str:
    """Join words that are divided at the end of a line by a hyphen or a soft hyphen.

    A soft hyphen always divides a word. A hyphen divides a word if it stands between letters, and
    the following letter is not a capital.
    """

    def join(match: re.Match[str]) -> str:
        before, sign, after = match.groups()
        is_word = (before.isalpha() or is_mark(before)) and after.isalpha() and not after.isupper()
        return before if is_word or sign[0] == "\u00ad" else match[0]

    return _DIVIDED.sub(join, text)


def _bound_streams(library: Any) -> None:
    """Make pypdf refuse streams of PDF files that unpack to more than `_LARGEST_STREAM` bytes."""
    names = ("zlib", "lzw", "run_length")
    if hasattr(library, "overwrite_configuration"):
        limits = {f"{name}_maximum_output_length": _LARGEST_STREAM for name in names}
        library.overwrite_configuration(**limits)
        return
    from pypdf import filters

    for name in names:  # Versions of pypdf before 7 lack some of these limits.
        if hasattr(filters, limit := f"{name.upper()}_MAX_OUTPUT_LENGTH"):
            setattr(filters, limit, _LARGEST_STREAM)
