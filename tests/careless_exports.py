"""Exports of careless programs and people: files joined, renamed, or cut at other places."""

from __future__ import annotations

import json
from html import escape

from export_forms import FIRST, TEXTS, TITLES, XML, Export, each, jsonl, works

CARELESS = {
    "Web of Science, two files in a row": Export(
        "savedrecs.txt",
        each(
            "\ufeffFN Clarivate Analytics Web of Science\r\nVR 1.0\r\nPT J\r\nTI {t}\r\nAB {a}\r\nPY {y}\r\nUT W{n}\r\n"
            "ER\r\n\r\nEF\r\n"
        ).encode(),
        titles=TITLES,
        year="PY",
    ),
    "RIS, two files in a row": Export(
        "all.ris",
        each("\ufeffTY  - JOUR\nTI  - {t}\nAB  - {a}\nPY  - {y}\nER  - \n\n").encode(),
        titles=TITLES,
        year="year",
    ),
    "CSV, two files in a row": Export(
        "all.csv",
        each('\ufeffid,title,abstract,year\r\n{n},{t},"{a}",{y}\r\n').encode(),
        titles=TITLES,
        year="year",
    ),
    "CSV with a separator at the end of records": Export(
        "x.csv",
        ("id,title,abstract,year\n" + each('{n},{t},"{a}",{y},\n')).encode(),
        titles=TITLES,
        year="year",
    ),
    "write.table of R": Export(
        "x.csv",
        ('"title","abstract","year"\n' + each('"{n}","{t}","{a}",{y}\n')).encode(),
        titles=TITLES,
        year="year",
    ),
    "write.table of R with tabs": Export(
        "x.tsv",
        ("title\tabstract\tyear\n" + each("{n}\t{t}\t{a}\t{y}\n")).encode(),
        titles=TITLES,
        year="year",
    ),
    "to_csv of pandas": Export(
        "x.csv",
        (",title,abstract,year\n" + each('{n},{t},"{a}",{y}\n')).encode(),
        titles=TITLES,
        year="year",
    ),
    "tabs called .xls": Export(
        "x.xls",
        ("title\tabstract\tyear\n" + each("{t}\t{a}\t{y}\n")).encode(),
        titles=TITLES,
        year="year",
    ),
    "blanks between columns of R": Export(
        "x.txt",
        ('"title" "abstract"\n' + each('"{n}" "{t}" "{a}"\n')).encode(),
        refused="write.csv",
    ),
    "BibTeX with signs of TeX": Export(
        "ieee.bib",
        each(
            "@dataset{k{n},\n title={{t}},\n abstract={50% of {a}},\n url={http://x?a=1&b=2},\n year={y}\n}\n"
        ).encode(),
        texts=tuple(f"50 of {text}" for text in TEXTS),
        titles=TITLES,
        year="year",
        options={"numbers": "keep"},
    ),
    "pages of an interface in a row": Export(
        "pages.json",
        "\n".join(
            json.dumps({"meta": {"page": i}, "results": [work], "facets": [{"x": 1}]}, indent=2)
            for i, work in enumerate(works("title", "abstract", "year"))
        ).encode(),
        titles=TITLES,
        year="year",
    ),
    "objects of jq": Export(
        "x.json",
        "\n".join(
            json.dumps(work, indent=2) for work in works("title", "abstract", "year")
        ).encode(),
        titles=TITLES,
        year="year",
    ),
    "to_json of pandas": Export(
        "x.json",
        json.dumps({"abstract": dict(enumerate(TEXTS)), "year": {0: 2001, 1: 2002}}).encode(),
        refused="a list for each column.*orient",
    ),
    "lists of columns": Export(
        "x.json",
        json.dumps({"abstract": TEXTS, "year": [2001, 2002]}, indent=1).encode(),
        refused="a list for each column.*orient",
    ),
    "JSON text sequence": Export(
        "x.json", b'\x1e{"text": "mice"}\n\x1e{"text": "fish"}\n', refused="separator characters"
    ),
    "ProQuest TDM": Export(
        "1.xml",
        (
            XML
            + "<RECORD><RecordID>1</RecordID><NumericDate>20010514</NumericDate><Publication><Title>J</Title>"
            f'</Publication><TextInfo><Text HTMLContent="true">{escape(f"<p>{FIRST}</p>")}</Text></TextInfo></RECORD>'
        ).encode(),
        texts=TEXTS[:1],
    ),
    "Hansard": Export(
        "debates.xml",
        (
            XML
            + "<publicwhip>"
            + each('<speech id="u/{n}" speakername="Ann" time="10:00"><p pid="1">{a}</p></speech>')
            + "</publicwhip>"
        ).encode(),
    ),
    "WordPress": Export(
        "blog.xml",
        (
            XML
            + '<rss version="2.0" xmlns:content="c"><channel><title>Blog</title>'
            + each(
                "<item><title>{t}</title><content:encoded><![CDATA[<!-- wp:paragraph --><p>{a}</p>]]></content:encoded>"
                "</item>"
            )
            + "</channel></rss>"
        ).encode(),
        titles=TITLES,
    ),
    "Discord": Export(
        "discord.json",
        json.dumps(
            {
                "guild": {"name": "g"},
                "messages": [
                    {"id": str(i), "content": a, "author": {"name": "x"}}
                    for i, a in enumerate(TEXTS)
                ],
                "messageCount": 2,
            },
            indent=2,
        ).encode(),
    ),
    "Bluesky": Export(
        "posts.jsonl",
        jsonl(*({"uri": f"at://{i}", "record": {"text": a}} for i, a in enumerate(TEXTS))),
    ),
    "Elasticsearch": Export(
        "hits.json",
        jsonl(
            {
                "took": 1,
                "hits": {
                    "hits": [{"_id": str(i), "_source": {"text": a}} for i, a in enumerate(TEXTS)]
                },
            }
        ),
    ),
}


