"""Formats that sgmc recognises but cannot read; each has advice on how to convert the file."""

from __future__ import annotations

_AS_CSV = "export the table as CSV"
_AS_RIS = "export the list as RIS or CSV"
_AS_TEXTS = "write the texts as JSON lines or plain text"
#: Pattern of a cell and the tab after it, in a tab-separated table.
_CELL = rb"[^\t\n]+\t"
#: Names of the HTML elements with which the text of a web page may begin.
_HTML = (
    rb"(?:jats:)?(?:p|div|span|a|b|i|u|s|em|strong|br|h[1-6]|ul|ol|li|dl|dt|dd|table|tr|td|th|tbody|thead"
    rb"|blockquote|img|font|center|section|article|figure|small|sub|sup|code|pre|hr|title|iframe|script"
    rb"|style|abstract|sec)"
)
_WORD_CLASS = (
    rb"(?:ADJ|ADP|ADV|AUX|CCONJ|DET|INTJ|NOUN|NUM|PART|PRON|PROPN|PUNCT|SCONJ|SYM|VERB|X|_)\t"
)
#: Formats that are refused. Each has the pattern of a file's first bytes, the name of the format,
#: and advice for the user.
REFUSED = (
    (rb"\$FL[23]", "an SPSS file (.sav)", _AS_CSV + ", or with pandas.read_spss"),
    (
        rb"<stata_dta>|[\x69-\x73][\x01\x02]\x01\x00",
        "a Stata file (.dta)",
        _AS_CSV + " (export delimited), or with pandas.read_stata",
    ),
    (rb".{0,464}SPSS PORT FILE", "an SPSS file (.por)", _AS_CSV),
    (
        rb"\x00{12}\xc2\xea\x81\x60|HEADER RECORD\*{7}",
        "a SAS file (.sas7bdat, .xpt)",
        _AS_CSV + ", or with pandas.read_sas",
    ),
    (
        rb"RD[AX][23]\n|X\n\x00\x00\x00[\x02\x03]|A\n[23]\n[0-9]+\n|structure\(list\(",
        "R data (.rds, .RData, dput)",
        "write the table with write.csv, or counts with Matrix::writeMM",
    ),
    (
        rb"MATLAB 5\.0 MAT-file",
        "a MATLAB file (.mat)",
        "write the counts with scipy.io.mmwrite (.mtx)",
    ),
    (
        rb"(?:\s|--[^\n]*\n|/\*[^\n]*\*/;?)*(?:CREATE (?:TABLE|DATABASE)|INSERT INTO|DROP TABLE"
        rb"|BEGIN TRANSACTION|PRAGMA foreign_keys|SET (?:statement_timeout|SQL_MODE|NAMES))\b",
        "a dump of a database (.sql)",
        _AS_CSV,
    ),
    (rb"SQLite format 3\x00", "an SQLite database", _AS_CSV + " (sqlite3 -header -csv)"),
    (rb"\x00\x01\x00\x00Standard (?:Jet|ACE) DB", "an Access database", _AS_CSV),
    (rb"Obj\x01|ORC", "Avro or ORC", "convert the file to Parquet"),
    (
        rb"7z\xbc\xaf\x27\x1c|Rar!\x1a\x07",
        "an archive (.7z, .rar)",
        "unpack the archive, and give the unpacked files",
    ),
    (
        rb"\x89PNG|\xff\xd8\xff|GIF8[79]a|II\*\x00|MM\x00\*",
        "a picture",
        "extract the text by OCR, and give this text as a plain-text file",
    ),
    (
        rb"\x04\x22\x4d\x18|\x1f\x9d|\xff\x06\x00\x00sNaPpY",
        "a file compressed by lz4, compress or snappy",
        "decompress it, or compress it with gzip or zstd",
    ),
    (
        rb"ID3[\x02-\x04]|RIFF.{4}(?:WAVE|AVI )|.{4}ftyp|OggS\x00|fLaC|\x1aE\xdf\xa3",
        "sound or a film",
        "transcribe the speech, and give the transcript as a plain-text file",
    ),
    (
        rb"BEGIN:V(?:CALENDAR|CARD)\b",
        "a calendar or a list of contacts (.ics, .vcf)",
        "write the texts as JSON lines or CSV",
    ),
    (rb"!BDN", "an Outlook folder (.pst)", "convert it to mbox (readpst)"),
    (rb"WARC/1\.", "a web archive (WARC)", "extract the texts of the web pages as JSON lines"),
    (rb"\s*Scopus\s*\nEXPORT DATE", "Scopus plain text", _AS_RIS),
    (rb"(?:\xef\xbb\xbf)?\s*Record #1 of [0-9]", "Cochrane plain text", _AS_RIS),
    (rb"\s*<1>[ \t]*\r?\n[A-Z][^\n]*\n", "Ovid plain text", _AS_RIS),
    (
        rb"\s*+1[.:] (?=.{0,600}?\b(?:19|20)[0-9]{2}\b[^\n;]{0,20};).{0,20000}?\bPMID: [0-9]",
        "a PubMed list of abstracts or summaries",
        "save it in the format PubMed (.nbib)",
    ),
    (rb"\s*<RECORD 1>", "Engineering Village plain text", _AS_RIS),
    (
        rb"\s*(?:SE|HD)[ \t]+[^\n]*\n(?:[^\n]*\n){0,20}?WC[ \t]+[0-9][^\n]*words",
        "Factiva plain text",
        "export the articles as HTML",
    ),
    (
        rb"\s*+[^\n]*\bof [0-9]+ DOCUMENTS[^\S\n]*\n",
        "Nexis plain text",
        "export the articles as Word documents, one file for each article",
    ),
    (
        rb"<(?:Files|Internals|Elements|Cases|Nodes)\\\\[^\n]*> - \xc2?\xa7",
        "a coding report of NVivo",
        "export the documents, or export the coded segments as a spreadsheet",
    ),
    (
        rb"\s*ATLAS\.ti[^\n]*\bReport\b",
        "a report of ATLAS.ti",
        "export the quotations as a spreadsheet",
    ),
    (
        rb"(?:#[^\n]*\n)*(?:1-[0-9]+\t[^\n]*\n)?1\t"
        + 2 * _CELL
        + _WORD_CLASS
        + rb"|# global\.columns =|-DOCSTART- ",
        "text annotated with grammar, one word per line (CoNLL-U)",
        _AS_TEXTS,
    ),
    (
        rb"\s*(?:<[^<>\n]+>\s*\n)+" + 2 * (_CELL + rb"[^\n]*\n"),
        "vertical text, one word per line",
        _AS_TEXTS,
    ),
    (
        rb"\s*(?:[^\s/]+/[A-Za-z$*.,:;'`-]{1,8}\s+){8}|\s*\((?:ROOT|TOP|\s*\(\s*[A-Z]+)\s*\([A-Z]",
        "text annotated with grammar",
        _AS_TEXTS,
    ),
    (
        rb"(?:#[^\n]*\n|\s)*(?:@(?:prefix|base)\s[^\n]*<|<[a-z]+:[^\s<>]+> <[a-z]+:[^\s<>]+> [<\"_])",
        "RDF (Turtle, N-Triples)",
        _AS_TEXTS,
    ),
    (
        rb'\s*\{.*?"tokenPosCount"\s*:\s*\{',
        "extracted features of HathiTrust",
        'write the counts of each volume as JSON lines: {"id": ..., "unigramCount": {"word": 2}}',
    ),
    (rb"\x1e\s*\{", "a JSON text sequence", "delete its separator characters (tr -d '\\036')"),
    (
        rb"={20,}\r?\nGuild: [^\n]*\n|[0-9]{2}:[0-9]{2}:[0-9]{2}[ \t]+From [^\n]+:",
        "plain text of a chat (Discord, Zoom)",
        "export it as JSON or CSV, or write the messages as JSON lines",
    ),
    (
        rb'"[^"\n]*"(?: "[^"\n]*")+\r?\n"[^"\n]*" (?:["0-9.-]|NA\b)',
        "a table of R with blanks between columns",
        "write the table with write.csv",
    ),
    (
        rb"(?:[#;][^\n]*\n|\s)*+\[\[?[\w.-]+\]\]?[ \t]*\r?\n(?:[#;][^\n]*\n|\s)*+[\w.-]+[ \t]*=",
        "a file of settings (.ini, .toml)",
        _AS_TEXTS,
    ),
    (rb"a:[0-9]+:\{(?:i:[0-9]+;|s:[0-9]+:\")", "serialised PHP", _AS_TEXTS),
    (
        rb"\s*\|[^\n]*\|[ \t]*\r?\n[ \t]*+\|[ \t]*+:?--[ \t:|-]*+\r?(?:\n|$)",
        "a table in Markdown",
        "save it as CSV",
    ),
    (
        rb"(?:---[^\n]*\n)?- [A-Za-z_]\w*:(?: [^\n]*)?\n  [A-Za-z_]\w*:",
        "YAML",
        "convert the file to JSON lines",
    ),
    (
        rb"\s*_{30,}\s*\n(?:[^\n]*\n){0,20}?[^\n]*\bProQuest\b"
        rb"|\s*(?:_{20,}\s+)?(?:Report Information from ProQuest\b|Document 1 of [0-9]+[ \t]*\r?\n)",
        "ProQuest plain text",
        _AS_RIS,
    ),
    (
        rb"(?:\s|%[^\n]*\n)*\\(?:documentclass|begin|section|chapter|maketitle)\b|%!PS",
        "a LaTeX or PostScript document",
        "extract the text (pandoc -t plain, ps2txt)",
    ),
    (
        rb"(?:\xef\xbb\xbf)?(?:WEBVTT\b|\s*[0-9]{1,5}\s*\n[0-9:]{8}[,.][0-9]{3} -->"
        rb"|\[Script Info\]|(?:\[[a-z]+:[^\n]*\]\r?\n)*\[[0-9]{2}:[0-9]{2}\.[0-9]{2}\]"
        rb"|[0-9]:[0-9:]{5}\.[0-9]{3},[0-9]:[0-9:]{5}\.[0-9]{3}\s)",
        "subtitles (.srt, .vtt, .ass, .sbv, .lrc)",
        "extract the text without the time stamps",
    ),
    (rb"PK\x03\x04.*\x00ppt/", "a PowerPoint file (.pptx)", "save the text as plain text"),
    (
        rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis\.opendocument\.text",
        "an OpenDocument text (.odt)",
        "save it as plain text (.txt, UTF-8)",
    ),
    (
        rb"PK\x03\x04.{26}mimetypeapplication/epub|.{60}BOOKMOBI",
        "a book (.epub, .mobi)",
        "extract the text (pandoc -t plain)",
    ),
    (rb"PK\x03\x04", "a zip archive", "unpack the archive, and give the unpacked files"),
    (
        rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "an old Word or Excel file (.doc, .xls)",
        "save it as .docx or as .xlsx",
    ),
    (
        rb"\s*(?:[.']\\\"|\.(?:TH|Dd|so) )",
        "a manual page (roff)",
        "format it as plain text (man -P cat NAME | col -bx)",
    ),
    (rb"\{\\rtf", "rich text (.rtf)", "save it as plain text (.txt, UTF-8)"),
    (rb".{257}ustar", "a tar archive", "unpack the archive, and give the unpacked files"),
    (
        rb"\x93NUMPY",
        "a dense NumPy array",
        "save the counts with scipy.sparse.save_npz(FILE, scipy.sparse.csr_matrix(X))",
    ),
    (
        rb"\x80[\x02-\x05]",
        "a Python pickle",
        "a pickle is never loaded, because it can run code: save counts with "
        "scipy.sparse.save_npz, or texts as JSON lines",
    ),
    (
        rb"\xff\xfe\x00\x00|\x00\x00\xfe\xff",
        "UTF-32 text",
        "give --encoding utf-32, or convert the file to UTF-8",
    ),
    (
        rb"\xff\xfe|\xfe\xff|(?:[\t\n\r -~]\x00){8}|(?:\x00[\t\n\r -~]){8}",
        "UTF-16 text",
        "give --encoding utf-16 (utf-16-le without byte-order mark), or convert the file to UTF-8",
    ),
    (
        rb"\s*<(?!/?%b\b)[A-Za-z][\w:.-]*(?:\s[^<>]*)?>(?:[^\S\n]*+\n\s*+)?<[A-Za-z!/]" % _HTML
        + rb"|\s*<[\w:.-]+\s[^<>]*\bxmlns[:=]",
        "XML or SGML",
        _AS_TEXTS,
    ),
)
