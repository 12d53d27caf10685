"""A small valid file of each format in the table of `pysgrld.corpus.formats`, by name."""

from __future__ import annotations

import io
import zipfile

import numpy as np
from careless_exports import CARELESS
from export_samples import EXPORTS

WEB_OF_SCIENCE = """FN Clarivate Analytics Web of Science
VR 1.0
PT J
AU Doe, A
   Roe, B
TI Sleep
   of mice
AB Mice sleep
   in winter.
PY 2001
UT WOS:1
ER

PT J
AU Poe, C
TI Fish
PY 2003
UT WOS:2
ER

EF
"""
PUBMED = """
PMID- 11
OWN - NLM
DP  - 2001 Feb
TI  - Sleep of mice.
AB  - Mice sleep
      in winter.
FAU - Doe, A
AU  - Doe A
AU  - Roe B

PMID- 12
DP  - 2003
TI  - Fish.
"""
ENDNOTE = """%0 Journal Article
%T Sleep of mice
%A Doe, A
%A Roe, B
%D 2001
%X Mice sleep
in winter.

%0 Book
%T Fish
%D 2003
"""
REFWORKS = """RT Journal Article
SR Electronic
ID 1
A1 Doe, A
T1 Sleep of mice
YR 2001
AB Mice sleep in winter.

RT Book
ID 2
T1 Fish
YR 2003
"""
RIS = """TY  - JOUR
ID  - a1
TI  - Sleep of mice
AB  - Mice sleep in winter.
PY  - 2001
ER  -

TY  - BOOK
ID  - a2
TI  - Fish
PY  - 2003
ER  -
"""
BIBTEX = """Scopus
EXPORT DATE: 10 May 2020

@article{a1, title = {Sleep of mice}, abstract = {Mice sleep in winter.}, year = {2001}}
@book{a2, title = {Fish}, year = {2003}}
"""
PUBMED_XML = """<?xml version="1.0" ?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2019//EN" "https://x/p.dtd">
<PubmedArticleSet>
<PubmedArticle><MedlineCitation><PMID Version="1">11</PMID><Article><Journal><JournalIssue><PubDate>
<Year>2001</Year></PubDate></JournalIssue><Title>Mice</Title></Journal>
<ArticleTitle>Sleep of <i>mice</i></ArticleTitle><Abstract>
<AbstractText Label="AIM">Mice &amp; sleep</AbstractText><AbstractText>in winter&eacute;.</AbstractText>
</Abstract><AuthorList><Author><LastName>Doe</LastName><ForeName>A</ForeName></Author></AuthorList>
</Article></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>12</PMID><Article><Journal><JournalIssue><PubDate>
<MedlineDate>2003 Jan-Feb</MedlineDate></PubDate></JournalIssue></Journal>
<ArticleTitle>Fish</ArticleTitle></Article></MedlineCitation></PubmedArticle>
</PubmedArticleSet>
"""
JATS = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS v1.2 20190208//EN" "JATS-archivearticle1.dtd">
<article xmlns:xlink="http://www.w3.org/1999/xlink" article-type="research-article"><front>
<journal-meta><journal-title-group><journal-title>Mice</journal-title></journal-title-group></journal-meta>
<article-meta><article-id pub-id-type="pmc">PMC1</article-id>
<article-id pub-id-type="doi">10.1/x</article-id>
<title-group><article-title>Sleep of mice</article-title></title-group>
<contrib-group><contrib><name><surname>Doe</surname><given-names>A</given-names></name></contrib>
</contrib-group><pub-date><year>2001</year></pub-date>
<abstract><p>Mice sleep in winter.</p></abstract></article-meta></front>
<body><sec><label>1</label><title>Aims</title><p>Birds
fly<xref>[1]</xref> far.</p><fig><caption><p>A figure</p></caption></fig></sec></body>
<back><ref-list><ref>Reference</ref></ref-list></back></article>
"""
TREC = """<DOC>
<DOCNO> AP1 </DOCNO>
<HEADLINE>Sleep of mice</HEADLINE>
<TEXT>
Mice &amp; birds
</TEXT>
<TEXT>sleep <P>in winter</P></TEXT>
</DOC>
<DOC>
<DOCNO> AP2 </DOCNO>
<TEXT>Fish</TEXT>
</DOC>
"""
WIKIEXTRACTOR = """<doc id="12" url="https://x.org/?curid=12" title="Mice">
Mice

