"""Reader for web pages of articles that Factiva exports; each article is a document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pysgrld.corpus.formats.extract import check_tags
from pysgrld.corpus.formats.protocol import BadDocument, Context, Texts
from pysgrld.corpus.formats.record_texts import Numbered, texts_of
from pysgrld.corpus.lines import UTF8, Lines, undecodable
from pysgrld.errors import CorpusError

_DATE = re.compile(r"\d{1,2}\.? \w+ \d{4}")
_NUMBER = re.compile(r"Document (\w{10,})")
_KNOWN = ("text", "id", "title", "date", "source")


def read(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document per article of a web page; the whole page is parsed at once.

    Raises
    ------
    CorpusError
        If the page is longer than ``max_line``, is not UTF-8, or is nested too deeply.
    """
    data, limit = b"", context.options.max_line
    for block in source.blocks():
        data += block
        if len(data) > limit:
            raise CorpusError(
                f"the page has more than {limit} bytes; allow more with --set max-line=SIZE",
                source.label,
            )
    try:
        check_tags(data)
        page = data.decode(UTF8)
    except BadDocument as bad:
        raise CorpusError(str(bad), source.label) from None
    except UnicodeDecodeError:
        raise CorpusError(undecodable(context.options.encoding), source.label) from None
    yield from texts_of(_articles(page), source, context, "article", _KNOWN)


def _articles(page: str) -> Iterator[Numbered]:
    from selectolax.lexbor import LexborHTMLParser

    for number, article in enumerate(LexborHTMLParser(page).css("div.article"), 1):
        record = dict[str, Any]()
        if (headline := article.css_first('[class$="Headline"]')) is not None:
            record["title"] = " ".join(headline.text().split())
        lines = [" ".join(line.text().split()) for line in article.css("div:not(.article)")]
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            if _DATE.fullmatch(line):
                record |= {"date": line, "source": following}
                break
        paragraphs = [part.text().strip() for part in article.css("p.articleParagraph")]
        record["text"] = "\n".join(paragraphs)
        if match := _NUMBER.search(article.text()):
            record["id"] = match[1]
        yield number, record
