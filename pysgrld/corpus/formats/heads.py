"""Patterns of the first lines of a file, which detect some formats."""

from __future__ import annotations

import re

from pysgrld.corpus.deferred import deferred
from pysgrld.corpus.formats.table_head import delimiter_of

WEB_OF_SCIENCE = re.compile(
    rb"\s*(?:FN [^\n]*\n\s*VR [0-9]|(?:FN [^\n]*\n)?PT [A-Z][ \t]*\r?\n(?:[A-Z][A-Z0-9] |UT))"
)
#: First line of a reference in PubMed format, as PubMed and ERIC export it.
PUBMED = re.compile(rb"\s*(?:PMID *- ?[0-9]+|OWN *- ?ERIC)[ \t]*\r?\n")
ENDNOTE = re.compile(rb"\s*%0 [A-Z][^\n]*\n%[A-Z0-9@+~] ")
REFWORKS = re.compile(rb"\s*RT [A-Z][^\n]*\n(?:[A-Z][A-Z0-9] [^\n]*\n)*?(?:SR|ID|A1|T1|JF|YR|AB) ")
#: First lines of a RIS file. Some programs write lines "Name: value" before the first reference.
RIS = re.compile(rb"\s*(?:[A-Z][A-Za-z ]*:[^\n]*\n\s*){0,8}TY  ?- ")
_ENTRY = (
    rb"@(?:(?:article|book|in\w+|misc|\w*thesis|string|comment|techreport|proceedings|preamble|online)"
    rb"\s*[{(]|[a-z]++\s*+[{(]\s*+[^\s,{}=]*+\s*+,\s*+[a-z][\w-]*\s*=)"
)
#: First lines of BibTeX: an entry of a usual type, or an entry with a key and a field. Other lines
#: may come before the entry.
BIBTEX = deferred(rb"(?:[^\n@]*\n){0,20}?[ \t]*%b" % _ENTRY, re.I)

#: Pattern of blanks, processing instructions and comments before the root element of XML. The
#: pattern never backtracks, because a file of blanks only would then take quadratic time.
_BEFORE_ROOT = rb"\s*+(?:<\?[^>]*+>\s*+|<!--.*?-->\s*+)*+"
#: First lines of a PubMed export. A file with declarations in its DOCTYPE (after "[") does not
#: match.
PUBMED_XML = deferred(
    rb"%b(?:<!DOCTYPE\s+Pubmed\w+[^>\[]*>\s*)?%b<Pubmed(?:Article|BookArticle)(?:Set)?[\s>]"
    % (_BEFORE_ROOT, _BEFORE_ROOT),
    re.S,
)
JATS = deferred(
    rb"%b(?:<!DOCTYPE\s+(?:article|pmc-articleset)\b[^>\[]*>%b<(?:article|pmc-articleset)\b"
    rb"|<pmc-articleset\b|<article\s[^>]*(?:article-type|dtd-version|xmlns:(?:xlink|mml)|xml:lang)=)"
    % (_BEFORE_ROOT, _BEFORE_ROOT),
    re.S,
)
#: Pattern of the start of an XML file: a declaration or an element. A file with declarations in its
#: DOCTYPE (after "[") does not match.
XML_RECORDS = deferred(
    rb"\s*+(?:<\?xml[^>]*+>\s*+)?+(?:<!--.*?-->\s*+|<\?[^>]*+>\s*+)*+(?:<!DOCTYPE\s[^>\[]*+>\s*+)?"
    rb"(?!<(?:mediawiki|html|svg|TEI|teiCorpus|Workbook|\w+:)[\s>])<(?:rdf:RDF|[A-Za-z][\w.-]*)[\s>]",
    re.S,
)
#: First lines of a web page of articles exported by Factiva.
FACTIVA = deferred(
    rb"\s*<(?:!DOCTYPE|html)\b.*?<div [^>]*class=\"article \w\wArticle\"", re.S | re.I
)
#: First lines of a web page of several articles exported by Nexis.
NEXIS = deferred(
    rb"\s*<(?:!DOCTYPE|html)\b.*?(?:<DOC NUMBER=|\b1 of [0-9]+ DOCUMENTS\b)", re.S | re.I
)
#: First lines of a file of <DOC> elements. A tagged corpus (in each line a word, a tab and tags)
#: does not match.
DOC = deferred(
    rb"\s*(?:<\?xml[^>]*>\s*|<docs>\s*)?"
    rb"<doc(?:\s+[\w:-]+=\"[^\"]*\")*\s*>(?!\s*(?:<[^<>\n]+>\s*\n)*(?:[^\t\n]+\t[^\n]*\n){2})"
    rb"(?:\s*<DOC(?:NO|ID)\b|\s*<[A-Z]+\b|[^<])",
    re.I,
)

#: First line of a chat exported by WhatsApp.
CHAT = re.compile(
    rb"(?:\xe2\x80\x8e|\xef\xbb\xbf)*\[?\d{1,4}[./-]\d{1,2}[./-]\d{1,4},? \d{1,2}[:.]\d\d(?:[:.]\d\d)?"
    rb"(?:(?: |\xe2\x80\xaf)[AaPp]\.?[Mm]\.?)?(?:\]| -) [^\n]*\n"
)

_NAME = rb"[A-Za-z][A-Za-z0-9-]*"
MBOX = re.compile(rb"\s*From (?:[^\n]*[ \t])?(?:19|20)[0-9]{2}\b[^\n]*\n>?%b:" % _NAME)
#: Pattern of the headers of a mail message: lines "Name: value", which may continue on indented
#: lines, and then a blank line or the end.
MESSAGE = re.compile(rb"%b:[^\n]*\n(?:(?:%b:|[ \t])[^\n]*\n)*(?:\r?\n|\Z)" % (_NAME, _NAME))
_HEADER = re.compile(
    rb"^(from|to|date|subject|message-id|received|return-path|delivered-to|mime-version|newsgroups|path"
    rb"|xref|nntp-posting-host|organization|lines|content-type):",
    re.I | re.M,
)
#: Minimum number of different usual headers that a mail message must have to be detected.
_NAMES = 2


def is_message(head: bytes, name: str) -> bool:
    """Return True if a file begins like a mail message, with "From" and another usual header.

    Parameters
    ----------
    head : bytes
        First bytes of a file.
    name : str
        Name of the file.

    Returns
    -------
    bool
        True for mail and news.
    """
    match = MESSAGE.match(head)
    names = {n.lower() for n in _HEADER.findall(match[0])} if match else set()
    return b"from" in names and len(names) >= _NAMES


def is_table(head: bytes, name: str) -> bool:
    """Return True if the first lines of a file look like the header and rows of a table.

    Parameters
    ----------
    head : bytes
        First bytes of a file.
    name : str
        Name of the file.

    Returns
    -------
    bool
        True for a table of text.
    """
    return delimiter_of(head) is not None
