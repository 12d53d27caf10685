"""Table of the file formats that sgmc can read; an entry has a detector and a reader.

To add a format, add a module with its reader to this package, and a row to `FORMATS`. The module is
imported only when a file of the format is read. `pysgrld.corpus.steps` reads folders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Literal, NamedTuple

from pysgrld.corpus.deferred import deferred
from pysgrld.corpus.formats import heads
from pysgrld.corpus.formats.protocol import Context, CountedDocuments, Noticed, Texts
from pysgrld.corpus.formats.refused import REFUSED
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError

__all__ = [
    "FILE_OF_TEXT",
    "FORMATS",
    "IN_FOLDERS",
    "IN_FOLDERS_OF_TABLES",
    "PREFIXES",
    "SHARED",
    "SUFFIXES",
    "TABLE",
    "TEXT",
    "Context",
    "CountedDocuments",
    "Format",
    "Noticed",
    "Texts",
    "named_as_counts",
    "recognise",
]


class Format(NamedTuple):
    """Entry in the table of formats: how a file format is detected, and how it is read.

    Attributes
    ----------
    name : str
        Name of the format in messages.
    kind : {"text", "counts"}
        Result of the reader: an iterator of `Texts` for "text", `CountedDocuments` for "counts".
    reader : str
        ``module.function`` in this package, called as ``function(source, context)``. If each file
        is one document (`whole`), it is called as ``function(data, options)`` and returns text and
        title, or a record with named fields.
    begins : re.Pattern
        Pattern that the first decompressed bytes match, or None if only names identify such files.
    suffixes : tuple of str
        Lower-case suffixes of file names that identify the format, whatever the first bytes are.
    shared : tuple of str
        Suffixes that files of other formats have too, so that they do not identify the format.
    prefix : str
        Start of file names that identifies the format as a suffix does; empty if no prefix does.
    check : callable (head, name) -> bool, optional
        Further test of a file with matching first bytes.
    encoded : bool
        True if the user may choose its encoding.
    fields : bool
        Whether its files hold records with named fields.
    whole : bool
        Whether each file is one document.
    refused : str
        Advice on what to do instead, if the format is recognised but not read; else empty.
    markup : bool
        Whether all its files begin with "<", after blanks.
    sure : bool
        Whether the first bytes identify the format so reliably that no name can contradict them.
    """

    name: str
    kind: Literal["text", "counts"]
    reader: str
    begins: re.Pattern[bytes] | None
    suffixes: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    prefix: str = ""
    check: Callable[[bytes, str], bool] | None = None
    encoded: bool = False
    fields: bool = False
    whole: bool = False
    refused: str = ""
    markup: bool = False
    sure: bool = False

    def matches(self, head: bytes, name: str) -> bool:
        """Return True if a file with these first bytes and this name may have the format."""
        if self.markup and head.lstrip()[:1] not in b"<":
            return False
        if self.begins is None or not self.begins.match(head):
            return False
        return self.check is None or self.check(head, name)

    def function(self) -> Any:
        """Import the module with the reader of the format, and return the reader."""
        module, _, name = self.reader.rpartition(".")
        return getattr(import_module(f"{__name__}.{module}"), name)

    def read(self, source: Lines, context: Context) -> Iterator[Texts] | CountedDocuments:
        """Call the reader of this format for a file, and return the documents that it yields.

        Raises
        ------
        CorpusError
            If files of this format are refused.
        """
        if self.refused:
            raise CorpusError(
                f"this is {self.name}, which sgmc cannot read; {self.refused}", source.label
            )
        content: Iterator[Texts] | CountedDocuments
        if self.whole:
            from pysgrld.corpus.formats.plain_text import read_file

            content = read_file(source, context, self.function())
        else:
            content = self.function()(source, context)
        return content


def _is_records(head: bytes, name: str) -> bool:
    """Return True if an XML file consists of records."""
    # Import here, because the module loads an XML parser, which few inputs need.
    from pysgrld.corpus.formats.xml_records import is_records

    return is_records(head, name)


def _is_xml(head: bytes, name: str) -> bool:
    """Return True unless a file begins with a byte order mark of UTF-16 and is not XML."""
    if not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    return bool(_XML.match(head[:4096].decode("utf-16", "ignore").encode()))


def _is_ldac(head: bytes, name: str) -> bool:
    """Return True if a file of pairs id:count is in LDA-C format and not in SVMlight format.

    In LDA-C, a line begins with its number of pairs, in SVMlight with a label. It is enough that
    most lines begin with their number of pairs: a single different number is more likely an error
    than a label, and a label is hardly ever equal to the number of pairs by chance.
    """
    if name.lower().endswith(_SVMLIGHT):
        return False
    lines = head.split(b"\n")
    if len(lines) > 1:
        lines.pop()  # The last line of `head` may be cut off.
    right = wrong = 0
    for line in lines:
        number, _, pairs = line.strip().partition(b" ")
        if b"qid:" in pairs or b"#" in line:
            return False
        if number:
            if number.isdigit() and int(number[:18]) == pairs.count(b":"):
                right += 1
            else:
                wrong += 1
    return right > wrong


_HTML = deferred(
    rb"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<(!DOCTYPE\s+html|html|head|body|title|meta)[\s/>]",
    re.I | re.S,
)
_XML = re.compile(
    rb"\s*(?:<!--.*?-->\s*)*<(?:\?xml\b|!DOCTYPE\b|mediawiki[\s>])|\xff\xfe|\xfe\xff", re.S
)
#: Start of a zip archive with an array as its first member, such as files that SciPy writes.
_NPZ = re.compile(rb"PK\x03\x04.{26}(?=_*[A-Za-z])[A-Za-z_]{1,26}\.npy", re.S)
#: Start of a UCI file: three lines with one number each, then lines that begin with a number and
#: have no colon.
_UCI = re.compile(rb"(?:[ \t]*[+-]?[0-9]+[ \t\r]*\n){3}(?:\s*$|[ \t]*[+-]?[0-9][^:\n]*(?:\n|$))")
_SVMLIGHT = (".svmlight", ".libsvm", ".svm")
_LABEL = rb"[-+0-9.,eE]+"
_PAIRS = rb"(?:[ \t]+(?:qid:[0-9]+|[0-9]+:[-+0-9.eE]+|[0-9]+:[nN][aA][nN]))+[ \t]*(?:#[^\n]*)?\r?"
#: Start of a file of LDA-C or SVMlight: a line of pairs id:number, with or without a label. Only
#: comments and lines with a label but no pairs may come before this line.
_PAIRED = re.compile(
    rb"(?:[ \t]*+(?:#[^\n]*|%b(?:[ \t]*+#[^\n]*)?)?[ \t]*+\r?\n)*?(?:%b)?%b(?:\n|$)"
    % (_LABEL, _LABEL, _PAIRS)
)
_ARRAY = re.compile(rb"\s*(?:window\.[\w.]+ = )?\[\s*(\{\s*[\"}]|\"|\]\s*$|\[\s*[\"\]])")
_OBJECT = re.compile(rb'\s*\{\s*"')

#: Start of a zip archive that is a workbook of Excel or an OpenDocument spreadsheet.
_SHEET = re.compile(
    rb"PK\x03\x04(?:.*\x00xl/|.{26}mimetypeapplication/vnd\.oasis\.opendocument\.spreadsheet)", re.S
)

#: Plain text with one document per line: the default if no other format matches.
TEXT = Format(
    "plain text",
    "text",
    "plain_text.read_lines",
    re.compile(b""),
    shared=(".txt", ".text"),
    encoded=True,
)
#: Plain text in which the whole file is one document, as in a folder of texts.
FILE_OF_TEXT = TEXT._replace(reader="plain_text.all_of", whole=True)

#: All formats, in the order in which they are tested. The first match decides. Formats with an
#: unmistakable beginning come first, and general formats last.
FORMATS = (
    Format(
        "a Nexis web page of articles",
        "text",
        "",
        heads.NEXIS,
        encoded=True,
        refused="export the articles as Word documents, one file for each article",
        markup=True,
        sure=True,
    ),
    Format(
        "HTML",
        "text",
        "extract.html",
        _HTML,
        (".html", ".htm", ".xhtml"),
        # HTML in an .xls file is a table, not a text.
        check=lambda head, name: not name.lower().endswith(".xls"),
        encoded=True,
        whole=True,
        markup=True,
    ),
    Format(
        "PubMed XML",
        "text",
        "articles_xml.pubmed",
        heads.PUBMED_XML,
        fields=True,
        markup=True,
        sure=True,
    ),
    Format(
        "JATS",
        "text",
        "articles_xml.jats",
        heads.JATS,
        (".nxml",),
        fields=True,
        markup=True,
        sure=True,
    ),
    Format(
        "documents in <doc> ... </doc>",
        "text",
        "doc_elements.read",
        heads.DOC,
        (".trec",),
        encoded=True,
        fields=True,
        markup=True,
        sure=True,
    ),
    Format("Factiva", "text", "factiva.read", heads.FACTIVA, fields=True, markup=True, sure=True),
    Format(
        "XML records",
        "text",
        "xml_records.read",
        heads.XML_RECORDS,
        shared=(".xml", ".rdf"),
        check=_is_records,
        markup=True,
        fields=True,
    ),
    Format("MediaWiki XML", "text", "mediawiki.read", _XML, check=_is_xml),
    Format("SciPy .npz", "counts", "npz.read", _NPZ, (".npz",), sure=True),
    Format(
        "AnnData or 10x (HDF5)",
        "counts",
        "hdf5.read",
        re.compile(rb"\x89HDF\r\n"),
        (".h5ad", ".h5"),
        sure=True,
    ),
    Format(
        "Parquet",
        "text",
        "parquet.read",
        re.compile(b"PAR1"),
        (".parquet", ".pq"),
        fields=True,
        sure=True,
    ),
    Format(
        "Arrow",
        "text",
        "parquet.read_arrow",
        re.compile(b"ARROW1"),
        (".arrow", ".feather"),
        fields=True,
        sure=True,
    ),
    Format(
        "a spreadsheet",
        "text",
        "records.sheet",
        _SHEET,
        (".xlsx", ".xls", ".ods"),
        fields=True,
        sure=True,
    ),
    *(
        Format(name, "text", reader, begins, suffixes, encoded=True, fields=True, sure=True)
        for name, reader, begins, suffixes in (
            ("Web of Science", "tagged.web_of_science", heads.WEB_OF_SCIENCE, (".ciw",)),
            ("PubMed (MEDLINE)", "tagged.pubmed", heads.PUBMED, (".nbib",)),
            ("EndNote", "tagged.endnote", heads.ENDNOTE, (".enw",)),
            ("RefWorks", "tagged.refworks", heads.REFWORKS, ()),
            ("RIS", "records.ris", heads.RIS, (".ris",)),
            ("BibTeX", "records.bibtex", heads.BIBTEX, (".bib", ".bibtex")),
            ("mbox", "mail.mbox", heads.MBOX, (".mbox",)),
            ("WhatsApp", "chat.read", heads.CHAT, ()),
        )
    ),
    Format(
        "Word",
        "text",
        "extract.docx",
        re.compile(rb"PK\x03\x04.*\x00word/", re.S),
        (".docx",),
        whole=True,
        sure=True,
    ),
    Format("PDF", "text", "extract.pdf", re.compile(rb"%PDF-"), (".pdf",), whole=True, sure=True),
    *(
        Format(what, "text", "", re.compile(begins, re.S), encoded=True, refused=advice)
        for begins, what, advice in REFUSED
    ),
    Format(
        "Matrix Market",
        "counts",
        "counts_as_text.read_matrix_market",
        re.compile(rb"%%MatrixMarket"),
        (".mtx", ".mm"),
        sure=True,
    ),
    Format("UCI bag of words", "counts", "counts_as_text.read_uci", _UCI, prefix="docword."),
    Format(
        "LDA-C",
        "counts",
        "counts_as_text.read_ldac",
        _PAIRED,
        (".ldac", ".lda-c"),
        (".dat",),
        check=_is_ldac,
    ),
    Format("SVMlight", "counts", "counts_as_text.read_svmlight", _PAIRED, _SVMLIGHT),
    Format("a JSON array", "text", "json.read_array", _ARRAY, encoded=True, fields=True),
    Format(
        "JSON lines",
        "text",
        "json.read_lines",
        _OBJECT,
        (".jsonl", ".ndjson"),
        (".json",),
        encoded=True,
        fields=True,
    ),
    Format(
        "mail",
        "text",
        "mail.message",
        heads.MESSAGE,
        (".eml",),
        check=heads.is_message,
        encoded=True,
        fields=True,
        whole=True,
    ),
    Format(
        "CSV or TSV",
        "text",
        "delimited.read",
        re.compile(b""),
        (".csv", ".tsv"),
        check=heads.is_table,
        encoded=True,
        fields=True,
    ),
    TEXT,
)

#: Format of a text file if the user declares it to be a table, by --header-line.
TABLE = FORMATS[-2]
#: Suffixes of file names of all formats.
SUFFIXES = tuple(suffix for format in FORMATS for suffix in (*format.suffixes, *format.shared))
#: Suffixes of file names that several formats share.
SHARED = tuple(suffix for format in FORMATS for suffix in format.shared)
#: Prefixes of file names of all formats.
PREFIXES = tuple(format.prefix for format in FORMATS if format.prefix)
#: Formats in which a file is one document, by suffix. If a folder has files with these suffixes,
#: only these files are read.
IN_FOLDERS = {suffix: format for format in FORMATS if format.whole for suffix in format.suffixes}
IN_FOLDERS[".txt"] = FILE_OF_TEXT
#: Formats in which a file has many records, by suffix. These files are read if no file of the
#: folder is a single document.
IN_FOLDERS_OF_TABLES = {
    suffix: format
    for format in FORMATS
    if format.fields
    for suffix in (*format.suffixes, *format.shared)
}


def recognise(head: bytes, name: str) -> Format:
    """Detect the format of a file by its content and its name.

    Parameters
    ----------
    head : bytes
        The first decompressed bytes of the file.
    name : str
        Name of the file without the suffix of a compression; empty for standard input.
    """
    lower = name.lower()
    if lower.endswith(".xls") and heads.is_table(head, name):
        return TABLE  # Many programs give text tables the suffix .xls.
    for format in FORMATS:
        if format.sure and format.matches(head, name):
            return format
    for format in FORMATS:
        if lower.endswith(format.suffixes) or (format.prefix and name.startswith(format.prefix)):
            return format
        if format.matches(head, name):
            return format
    return TEXT


def named_as_counts(name: str) -> bool:
    """Return True if a file name has a suffix or prefix that is usual for files of counts."""
    return any(
        name.lower().endswith((*format.suffixes, *format.shared))
        or (format.prefix != "" and name.startswith(format.prefix))
        for format in FORMATS
        if format.kind == "counts"
    )
