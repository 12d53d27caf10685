"""Reader for XML dumps of MediaWiki, such as Wikipedia's dumps; each article is a document.

An article is a page of namespace 0 that has text and is no redirect. If a page has several
revisions, the last revision counts. Expat parses the dump block by block, so that only one page is
in memory. A document type is refused before its declarations are read: dumps have no document type,
and all attacks by XML need one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html.entities import name2codepoint
from xml.parsers import expat

from pysgrld.corpus._wikitext import Stripper
from pysgrld.corpus.about.details import FieldReader
from pysgrld.corpus.formats.protocol import Context, Texts
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError, plural

#: Number of bytes of wikitext in a batch of articles.
BATCH = 2**20
#: Number of bytes that expat parses at a time.
PIECE = 2**20
#: The root element must begin within this number of bytes.
PROLOG = 2**16
#: The bytes before the root element are parsed in pieces of this size, so that a document type
#: declaration is refused before its entities can expand.
PROLOG_PIECE = 64
#: Maximum depth of nested elements. Real dumps have a depth of six.
DEPTH = 32
#: Maximum size in bytes of an element such as a title. The text of a page may be larger.
FIELD = 2**12

_ROOT = "mediawiki"
#: Depth and name of each element that is read.
_FIELDS = {(4, "namespace"), (3, "title"), (3, "id"), (3, "ns"), (4, "model"), (4, "text")}

#: Numbers of the namespaces without articles, and their English names, which every wiki accepts.
ENGLISH = {
    -2: "Media",
    -1: "Special",
    1: "Talk",
    2: "User",
    3: "User talk",
    4: "Project",
    5: "Project talk",
    6: "File",
    7: "File talk",
    8: "MediaWiki",
    9: "MediaWiki talk",
    10: "Template",
    11: "Template talk",
    12: "Help",
    13: "Help talk",
    14: "Category",
    15: "Category talk",
}
#: Numbers of the namespaces of files and of categories, which are the same in all wikis.
FILE, CATEGORY = 6, 14

#: Names of the file namespace in many wikis. A dump lists only the current names of its wiki, but
#: texts may use older names, or names of other wikis. (Files are recognised by endings such as
#: ".jpg" too.)
FILES = """
    Image Media Datei Bild Fichier Archivo Imagen Ficheiro Arquivo Imagem Immagine Bestand Afbeelding
    Plik Grafika Fil Billede Tiedosto Kuva Soubor Obrázok Súbor Slika Datoteka Fájl Kép Fișier
    Imagine Dosya Resim Berkas Gambar Fail Tập_tin Hình Αρχείο Εικόνα Файл Изображение Картинка
    Зображення Слика Датотека Картина ファイル 画像 파일 그림 文件 档案 檔案 图像 圖像 图片 圖片 ملف
    صورة پرونده تصویر קובץ תמונה चित्र চিত্র படிமம் ไฟล์ ภาพ Fitxer Imatge Dosiero Fitxategi Irudi
"""
CATEGORIES = """
    Kategorie Catégorie Categoría Categoria Categorie Kategoria Kategori Luokka Kategória Kategorija
    Kategória Thể_loại Κατηγορία Категория Категорія Категорија カテゴリ 분류 分类 分類 تصنيف رده
    קטגוריה श्रेणी বিষয়শ্রেণী பகுப்பு หมวดหมู่ Kategorio Kategoria Kategori
"""

_REDIRECT = re.compile(r"\s*#\s*redirect\b\s*:?\s*\[\[", re.IGNORECASE)
_WORD = r"[^\s\[\]{}|<>#*:;='.,]{2,40}"
#: Pattern of a redirect in any language, such as "#WEITERLEITUNG [[Ziel]]" or "#đổi hướng [[...]]".
#: A redirect has one or two words, and a link.
_LOCAL_REDIRECT = re.compile(
    rf"\s*#{_WORD}(?: {_WORD})?\s*:?\s*\[\[[^\[\]\n]{{1,300}}\]\](.*)", re.S
)
#: Maximum number of characters after the link of a redirect. A text with more characters is an
#: article.
_MOST_AFTER = 200

#: Named entities of HTML with their characters. Any space is replaced by " ", and soft hyphens are
#: removed.
_ENTITIES = [
    (name, " " if chr(code).isspace() else chr(code).replace("\xad", ""))
    for name, code in name2codepoint.items()
] + [("apos", "'")]


def read(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield the wikitext of each article as a document, with a function that removes the markup.

    Raises
    ------
    CorpusError
        If the file is not a dump, or is truncated or damaged. The message has the line number, and
        the number of articles before the line.
    """
    dump = _Dump(source, context)
    fed = 0
    try:
        for block in source.blocks():
            while block:
                size = PIECE if dump.begun else PROLOG_PIECE
                piece, block = block[:size], block[size:]
                dump.feed(piece)
                fed += len(piece)
                # The parser keeps all data after the start of an unfinished tag or comment in
                # memory. Limit these data.
                held = fed - dump.parser.CurrentByteIndex
                if held > max(context.options.max_line, 4 * PIECE):
                    raise dump.error(
                        "a tag or comment is never closed: this is not a MediaWiki dump; write its "
                        "texts as JSON lines"
                    )
                if not dump.begun and fed > PROLOG:
                    raise dump.error(
                        f"no <{_ROOT}> in the first {PROLOG} bytes: this is not a MediaWiki dump; "
                        "write its texts as JSON lines"
                    )
                source.line = dump.parser.CurrentLineNumber - 1
                if dump.size >= BATCH:
                    yield dump.batch()
        dump.feed(b"")
    except CorpusError as error:
        so_far = f" (after {plural(dump.articles, 'article')})" if dump.begun else ""
        raise CorpusError(error.reason + so_far, error.path, error.line) from None
    if dump.documents:
        yield dump.batch()
    context.log(
        f"{source.label}: read {plural(dump.articles, 'article')} of "
        f"{plural(dump.pages, 'page')}; skipped {plural(dump.redirects, 'redirect')}, "
        f"{dump.others} pages of other namespaces and {dump.empty} empty pages"
    )


