"""Readers for articles in XML, which are PubMed exports or full texts in JATS.

xml.etree parses the file while it is read, so that only one article is in memory. The document type
that such files name is not downloaded, and a file that contains declarations is refused. The only
entities are therefore the named entities of XML and HTML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from html.entities import html5
from typing import Any, cast
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from pysgrld.corpus.formats.protocol import Context, Texts
from pysgrld.corpus.formats.record_texts import Numbered, texts_of
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError, plural

#: Number of bytes that the parser gets at a time.
_PIECE = 2**18
_ENTITIES = {name[:-1]: text for name, text in html5.items() if name.endswith(";")}
_YEAR = re.compile(r"(?:1[5-9]|20)[0-9]{2}")
_BLANKS = re.compile(r"\s+")
#: Elements of JATS without running text, which are left out: figures, tables, formulas, references.
_NO_PROSE = frozenset(
    (
        *(
            "label",
            "table",
            "disp-formula",
            "inline-formula",
            "tex-math",
            "math",
            "xref",
            "graphic",
        ),
        *("fig", "table-wrap", "ref-list", "supplementary-material"),
    )
)
_BLOCKS = frozenset(["p", "title", "sec", "list-item"])
_KNOWN = ("id", "title", "abstract", "year")


def pubmed(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document for each article or book in an XML export of PubMed."""
    tags = {"PubmedArticle": _pubmed, "PubmedBookArticle": _pubmed}
    yield from texts_of(
        articles_in(source, context, by_name(tags)), source, context, "work", _KNOWN
    )


