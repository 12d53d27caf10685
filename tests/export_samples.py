"""Small files in the forms exported by databases, platforms and programs, with two works each.

Each has the texts `FIRST` and `SECOND`, in the fields that the export has for them; other values are made
up. The shapes were written down from the documentation and from the use of these programs.
"""

from __future__ import annotations

import json
from html import escape

from export_forms import FIRST, SECOND, TEXTS, TITLES, XML, Export, each, jsonl, table
from export_samples_published import PUBLISHED

EXPORTS = {
    **PUBLISHED,
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