def refusals(**contents: str | bytes) -> dict[str, Export]:
    """Return exports that are refused as formats of the given names."""
    return {
        name: Export(
            "x.txt",
            content.encode() if isinstance(content, str) else content,
            refused=f"this is .*{name.replace('_', ' ')}.*which sgmc cannot read; ",
        )
        for name, content in contents.items()
    }


CARELESS |= refusals(
    abstracts="\n\n1. J Sleep. 2001 Feb;1(1):1-2. doi: 10.1/x.\n\nSleep.\n\nMice sleep.\n\nPMID: 12 [Indexed]\n",
    summaries="1: Doe A. Sleep of mice. J Sleep. 2001 Feb;1(1):1-2. PMID: 12.\n\n2: Roe B. Fish. J. 2002;2. PMID: 13.\n",
    Discord="=" * 62
    + "\nGuild: G\nChannel: c\n"
    + "=" * 62
    + "\n\n[01-Jan-21 10:00 AM] ann\nMice sleep\n",
    Zoom="10:01:02\t From Ann : Mice sleep\n10:02:02\t From Bob : Fish swim\n",
    HathiTrust='{"id": "m", "features": {"pages": [{"body": {"tokenPosCount": {"Mice": {"NNS": 3}}}}]}}',
    Markdown="| id | text |\n|----|:-----|\n| 1 | Mice sleep |\n",
    Turtle='@prefix nif: <http://x#> .\n<http://x/1> nif:isString "Mice sleep" .\n',
    lrc="[ar:Ann]\n[00:12.00]Mice sleep\n",
    srt="\ufeff17\r\n00:00:01,000 --> 00:00:02,000\r\nMice sleep.\r\n",
    XML='<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><p>Mice sleep</p></text></TEI>',
    SGML="<NEWS ID=1>\n<HEAD>Mice</HEAD>\n<BODY>Mice sleep</BODY>\n</NEWS>\n",
    CoNLL="-DOCSTART- -X- -X- O\n\nMice NNS B-NP O\n",
    one_word_per_line="# text = a\n1-2\tMicesleep\t_\n1\tMice\tmouse\tNOUN\tNNS\n",
    annotated="The/at mice/nns sleep/vb in/in winter/nn ./. The/at fish/nn swim/vb\n",
    grammar="( (S (NP-SBJ (NNS Mice)) (VP (VBP sleep))))\n",
    dput='structure(list(id = 1:2, text = c("Mice sleep", "Fish swim")))\n',
    PostScript="%!PS-Adobe-3.0\n(mice) show\n",
    LaTeX="\\begin{abstract}\nMice sleep\\cite{x}\n\\end{abstract}\n",
    contacts="BEGIN:VCARD\nFN:Ann\nEND:VCARD\n",
    film=b"\x00\x00\x00\x20ftypisom" + bytes(50),
    lz4=b"\x04\x22\x4d\x18mice",
    mobi=b"Book" + bytes(56) + b"BOOKMOBI" + bytes(50),
    UTF=FIRST.encode("utf-16-le"),
    Nexis_web_page="<html><body><p>1 of 2 DOCUMENTS</p><p>Mice</p><p>2 of 2 DOCUMENTS</p></body></html>",
)