class _Dump:
    """Parser that collects the articles of the current batch from a dump.

    Attributes
    ----------
    begun : bool
        Whether the root element was seen.
    documents, lines, page_numbers : list
        Articles of the current batch, the lines at which their pages begin, and the numbers of
        these pages, from 1; ``size`` is the number of bytes of these articles.
    pages, articles, redirects, others, empty : int
        Numbers of pages read so far, in total and by kind.
    """

    def __init__(self, source: Lines, context: Context) -> None:
        self.context, self.label = context, source.label
        self.begun = self.local = False
        self.documents: list[bytes] = []
        self.lines: list[int] = []
        self.page_numbers: list[int] = []
        self.fields = FieldReader(context.wanted)
        self.size = self.pages = self.articles = self.redirects = self.others = self.empty = 0
        self.named: dict[int, str] = {}
        self.keys = namespaces(self.named)
        self.clean = stripper(self.named).strip
        self.depth = 0
        self.inside = ""  # Name of the open element, if its text is needed.
        self.parts: list[bytes] = []
        self.length = 0
        self._new_page()
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.buffer_size = PIECE
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype

    def feed(self, piece: bytes) -> None:
        """Parse the next bytes of the dump; an empty ``piece`` marks the end of the dump.

        Raises
        ------
        CorpusError
            If the data is not XML, or not a dump.
        """
        try:
            self.parser.Parse(piece, not piece)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            if not piece:
                problem = f"the dump is incomplete ({reason}); download it again"
            else:
                problem = (
                    f"the XML is not well formed ({reason}); the dump may be damaged: "
                    "download it again"
                )
            raise CorpusError(problem, self.label, error.lineno) from None

    def batch(self) -> Texts:
        """Return the articles of the current batch, and start a new batch."""
        fields = self.fields.fields()
        texts = Texts(self.documents, self.label, self.lines, self.clean, fields, self.page_numbers)
        self.documents, self.lines, self.page_numbers, self.size = [], [], [], 0
        return texts

    def error(self, message: str) -> CorpusError:
        """Return an error for the line of the dump that the parser has reached."""
        return CorpusError(message, self.label, self.parser.CurrentLineNumber)

    def _refuse_doctype(self, *_: object) -> None:
        raise self.error(
            "XML with a document type declaration (DTD) is refused for safety; remove the "
            "declaration, or extract the texts, one per line"
        )

    # -- elements -----------------------------------------------------------------------------

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth == 1:
            if name != _ROOT:
                raise self.error(
                    f"this XML file is not a MediaWiki dump (it begins with <{name[:40]}>, not "
                    f"<{_ROOT}>), and it is unclear which elements are documents; write the "
                    "texts as JSON lines"
                )
            self.begun = True
            version = re.fullmatch(r"(\d+)\.(\d+)", attributes.get("version", ""))
            # Since schema version 0.4, dumps mark redirects by an element.
            self.local = version is None or (int(version[1]), int(version[2])) < (0, 4)
        elif self.depth > DEPTH:
            raise self.error(
                f"elements are nested more than {DEPTH} levels deep: this is not a MediaWiki "
                "dump; write its texts as JSON lines"
            )
        elif self.depth == 2 and name == "page":
            self._new_page()
        elif self.depth == 3 and name == "redirect":
            self.redirect = True
        elif (self.depth, name) in _FIELDS and not (
            name == "text" and (self.namespace != 0 or self.redirect)
        ):
            self.inside, self.parts, self.length = name, [], 0
            self.key = attributes.get("key", "")
            self.parser.CharacterDataHandler = self._collect

    def _end(self, name: str) -> None:
        if self.inside and (self.depth, name) in _FIELDS:
            self.parser.CharacterDataHandler = None
            value = b"".join(self.parts)
            self.parts, self.inside = [], ""
            if name == "text":  # If a page has several revisions, the last revision counts.
                self.text = value
                self.too_long = self.length > self.context.options.max_line
            elif name == "title":
                self.title = value.decode()
                prefix, colon, _ = self.title.partition(":")
                self.namespace = self.keys.get(_plain(prefix), 0) if colon else 0
            elif name == "id":
                self.id = value.decode()
            elif name == "ns":
                self.namespace = _whole(value)
            elif name == "model":
                self.model = value
            else:
                self.named[_whole(self.key.encode())] = value.decode()
        elif self.depth == 2 and name == "page":
            self._end_page()
        elif self.depth == 2 and name == "siteinfo":
            self.keys = namespaces(self.named)
            self.clean = stripper(self.named).strip
        self.depth -= 1

    def _collect(self, text: str) -> None:
        part = text.encode()
        self.length += len(part)
        if self.length <= (self.context.options.max_line if self.inside == "text" else FIELD):
            self.parts.append(part)
        elif self.inside == "text":
            self.parts.clear()
        else:
            raise self.error(
                f"an element <{self.inside}> has more than {FIELD} bytes: this is not a MediaWiki "
                "dump; write its texts as JSON lines"
            )

    # -- pages --------------------------------------------------------------------------------

    def _new_page(self) -> None:
        self.page_line = self.parser.CurrentLineNumber if self.depth else 0
        self.namespace = 0
        self.redirect = self.too_long = False
        self.model = self.text = b""
        self.id = self.title = ""

    def _end_page(self) -> None:
        self.pages += 1
        self.context.counter.last += 1
        limit = self.context.options.max_line
        if self.namespace != 0 or self.model not in (b"", b"wikitext"):
            self.others += 1
        elif self.redirect or is_redirect(self.text[:4000].decode("utf-8", "ignore"), self.local):
            self.redirects += 1
        elif self.too_long:
            self.context.bad(
                "line too long",
                f"the page has more than {limit} bytes of text; allow more with --set max-line=SIZE",
                self.label,
                self.page_line,
            )
            if self.context.keep_empty:
                self._add(b"")
        elif not self.text.strip():
            self.empty += 1
        else:
            self.articles += 1
            self._add(self.text)
        self.text = b""

    def _add(self, text: bytes) -> None:
        self.documents.append(text)
        self.fields.add({"id": self.id, "title": self.title})
        self.lines.append(self.page_line)
        self.page_numbers.append(self.context.counter.last)
        self.size += len(text)