def jats(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document for each article in JATS, with fields such as `abstract` and `body`."""
    known_elements = (*_KNOWN, "body")
    articles = articles_in(source, context, by_name({"article": _jats}))
    yield from texts_of(articles, source, context, "article", known_elements)


def new_parser() -> ElementTree.XMLPullParser[Element]:
    """Return an XML parser that accepts the named entities of HTML."""
    target = ElementTree.XMLParser()
    target.entity.update(_ENTITIES)
    return ElementTree.XMLPullParser(("start", "end"), _parser=target)


#: Function that chooses the elements to read. Its arguments are the name of an element and the
#: number of its ancestors. It returns the function that reads the element, or None if the element
#: is not an article.
ReaderOf = Callable[[str, int], Callable[[Element], dict[str, Any]] | None]


def by_name(tags: Mapping[str, Callable[[Element], dict[str, Any]]]) -> ReaderOf:
    """Return a function that returns the reader of an element, given the element's name."""
    return lambda name, depth: tags.get(name)


def articles_in(source: Lines, context: Context, reader_of: ReaderOf) -> Iterator[Numbered]:
    """Yield the number (from 1) and the fields of each article in a file.

    Parameters
    ----------
    source : Lines
    context : Context
    reader_of : callable (name, depth) -> callable or None

    Raises
    ------
    CorpusError
        If the file is damaged or cut off, or an article is longer than the setting ``max-line``.
    """
    parser = new_parser()
    number, size, limit = 0, 0, context.options.max_line
    path: list[Element] = []
    within = 0  # Depth of the article that is being read. The root has depth 1.
    try:
        for piece in _pieces(source):
            size += len(piece)
            parser.feed(piece)
            events = cast("Iterator[tuple[str, Element]]", parser.read_events())
            for event, element in events:
                depth = len(path) - (event == "end")
                read = reader_of(name_of(element), depth) if not within or depth < within else None
                if event == "start":
                    path.append(element)
                    within = within or (depth + 1 if read else 0)
                    continue
                path.pop()
                if read is not None:
                    number += 1
                    yield number, read(element)
                    element.clear()
                    size = within = 0
                    if path:
                        path[-1].remove(element)
            if size > limit + _PIECE:
                raise CorpusError(
                    f"an article has more than {limit} bytes, or no end tag; correct the file, or "
                    "allow longer articles with --set max-line=SIZE",
                    source.label,
                )
        parser.close()
    except ElementTree.ParseError as error:
        line = error.position[0]
        raise CorpusError(
            f"damaged XML ({error.msg.partition(':')[0]}) after {plural(number, 'article')}; "
            "download or export the file again",
            source.label,
            line,
        ) from None
    if not number:
        raise CorpusError("this XML file contains no article; export it again", source.label)


def _pieces(source: Lines) -> Iterator[bytes]:
    for block in source.blocks():
        for start in range(0, len(block), _PIECE):
            yield block[start : start + _PIECE]


def name_of(element: Element) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _text(element: Element | None) -> str:
    """Return the text in an element and in the elements inside it, as one line."""
    return "" if element is None else " ".join("".join(element.itertext()).split())


def _pubmed(work: Element) -> dict[str, Any]:
    """Return the fields of an article or book in PubMed's XML."""

    def every(path: str) -> list[str]:
        return [text for element in work.iterfind(path) if (text := _text(element))]

    def first(*paths: str) -> str | None:
        return next((text for path in paths for text in every(path)), None)

    article = "*/Article" if work.find("*/Article") is not None else "BookDocument"
    paragraphs = []
    for element in work.iterfind(f"{article}/Abstract/AbstractText"):
        label, text = element.get("Label"), _text(element)
        paragraphs.append(f"{label}: {text}" if label and text else text)
    dates = every(f"{article}/Journal/JournalIssue/PubDate/*") + every(".//PubDate/*")
    authors = [
        ", ".join(filter(None, (_text(a.find("LastName")), _text(a.find("ForeName")))))
        or _text(a.find("CollectiveName"))
        for a in work.iterfind(f"{article}/AuthorList/Author")
    ]
    years = (match[0] for date in dates if (match := _YEAR.search(date)))
    return {
        "id": first("*/PMID", "PMID"),
        "title": first(f"{article}/ArticleTitle", f"{article}/Book/BookTitle"),
        "abstract": "\n".join(filter(None, paragraphs)) or None,
        "year": next(years, None),
        "authors": "; ".join(authors) or None,
        "journal": first(f"{article}/Journal/Title"),
        "language": first(f"{article}/Language"),
        "type": "; ".join(every(f"{article}/PublicationTypeList/PublicationType")) or None,
        "keywords": "; ".join(every(".//KeywordList/Keyword")) or None,
        "mesh": "; ".join(every(".//MeshHeading/DescriptorName")) or None,
        "doi": first(
            "PubmedData/ArticleIdList/ArticleId[@IdType='doi']",
            f"{article}/ELocationID[@EIdType='doi']",
        ),
    }


def _jats(article: Element) -> dict[str, Any]:
    """Return the fields of an article in JATS, without namespaces in element names."""
    for element in article.iter():
        if isinstance(element.tag, str) and element.tag.startswith("{"):
            element.tag = element.tag.rpartition("}")[2]
    meta = article.find("front/article-meta")
    meta = Element("article-meta") if meta is None else meta
    ids = {element.get("pub-id-type"): _text(element) for element in meta.iterfind("article-id")}
    years = [_text(year) for year in meta.iterfind("pub-date/year")]
    authors = [
        ", ".join(filter(None, (_text(n.find("surname")), _text(n.find("given-names")))))
        for n in meta.iterfind("contrib-group/contrib/name")
    ]
    abstracts = [
        _prose(abstract)
        for abstract in meta.iterfind("abstract")
        if not abstract.get("abstract-type")
    ]
    pmc = ids.get("pmc") or ids.get("pmcid")
    return {
        "id": pmc or ids.get("doi") or ids.get("pmid") or ids.get("publisher-id"),
        "title": _text(meta.find("title-group/article-title")) or None,
        "abstract": "\n".join(filter(None, abstracts)) or None,
        "body": _prose(article.find("body")) or None,
        "year": min(filter(_YEAR.fullmatch, years), default=None),
        "authors": "; ".join(filter(None, authors)) or None,
        "journal": _text(article.find("front/journal-meta//journal-title")) or None,
        "keywords": "; ".join(map(_text, meta.iterfind("kwd-group/kwd"))) or None,
        "doi": ids.get("doi"),
        "pmid": ids.get("pmid"),
        "type": article.get("article-type"),
    }


def _prose(element: Element | None) -> str:
    """Return an element's text without figures and references, with a line for each paragraph."""
    if element is None:
        return ""
    parts: list[str] = []
    walk: list[tuple[Element, bool]] = [(element, False)]
    while walk:  # A recursive function would fail for deeply nested elements.
        node, done = walk.pop()
        if done:
            parts.append("\n" if node.tag in _BLOCKS else "")
            parts.append(_BLANKS.sub(" ", node.tail or "") if node is not element else "")
            continue
        walk.append((node, True))
        if node.tag in _NO_PROSE or not isinstance(node.tag, str):
            continue
        parts.append(_BLANKS.sub(" ", node.text or ""))
        walk.extend((child, False) for child in reversed(node))
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    return "\n".join(filter(None, lines))