Mice sleep in winter &amp; eat.
</doc>

<doc id="39" url="https://x.org/?curid=39" title="Fish">
Fish
</doc>
"""
MAIL = """From: =?utf-8?q?J=C3=BCrgen?= <j@x.org>
To: b@x.org
Date: Tue, 6 Feb 2001 10:00:00 +0100
Subject: Sleep of mice
Message-ID: <1@x.org>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="b"

--b
Content-Type: multipart/alternative; boundary="c"

--c
Content-Type: text/plain; charset="iso-8859-1"
Content-Transfer-Encoding: quoted-printable

Mice sl=
eep caf=E9
--c
Content-Type: text/html

<p>the page</p>
--c--
--b
Content-Type: text/plain
Content-Disposition: attachment; filename="x.txt"

attached
--b--
"""
MBOX = f"""From j@x.org Tue Feb  6 10:00:00 2001
{MAIL}
From MAILER-DAEMON Tue Feb  6 11:00:00 2001
From: b@x.org
Subject: Fish
Date: Tue, 6 Feb 2001 11:00:00 +0100
Content-Type: text/html; charset=utf-8

<html><body><p>Fish &amp; birds</p><script>no</script></body></html>

>From here they swim.
"""


def _zip(**members: str | bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/"), content)
    return data.getvalue()


def _npz() -> bytes:
    from scipy import sparse

    data = io.BytesIO()
    sparse.save_npz(data, sparse.csr_matrix(np.array([[1, 2], [0, 1]])))
    return data.getvalue()


def _table(write: str) -> bytes:
    import pyarrow as pa
    from pyarrow import feather, parquet

    data, table = io.BytesIO(), pa.table({"id": ["a", "b"], "text": ["mice sleep", "fish"]})
    parquet.write_table(table, data) if write == "parquet" else feather.write_feather(table, data)
    return data.getvalue()


def _workbook() -> bytes:
    import openpyxl

    book, data = openpyxl.Workbook(), io.BytesIO()
    for row in (["id", "text"], ["a", "mice sleep"], ["b", "fish"]):
        book.active.append(row)
    book.save(data)
    return data.getvalue()


def _word() -> bytes:
    import docx

    document, data = docx.Document(), io.BytesIO()
    document.add_paragraph("mice sleep")
    document.save(data)
    return data.getvalue()


_OPEN = "application/vnd.oasis.opendocument."
#: A valid file, or the beginning of one that is refused.
SAMPLES = {
    "HTML": b"<!DOCTYPE html><html><body><p>mice sleep</p></body></html>",
    "PubMed XML": PUBMED_XML.encode(),
    "JATS": JATS.encode(),
    "documents in <doc> ... </doc>": TREC.encode(),
    "XML records": b"<records><record><text>mice sleep</text></record></records>",
    "WhatsApp": b"12/05/2021, 10:11 - Ann: mice sleep\n12/05/2021, 10:12 - Bob: fish\n",
    "an SPSS file (.sav)": b"$FL2@(#)",
    "a Stata file (.dta)": b"<stata_dta>",
    "a SAS file (.sas7bdat, .xpt)": bytes(12) + b"\xc2\xea\x81\x60",
    "R data (.rds, .RData, dput)": b"RDX3\n",
    "a MATLAB file (.mat)": b"MATLAB 5.0 MAT-file",
    "an SQLite database": b"SQLite format 3\x00",
    "an Access database": b"\x00\x01\x00\x00Standard ACE DB",
    "Avro or ORC": b"Obj\x01",
    "an archive (.7z, .rar)": b"Rar!\x1a\x07",
    "a picture": b"\x89PNG",
    "an Outlook folder (.pst)": b"!BDN",
    "a manual page (roff)": b'.\\" A comment.\n.TH MICE 7\n.SH NAME\nmice \\- small animals\n',
    "a web archive (WARC)": b"WARC/1.0\r\n",
    "Scopus plain text": b"Scopus\nEXPORT DATE:12 May 2021\n",
    "Cochrane plain text": b"Record #1 of 2\nID: CN-1\n",
    "Ovid plain text": b"<1>\nUnique Identifier\n  11\n",
    "ProQuest plain text": b"_" * 60 + b"\n\nReport Information from ProQuest\n",
    "a file of settings (.ini, .toml)": b'# a\n[[doc]]\ntext = "mice"\n',
    "serialised PHP": b'a:1:{s:4:"text";s:4:"mice";}\n',
    "a LaTeX or PostScript document": b"\\documentclass{article}\n",
    "subtitles (.srt, .vtt, .ass, .sbv, .lrc)": b"1\n00:00:01,000 --> 00:00:02,000\nMice sleep.\n",
    **{
        name: EXPORTS[export].content
        for name, export in (
            ("Factiva", "Factiva"),
            ("Factiva plain text", "Factiva plain text"),
            ("Nexis plain text", "Nexis plain text"),
            ("Engineering Village plain text", "Engineering Village"),
            ("a coding report of NVivo", "NVivo"),
            ("a report of ATLAS.ti", "ATLAS.ti"),
            ("text annotated with grammar, one word per line (CoNLL-U)", "CoNLL-U"),
            ("vertical text, one word per line", "vertical text"),
            ("YAML", "YAML"),
            ("a dump of a database (.sql)", "SQL"),
            ("an SPSS file (.por)", "SPSS portable"),
        )
    },
    **{
        name: CARELESS[export].content
        for name, export in (
            ("a file compressed by lz4, compress or snappy", "lz4"),
            ("sound or a film", "film"),
            ("a calendar or a list of contacts (.ics, .vcf)", "contacts"),
            ("a PubMed list of abstracts or summaries", "abstracts"),
            ("text annotated with grammar", "annotated"),
            ("RDF (Turtle, N-Triples)", "Turtle"),
            ("extracted features of HathiTrust", "HathiTrust"),
            ("a JSON text sequence", "JSON text sequence"),
            ("plain text of a chat (Discord, Zoom)", "Zoom"),
            ("a table of R with blanks between columns", "blanks between columns of R"),
            ("a table in Markdown", "Markdown"),
            ("XML or SGML", "XML"),
            ("a Nexis web page of articles", "Nexis_web_page"),
        )
    },
    "MediaWiki XML": (
        b'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/"><page><title>A</title><ns>0</ns>'
        b"<id>1</id><revision><id>1</id><text>mice sleep</text></revision></page></mediawiki>"
    ),
    "SciPy .npz": _npz,
    "Parquet": lambda: _table("parquet"),
    "Arrow": lambda: _table("arrow"),
    "a spreadsheet": _workbook,
    "Web of Science": WEB_OF_SCIENCE.encode(),
    "PubMed (MEDLINE)": PUBMED.encode(),
    "EndNote": ENDNOTE.encode(),
    "RefWorks": REFWORKS.encode(),
    "RIS": RIS.encode(),
    "BibTeX": BIBTEX.encode(),
    "mbox": MBOX.encode(),
    "mail": MAIL.encode(),
    "Word": _word,
    "PDF": b"%PDF-1.4\n%%EOF\n",
    "a PowerPoint file (.pptx)": lambda: _zip(ppt__x="a"),
    "an OpenDocument text (.odt)": lambda: _zip(mimetype=_OPEN + "text"),
    "a book (.epub, .mobi)": lambda: _zip(mimetype="application/epub+zip"),
    "a zip archive": lambda: _zip(x="a"),
    "an old Word or Excel file (.doc, .xls)": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    "rich text (.rtf)": b"{\\rtf1 mice}",
    "a tar archive": b"x" * 257 + b"ustar",
    "a dense NumPy array": b"\x93NUMPY\x01\x00",
    "a Python pickle": b"\x80\x04N.",
    "UTF-16 text": "mice sleep".encode("utf-16"),
    "UTF-32 text": "mice sleep".encode("utf-32"),
    "AnnData or 10x (HDF5)": b"\x89HDF\r\n\x1a\n",
    "Matrix Market": b"%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 1\n2 2 1\n",
    "UCI bag of words": b"2\n2\n2\n1 1 1\n2 2 1\n",
    "LDA-C": b"2 0:1 1:2\n1 1:3\n",
    "SVMlight": b"-1 1:1 2:2\n1 2:3\n",
    "a JSON array": b'[{"text": "mice sleep"}, {"text": "fish"}]',
    "JSON lines": b'{"text": "mice sleep"}\n{"text": "fish"}\n',
    "CSV or TSV": b"id,text\na,mice sleep\nb,fish\n",
    "plain text": b"mice sleep\nfish\n",
}


def sample(name: str) -> bytes:
    """Return the file of a format."""
    made = SAMPLES[name]
    return made if isinstance(made, bytes) else made()
