"""Small files in the forms exported by databases, platforms and programs, with two works each.

Each has the texts `FIRST` and `SECOND`, in the fields that the export has for them; other values are made
up. The shapes were written down from the documentation and from the use of these programs.
"""

from __future__ import annotations

import csv
import io
import json
from html import escape
from typing import Any, NamedTuple

FIRST = "Mice sleep in winter, and birds fly in summer over the sea."
SECOND = "Fish swim in the river when the water is warm enough for them."
TEXTS = (FIRST, SECOND)
XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


class Export(NamedTuple):
    """A file exported by a program.

    Attributes
    ----------
    name : str
        File name.
    content : bytes
    texts : tuple of str
        The texts of its documents with words.
    titles : tuple of str
        Their titles; empty if the export has none.
    year : str
        The column of the years 2001 and 2002; empty if there is none.
    options : dict
        Options that a person needs.
    refused : str
        Pattern of the message; empty if the file is read.
    """

    name: str
    content: bytes
    texts: tuple[str, ...] = TEXTS
    titles: tuple[str, ...] = ()
    year: str = ""
    options: dict[str, Any] = {}
    refused: str = ""


def table(
    header: str, *rows: dict[str, str], delimiter: str = ",", above: str = "", bom: bool = False
) -> bytes:
    """Write a table whose rows have values in some of the columns."""
    names = header.split(",")
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerow(names)
    for row in rows:
        assert not {*row} - {*names}, row
        writer.writerow([row.get(name, "") for name in names])
    return (above + out.getvalue()).encode("utf-8-sig" if bom else "utf-8")


def works(title: str, text: str, year: str, **more: str) -> list[dict[str, str]]:
    """Return the rows of two works under the names of an export's columns."""
    return [
        {title: t, text: a, year: y, **more}
        for t, a, y in zip(("Sleep", "Fish"), TEXTS, ("2001", "2002"), strict=True)
    ]