def _whole(value: bytes) -> int:
    """Parse the number of a namespace; return -1 for an invalid number."""
    try:
        return int(value)
    except ValueError:
        return -1


def is_redirect(text: str, local: bool) -> bool:
    """Return True if the text of a page only redirects to another page.

    Parameters
    ----------
    text : str
        Start of the page's text: at least 1,000 characters, or all of it.
    local : bool
        True if words of other languages instead of "#REDIRECT" count too. Dumps since schema 0.4
        mark redirects, so that this guess is not needed.
    """
    if _REDIRECT.match(text):
        return True
    match = _LOCAL_REDIRECT.match(text) if local else None
    return match is not None and len(match[1]) <= _MOST_AFTER


def _plain(name: str) -> str:
    """Normalise the name of a namespace, so that names can be compared."""
    return name.replace("_", " ").strip().casefold()


def namespaces(named: dict[int, str]) -> dict[str, int]:
    """Map names of namespaces to numbers; names are in English and in the dump's language."""
    keys_by_name = {_plain(name): key for key, name in ENGLISH.items()}
    return keys_by_name | {_plain(name): key for key, name in named.items() if name}


def stripper(named: dict[int, str]) -> Stripper:
    """Return an object that removes the markup from wikitext.

    Parameters
    ----------
    named : dict of int to str
        Names of the namespaces in the language of the dump.
    """
    files, categories = FILES.split(), CATEGORIES.split()
    files += [ENGLISH[FILE], named.get(FILE, "")]
    categories += [ENGLISH[CATEGORY], named.get(CATEGORY, "")]
    return Stripper(files=_forms(files), categories=_forms(categories), entities=_ENTITIES)


def _forms(names: Iterable[str]) -> list[str]:
    """Return spellings of namespace names that `Stripper` compares, with ASCII in lower case."""
    spaced = [name.replace("_", " ") for name in names if name]
    forms = {form for n in spaced for form in (n, n.lower(), n[0].lower() + n[1:])}
    return sorted({"".join(c.lower() if c.isascii() else c for c in form) for form in forms})