def jsonl(*records: dict[str, Any]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def each(template: str) -> str:
    """Fill a template with the number, title, year and text of both works."""
    rows = zip(("Sleep", "Fish"), ("2001", "2002"), TEXTS, strict=True)
    return "".join(
        template.replace("{n}", str(i))
        .replace("{t}", t)
        .replace("{y}", y)
        .replace("{a}", a)
        .replace("{html}", escape(f"<p>{a}</p>"))
        for i, (t, y, a) in enumerate(rows, 1)
    )


TITLES = ("Sleep", "Fish")
_STYLE = '<style face="normal" font="default" size="100%">'
EXPORTS = {
    # ---- literature databases
    "Scopus CSV": Export(
        "scopus.csv",
        table(
            "Authors,Author full names,Title,Year,Source title,Volume,Cited by,DOI,Link,Abstract,"
            "Author Keywords,Document Type,Source,EID",
            *works("Title", "Abstract", "Year", Authors="Doe A.; Roe B.", Source="Scopus"),
            bom=True,
        ),
        titles=TITLES,
        year="Year",
    ),
    "Scopus text": Export(
        "scopus.txt",
        b"Scopus\nEXPORT DATE:12 May 2021\n\nDoe, A.\nSleep\n(2001)\n",
        refused="RIS or CSV",
    ),
    "Dimensions CSV": Export(
        "dimensions.csv",
        table(
            "Rank,Publication ID,DOI,PMID,Title,Abstract,Source title,PubYear,Volume,Authors",
            *works("Title", "Abstract", "PubYear", Rank="500"),
            above="\"About the data: Exported on Oct 12, 2021. Criteria: 'sleep' in full data.\"\n",
        ),
        titles=TITLES,
        year="PubYear",
    ),
    "Lens CSV": Export(
        "lens.csv",
        table(
            "Lens ID,Title,Date Published,Publication Year,Publication Type,Source Title,Author/s,Abstract,"
            "Volume,Fields of Study,Keywords,External URL,PMID,DOI,Citing Works Count",
            *works("Title", "Abstract", "Publication Year"),
            bom=True,
        ),
        titles=TITLES,
        year="Publication Year",
    ),
    "IEEE CSV": Export(
        "ieee.csv",
        table(
            "Document Title,Authors,Author Affiliations,Publication Title,Date Added To Xplore,Publication Year,"
            "Abstract,ISSN,DOI,PDF Link,Author Keywords,IEEE Terms",
            *works("Document Title", "Abstract", "Publication Year"),
        ),
        year="Publication Year",
    ),
    "ACM BibTeX": Export(
        "acm.bib",
        each(
            "@inproceedings{10.1145/{n},\nauthor = {Doe, Ann},\ntitle = {{t}},\nyear = {{y}},\nisbn = {978},\n"
            "publisher = {Association for Computing Machinery},\nabstract = {{a}},\nseries = {X '01}\n}\n\n"
        ).encode(),
        titles=TITLES,
        year="year",
    ),
    "Mendeley BibTeX": Export(
        "mendeley.bib",
        (
            "Automatically generated by Mendeley Desktop 1.19.4\nAny changes to this file will be lost if it is "
            "regenerated by Mendeley.\n\nBibTeX export options can be customized via Options -> BibTeX in "
            "Mendeley Desktop\n\n"
            + each(
                "@article{Doe{y},\nabstract = {{a}},\nauthor = {Doe, A.},\nmendeley-groups = {x},\n"
                "title = {{{t}}},\nyear = {{y}}\n}\n"
            )
        ).encode(),
        titles=TITLES,
        year="year",
    ),
    "EndNote XML": Export(
        "endnote.xml",
        (
            XML
            + "<xml><records>"
            + each(
                '<record><database name="x.enl">x.enl</database><rec-number>{n}</rec-number>'
                '<ref-type name="Journal Article">17</ref-type><contributors><authors><author>S>Doe, A.</style>'
                "</author></authors></contributors><titles><title>S{t}</style></title><secondary-title>SJ Sleep"
                "</style></secondary-title></titles><dates><year>S{y}</style></year></dates><abstract>S{a}</style>"
                "</abstract></record>"
            ).replace(">S", f">{_STYLE}")
            + "</records></xml>"
        ).encode(),
        titles=TITLES,
        year="year",
    ),
    "ProQuest RIS": Export(
        "ProQuestDocuments.ris",
        each(
            "TY  - JOUR\nT1  - {t}\nAN  - {n}\nAB  - {a}\nAU  - Doe, Ann\nY1  - {y}///\nJF  - J Sleep\nPY  - {y}\n"
            "N1  - Copyright\nER  - \n\n"
        ).encode(),
        titles=TITLES,
        year="PY",
    ),
    "ProQuest text": Export(
        "proquest.txt",
        b"_" * 60
        + b"\n\nReport Information from ProQuest\n12 October 2021 10:11\n"
        + b"_" * 60
        + b"\n\n"
        b" Document 1 of 2\n\nSleep\n\nAbstract: Mice sleep.\n",
        refused="ProQuest plain text.*RIS or CSV",
    ),
    "Cochrane RIS": Export(
        "cochrane.ris",
        (
            'Provider: John Wiley & Sons, Ltd.\nContent:text/plain; charset="UTF-8"\n\n'
            + each(
                "TY  - JOUR\nAN  - CN-{n}\nAU  - Doe, A\nTI  - {t}\nPY  - {y}\nAB  - {a}\nER  -\n\n"
            )
        ).encode(),
        titles=TITLES,
        year="year",
    ),
    "Cochrane text": Export(
        "cochrane.txt",
        b"Record #1 of 2\nID: CN-1\nAU: Doe A\nTI: Sleep\nAB: Mice sleep.\n\n\n",
        refused="Cochrane plain text.*RIS or CSV",
    ),
    "PsycINFO RIS of EBSCO": Export(
        "psycinfo.ris",
        each(
            "TY  - JOUR\nID  - 2001-{n}\nT1  - {t}\nA1  - Doe, Ann\nJF  - J Sleep\nY1  - {y}/01//\nPY  - {y}\n"
            "N2  - {a}\nKW  - sleep\nKW  - mice\nER  -\n\n"
        ).encode(),
        titles=TITLES,
        year="year",
    ),
    "Ovid text": Export(
        "ovid.txt",
        b"<1>\nUnique Identifier\n  11\nTitle\n  Sleep\nAbstract\n  Mice sleep.\n\n<2>\nTitle\n  Fish\n",
        refused="Ovid plain text.*RIS or CSV",
    ),
    "EBSCO XML": Export(
        "ebsco.xml",
        (
            XML
            + "<records>"
            + each(
                '<rec resultID="{n}"><header shortDbName="psyh" uiTerm="{n}"><controlInfo><pubinfo><dt year="{y}"'
                ' month="01">x</dt></pubinfo><artinfo><tig><atl>{t}</atl></tig><aug><au>Doe, A</au></aug>'
                "<ab>{a}</ab></artinfo></controlInfo></header></rec>"
            )
            + "</records>"
        ).encode(),
    ),
    "PubMed CSV": Export(
        "csv-sleep-set.csv",
        table(
            "PMID,Title,Authors,Citation,First Author,Journal/Book,Publication Year,Create Date,PMCID,NIHMS ID,DOI",
            {
                "PMID": "11",
                "Title": FIRST,
                "Citation": f"J Sleep. 2001 Feb;1(1):1-2. {SECOND}",
                "Publication Year": "2001",
            },
        ),
        texts=(FIRST,),
        year="Publication Year",
        options={"text_field": "Title"},
    ),
    "PubMed CSV without a choice": Export(
        "csv-sleep-set.csv",
        table(
            "PMID,Title,Authors,Citation,Publication Year",
            {"PMID": "11", "Title": FIRST, "Citation": f"J Sleep. 2001 Feb;1(1):1-2. {SECOND}"},
        ),
        refused="choose one with --text-field",
    ),
    "Europe PMC XML": Export(
        "epmc.xml",
        (
            XML
            + "<responseWrapper><version>6.9</version><hitCount>2</hitCount><request><queryString>x</queryString>"
            "</request><resultList>"
            + each(
                "<result><id>{n}</id><source>MED</source><title>{t}</title><authorString>Doe A.</authorString>"
                "<pubYear>{y}</pubYear><abstractText>{a}</abstractText></result>"
            )
            + "</resultList></responseWrapper>"
        ).encode(),
        titles=TITLES,
        year="pubYear",
    ),
    "Europe PMC JSON": Export(
        "epmc.json",
        jsonl(
            {
                "version": "6.9",
                "hitCount": 2,
                "request": {"queryString": "x"},
                "resultList": {"result": works("title", "abstractText", "pubYear")},
            }
        ),
        titles=TITLES,
        year="pubYear",
    ),
    "arXiv Atom": Export(
        "arxiv.xml",
        (
            XML
            + '<feed xmlns="http://www.w3.org/2005/Atom"><link href="x" rel="self"/><link href="y"/>'
            '<title type="html">ArXiv Query</title><id>x</id>'
            + each(
                "<entry><id>http://arxiv.org/abs/{n}</id><published>{y}-01-01T00:00:00Z</published>"
                "<title>{t}</title><summary>  {a}\n</summary><author><name>A Doe</name></author>"
                '<link href="x" rel="alternate"/></entry>'
            )
            + "</feed>"
        ).encode(),
        titles=TITLES,
    ),
    "arXiv metadata": Export(
        "arxiv-metadata-oai-snapshot.json",
        jsonl(
            *(
                work
                | {
                    "id": f"0704.000{i}",
                    "abstract": f"  {work['abstract']}\n",
                    "versions": [{"v": "v1"}],
                }
                for i, work in enumerate(works("title", "abstract", "year"))
            )
        ),
        titles=TITLES,
    ),
    # ---- reference managers
    "Zotero CSV": Export(
        "zotero.csv",
        table(
            "Key,Item Type,Publication Year,Author,Title,Publication Title,ISBN,DOI,Url,Abstract Note,Date,Date Added",
            *works("Title", "Abstract Note", "Publication Year"),
            bom=True,
        ),
        titles=TITLES,
        year="Publication Year",
    ),
    "Zotero RDF": Export(
        "zotero.rdf",
        (
            '<rdf:RDF\n xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"\n'
            ' xmlns:z="http://www.zotero.org/namespaces/export#"\n xmlns:dcterms="http://purl.org/dc/terms/"\n'
            ' xmlns:bib="http://purl.org/net/biblio#"\n xmlns:dc="http://purl.org/dc/elements/1.1/">\n'
            + each(
                '<bib:Article rdf:about="http://x/{n}"><z:itemType>journalArticle</z:itemType>'
                "<dc:title>{t}</dc:title><dcterms:abstract>{a}</dcterms:abstract><dc:date>{y}</dc:date></bib:Article>"
            )
            + '<z:Attachment rdf:about="#item_1"><z:itemType>attachment</z:itemType><dc:title>PDF</dc:title>'
            "</z:Attachment></rdf:RDF>"
        ).encode(),
        titles=TITLES,
        year="date",
    ),
    "CSL JSON": Export(
        "zotero.json",
        json.dumps(
            [
                work
                | {
                    "id": f"http://zotero.org/{i}",
                    "type": "article-journal",
                    "issued": {"date-parts": [[2001]]},
                }
                for i, work in enumerate(works("title", "abstract", "year"))
            ],
            indent="\t",
        ).encode(),
        titles=TITLES,
        year="year",
    ),
    # ---- archives and interfaces
    "Constellate without texts": Export(
        "constellate.jsonl",
        jsonl(
            *(
                {
                    "docType": "article",
                    "id": f"http://www.jstor.org/stable/{i}",
                    "publicationYear": 2001 + i,
                    "title": title,
                    "unigramCount": dict.fromkeys(text.split(), 1) | {"mice": 2},
                }
                for i, (title, text) in enumerate(zip(TITLES, TEXTS, strict=True))
            )
        ),
        texts=tuple(
            " ".join(
                w for w, n in (dict.fromkeys(t.split(), 1) | {"mice": 2}).items() for _ in range(n)
            )
            for t in TEXTS
        ),
        titles=TITLES,
        year="publicationYear",
    ),
    "Constellate": Export(
        "constellate.jsonl",
        jsonl(
            *(
                {
                    "creator": ["Doe, A"],
                    "docType": "article",
                    "fullText": [text, "A page."],
                    "id": f"http://www.jstor.org/stable/{i}",
                    "identifier": [{"name": "issn", "value": "1"}],
                    "publicationYear": 2001 + i,
                    "title": title,
                    "unigramCount": {"mice": 1},
                }
                for i, (title, text) in enumerate(zip(TITLES, TEXTS, strict=True))
            )
        ),
        texts=tuple(f"{text} A page." for text in TEXTS),
        titles=TITLES,
        year="publicationYear",
    ),
    "Semantic Scholar": Export(
        "s2.jsonl",
        jsonl(*(work | {"inCitations": []} for work in works("title", "paperAbstract", "year"))),
        titles=TITLES,
        year="year",
    ),
    "Semantic Scholar search": Export(
        "s2.json",
        jsonl({"total": 2, "offset": 0, "data": works("title", "abstract", "year")}),
        titles=TITLES,
        year="year",
    ),
    "Crossref": Export(
        "crossref.json",
        jsonl(
            {
                "status": "ok",
                "message-type": "work-list",
                "message": {
                    "facets": {},
                    "total-results": 2,
                    "items": [
                        {
                            "DOI": f"10.1/{title}",
                            "title": [title],
                            "abstract": f"<jats:title>Abstract</jats:title><jats:p>{text}</jats:p>",
                            "author": [{"family": "Doe"}],
                        }
                        for title, text in zip(TITLES, TEXTS, strict=True)
                    ],
                },
            }
        ),
        texts=tuple(f"Abstract {text}" for text in TEXTS),
        titles=TITLES,
    ),
    "OpenAlex": Export(
        "openalex.json",
        jsonl(
            {
                "meta": {"count": 2},
                "results": [
                    {
                        "id": f"https://openalex.org/W{title}",
                        "title": title,
                        "publication_year": year,
                        "abstract_inverted_index": {
                            w: [i] for i, w in enumerate(dict.fromkeys(text.split()))
                        },
                    }
                    for title, text, year in zip(TITLES, TEXTS, (2001, 2002), strict=True)
                ],
                "group_by": [],
            }
        ),
        texts=tuple(" ".join(dict.fromkeys(text.split())) for text in TEXTS),
        titles=TITLES,
        year="publication_year",
    ),
    "Guardian": Export(
        "guardian.json",
        json.dumps(
            {
                "response": {
                    "status": "ok",
                    "total": 2,
                    "results": [
                        {"id": f"a/{t}", "webTitle": t, "fields": {"headline": t, "bodyText": a}}
                        for t, a in zip(TITLES, TEXTS, strict=True)
                    ],
                }
            },
            indent=2,
        ).encode(),
    ),
    "New York Times": Export(
        "nyt.json",
        jsonl(
            {
                "status": "OK",
                "copyright": "c",
                "response": {
                    "docs": [
                        {
                            "abstract": a,
                            "snippet": a,
                            "headline": {"main": t},
                            "pub_date": f"{y}-05-14T10:00:00+0000",
                        }
                        for t, a, y in zip(TITLES, TEXTS, (2001, 2002), strict=True)
                    ],
                    "meta": {"hits": 2},
                },
            }
        ),
    ),
    "news feed": Export(
        "rss.xml",
        (
            XML
            + '<rss version="2.0"><channel><title>News</title><description>all</description>'
            + each(
                "<item><title>{t}</title><description>{html}</description><guid>{n}</guid>"
                "<pubDate>Mon, 14 May {y} 10:00:00 +0000</pubDate></item>"
            )
            + "</channel></rss>"
        ).encode(),
        titles=TITLES,
    ),
    # ---- platforms
    "Twitter archive": Export(
        "tweets.js",
        b"window.YTD.tweets.part0 = "
        + json.dumps(
            [{"tweet": {"id_str": str(i), "full_text": a}} for i, a in enumerate(TEXTS)]
        ).encode(),
    ),
    "Twitter API": Export(
        "tweets.json",
        jsonl(
            {
                "data": [{"id": str(i), "text": a} for i, a in enumerate(TEXTS)],
                "includes": {"users": [{"id": "1", "name": "a"}]},
                "meta": {"result_count": 2},
            }
        ),
    ),
    "tweets CSV": Export(
        "tweets.csv",
        table("url,date,content,id,user", *({"content": a, "date": "2021-01-01"} for a in TEXTS)),
    ),
    "Reddit comments": Export(
        "RC_2010-01",
        jsonl(*({"id": f"c{i}", "author": "x", "body": a} for i, a in enumerate(TEXTS))),
    ),
    "Reddit submissions": Export(
        "RS_2010-01.jsonl",
        jsonl(
            *(
                {
                    "id": f"c{i}",
                    "title": t,
                    "selftext": a,
                    "selftext_html": escape(f"<p>{a}</p>"),
                    "media": None,
                }
                for i, (t, a) in enumerate(zip(TITLES, TEXTS, strict=True))
            )
        ),
        titles=TITLES,
    ),
    "Stack Exchange": Export(
        "Posts.xml",
        (
            "\ufeff"
            + XML
            + "<posts>\n"
            + each(
                '  <row Id="{n}" PostTypeId="1" CreationDate="{y}-07-19T19:12:12.510" Score="5" Body="{html}" '
                'Title="{t}" Tags="&lt;sleep&gt;" />\n'
            )
            + "</posts>"
        ).encode(),
        titles=TITLES,
    ),
    "Mastodon": Export(
        "outbox.json",
        jsonl(
            {
                "@context": "https://www.w3.org/ns/activitystreams",
                "type": "OrderedCollection",
                "orderedItems": [
                    {
                        "id": "m/1",
                        "type": "Create",
                        "object": {"type": "Note", "content": f"<p>{FIRST}</p>"},
                    },
                    {"id": "m/2", "type": "Announce", "object": "https://m/9"},
                    {
                        "id": "m/3",
                        "type": "Create",
                        "object": {"type": "Note", "content": f"<p>{SECOND}</p>"},
                    },
                ],
            }
        ),
    ),
    "WhatsApp": Export(
        "WhatsApp Chat.txt",
        (
            "12/05/2021, 10:11 - Messages and calls are end-to-end encrypted.\n"
            f"12/05/2021, 10:11 - Ann Doe: {FIRST[:20]}\n{FIRST[20:]}\n"
            "12/05/2021, 10:12 - Bob: <Media omitted>\n"
            f"12/05/2021, 10:13 - Bob: {SECOND}\n"
        ).encode(),
        texts=(f"{FIRST[:20]} {FIRST[20:]}", SECOND),
    ),
    "WhatsApp of a telephone by Apple": Export(
        "_chat.txt",
        (
            "[12.05.21, 10:11:59] Group: \u200eMessages are end-to-end encrypted.\n"
            f"[12.05.21, 10:12:59] Ann: {FIRST}\n\u200e[12.05.21, 10:12:59] Bob: \u200eimage omitted\n"
            f"[12.05.21, 10:13:59] Bob: {SECOND}\n"
        ).encode(),
        texts=("\u200eMessages are end-to-end encrypted.", *TEXTS),
    ),
    "Telegram": Export(
        "result.json",
        json.dumps(
            {
                "name": "c",
                "type": "personal_chat",
                "id": 1,
                "messages": [
                    {"id": 1, "type": "message", "from": "A", "text": FIRST},
                    {
                        "id": 2,
                        "type": "message",
                        "from": "B",
                        "text": ["Fish swim in ", {"type": "bold", "text": SECOND[13:]}],
                    },
                ],
            },
            indent=1,
        ).encode(),
        texts=(FIRST, "Fish swim in " + SECOND[13:]),
    ),
    "YouTube comments": Export(
        "comments.json",
        json.dumps(
            {
                "kind": "youtube#commentThreadListResponse",
                "items": [
                    {
                        "id": str(i),
                        "snippet": {
                            "topLevelComment": {"snippet": {"textDisplay": a, "textOriginal": a}}
                        },
                    }
                    for i, a in enumerate(TEXTS)
                ],
            },
            indent=2,
        ).encode(),
    ),
    "mail of Google Takeout": Export(
        "All mail Including Spam and Trash.mbox",
        each(
            "From 170{n}@xxx Mon May 14 10:00:00 +0000 {y}\nX-GM-THRID: 1\nX-Gmail-Labels: Inbox\n"
            "From: a@b.org\nTo: c@d.org\nSubject: {t}\nDate: Mon, 14 May {y} 10:00:00 +0000\n"
            "Content-Type: text/plain; charset=utf-8\n\n{a}\n\n"
        ).encode(),
        titles=TITLES,
    ),
    "GitHub issues": Export(
        "issues.json",
        json.dumps(
            [
                {
                    "url": "u",
                    "number": i,
                    "title": t,
                    "user": {"login": "a"},
                    "labels": [{"name": "bug"}],
                    "body": a,
                }
                for i, (t, a) in enumerate(zip(TITLES, TEXTS, strict=True))
            ],
            indent=2,
        ).encode(),
        titles=TITLES,
    ),
    "Jira CSV": Export(
        "jira.csv",
        b"Summary,Issue key,Issue id,Status,Labels,Labels,Description,Comment,Comment\n"
        + "".join(
            f'{t},P-{i},{i},Open,a,,"{a}",,\n'
            for i, (t, a) in enumerate(zip(TITLES, TEXTS, strict=True))
        ).encode(),
    ),
    "Jira XML": Export(
        "jira.xml",
        (
            '<!-- \nRSS generated by JIRA\n-->\n<rss version="0.92" >\n<channel>\n<title>JIRA</title><link>x</link>'
            '<description>An XML representation of an issue</description><issue start="0" end="2" total="2"/>'
            + each(
                '<item><title>[P-{n}] {t}</title><project id="1" key="P">P</project>'
                '<description>{html}</description><key id="{n}">P-{n}</key><summary>{t}</summary></item>'
            )
            + "</channel></rss>"
        ).encode(),
    ),
    # ---- surveys and statistics
    "Qualtrics": Export(
        "survey.csv",
        table(
            "StartDate,EndDate,Status,ResponseId,Q1",
            {
                "StartDate": "Start Date",
                "ResponseId": "Response ID",
                "Q1": "What do you think of mice?",
            },
            {
                "StartDate": '{"ImportId":"startDate","timeZone":"America/Denver"}',
                "ResponseId": '{"ImportId":"_recordId"}',
                "Q1": '{"ImportId":"QID1_TEXT"}',
            },
            *(
                {"StartDate": "2021-01-01 10:00:00", "ResponseId": f"R_{i}", "Q1": a}
                for i, a in enumerate(TEXTS)
            ),
        ),
        options={"text_field": "Q1"},
    ),
    "LimeSurvey": Export(
        "results-survey.csv",
        table(
            "Response ID,Date submitted,Last page,Start language,What do you think of mice?",
            *(
                {"Response ID": str(i), "Last page": "1", "What do you think of mice?": a}
                for i, a in enumerate(TEXTS)
            ),
            bom=True,
        ),
    ),
    "Kaggle": Export(
        "training.csv",
        "".join(
            f'"{i % 2 * 4}","146781036{i}","Mon Apr 06 22:19:45 PDT 2009","NO_QUERY","u","{a}"\n'
            for i, a in enumerate([*TEXTS, *TEXTS])
        ).encode(),
        texts=(*TEXTS, *TEXTS),
    ),
    "SPSS": Export("x.sav", b"$FL2@(#) SPSS DATA FILE" + bytes(100), refused="SPSS.*CSV"),
    "Stata": Export("x.dta", b"<stata_dta><header><release>118</release>", refused="Stata.*CSV"),
    "Stata before 13": Export("x.dta", b"\x72\x02\x01\x00" + bytes(100), refused="Stata.*CSV"),
    "SAS": Export("x.sas7bdat", bytes(12) + b"\xc2\xea\x81\x60" + bytes(100), refused="SAS.*CSV"),
    "R": Export("x.rds", b"X\n\x00\x00\x00\x03\x00\x04\x02\x01", refused="R data.*write.csv"),
    "R workspace": Export("x.RData", b"RDX3\nX\n\x00\x00\x00\x03", refused="R data.*write.csv"),
    "MATLAB": Export("x.mat", b"MATLAB 5.0 MAT-file, Platform: GLNXA64", refused="MATLAB.*mmwrite"),
    "SQLite": Export("x.db", b"SQLite format 3\x00" + bytes(100), refused="SQLite.*CSV"),
    # ---- texts
    "Factiva or Nexis RTF": Export(
        "nexis.rtf", b"{\\rtf1\\ansi mice sleep}", refused=r"rich text.*plain text"
    ),
    "ParlaMint TEI": Export(
        "debate.xml",
        (
            XML
            + '<TEI xmlns="http://www.tei-c.org/ns/1.0" xml:id="x"><teiHeader><fileDesc><titleStmt><title>Debate'
            "</title></titleStmt></fileDesc></teiHeader><text><body><div>"
            + each('<u who="#a" xml:id="u{n}"><seg>{a}</seg></u>')
            + "</div></body></text></TEI>"
        ).encode(),
        refused="<TEI>.*JSON lines",
    ),
    "LaTeX": Export(
        "paper.tex",
        b"% a\n\\documentclass{article}\n\\begin{document}mice\\end{document}\n",
        refused="pandoc",
    ),
    "subtitles": Export(
        "film.srt", b"1\n00:00:01,000 --> 00:00:02,000\nMice sleep.\n\n", refused="subtitles"
    ),
    "an archive of Facebook": Export(
        "message_1.json",
        json.dumps(
            {
                "participants": [{"name": "Ann"}],
                "messages": [{"sender_name": "Ann", "content": a} for a in TEXTS],
            }
        ).encode(),
    ),
    "SurveyMonkey": Export(
        "responses.csv",
        (
            "Respondent ID,Collector ID,Start Date,What do you think of mice that sleep in winter?,How old are you?\n"
            ",,,Open-Ended Response,Response\n" + each('100{n},2,01/01/2020,"{a}",18-24\n')
        ).encode(),
    ),
    "LimeSurvey VV": Export(
        "vv_1234.csv",
        (
            "Response ID\tDate submitted\tWhat of mice?\nid\tsubmitdate\tQ1\n"
            + each("{n}\t2020-01-01\t{a}\n")
        ).encode(),
    ),
    "LimeSurvey with a long question": Export(
        "results.csv",
        table(
            "Response ID,What do you think of mice which sleep in winter?,How old are you?",
            *(
                {"Response ID": str(i), "What do you think of mice which sleep in winter?": a}
                for i, a in enumerate(TEXTS)
            ),
            delimiter=";",
        ),
    ),
    "questions of LimeSurvey": Export(
        "survey.lss",
        (
            XML
            + "<document><LimeSurveyDocType>Survey</LimeSurveyDocType><groups><rows>"
            + each("<row><gid>{n}</gid><group_name>{a}</group_name></row>")
            + "</rows></groups></document>"
        ).encode(),
        refused="it is unclear which elements are documents",
    ),
    "ERIC": Export(
        "eric.nbib",
        each(
            "OWN - ERIC\nTI  - T{n}\nOID - EJ{n}\nDP  - {y}\nAB  - {a}\nPT  - Journal Articles\n\n"
        ).encode(),
        titles=("T1", "T2"),
        year="PY",
    ),
    "MARCXML": Export(
        "marc.xml",
        (
            XML
            + '<collection xmlns="http://www.loc.gov/MARC21/slim">'
            + each(
                '<record><leader>x</leader><datafield tag="245" ind1=" "><subfield code="a">T{n}</subfield>'
                '</datafield><datafield tag="520"><subfield code="a">{a}</subfield></datafield></record>'
            )
            + "</collection>"
        ).encode(),
    ),
    "Factiva": Export(
        "factiva.html",
        (
            "<html><head><title>Factiva</title></head><body>"
            + each(
                '<div class="article enArticle"><p><span class="enHeadline">T{n}</span></p><div>12 words</div>'
                '<div>3 May {y}</div><div>The Times</div><p class="articleParagraph enarticleParagraph">{a}</p>'
                "<p>Document T000000020010501dx510{n}</p></div>"
            )
            + "</body></html>"
        ).encode(),
        titles=("T1", "T2"),
        year="date",
    ),
    "Factiva plain text": Export(
        "factiva.txt",
        b"HD  Mice\nBY  Ann\nWC  12 words\nPD  3 May 2001\nLP  Mice sleep\n",
        refused="HTML",
    ),
    "Nexis plain text": Export(
        "nexis.txt",
        b"\n   1 of 5 DOCUMENTS\n\n\n  The Times\n\nMice sleep\n",
        refused="Nexis.*one file",
    ),
    "Engineering Village": Export("ei.txt", b"<RECORD 1>\nTitle: Mice\n", refused="RIS"),
    "NVivo": Export(
        "node.txt",
        "<Files\\\\Interview 1> - § 1 reference coded  [ 2% Coverage]\n\nMice sleep\n".encode(),
        refused="NVivo.*spreadsheet",
    ),
    "ATLAS.ti": Export(
        "report.txt", b"ATLAS.ti Report\n\nMice\n\nQuotations\n", refused="ATLAS.*spreadsheet"
    ),
    "CoNLL-U": Export(
        "x.conllu",
        b"# sent_id = 1\n1\tMice\tmouse\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n",
        refused="CoNLL-U",
    ),
    "vertical text": Export(
        "x.vert",
        b'<doc id="1">\n<s>\nMice\tNNS\tmouse\nsleep\tVB\tsleep\n</s>\n</doc>\n',
        refused="vertical",
    ),
    "YAML": Export("x.yaml", b"- id: 1\n  text: Mice sleep\n", refused="YAML.*JSON lines"),
    "SQL": Export(
        "dump.sql",
        b"-- MySQL dump\n\nCREATE TABLE t (id int, body text);\nINSERT INTO t VALUES (1,'Mice');\n",
        refused="database.*CSV",
    ),
    "SAS transport": Export(
        "x.xpt", b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!0", refused="SAS.*CSV"
    ),
    "SPSS portable": Export("x.por", b"\xc1\xe2" * 100 + b"ASCII SPSS PORT FILE", refused="SPSS"),
    "subtitles of YouTube": Export(
        "x.sbv", b"0:00:01.000,0:00:02.000\nMice sleep\n", refused="subtitles"
    ),
    "subtitles of Aegisub": Export(
        "x.ass", b"[Script Info]\nTitle: x\n\n[Events]\nFormat: Start, Text\n", refused="subtitles"
    ),
    "a picture": Export("scan.png", b"\x89PNG\r\n\x1a\n" + bytes(50), refused="OCR"),
    "a web archive": Export("x.warc", b"WARC/1.0\r\nWARC-Type: warcinfo\r\n", refused="WARC"),
}
