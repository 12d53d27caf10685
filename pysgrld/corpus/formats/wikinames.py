"""Names that MediaWiki has for things: namespaces in its many languages, redirects, entities."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html.entities import name2codepoint

from pysgrld.corpus._wikitext import Stripper

#: Namespaces that no wiki has articles in, under the names that work in every wiki.
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
FILE, CATEGORY = 6, 14

#: A dump names its namespaces once, but the text may use older names, and excerpts come with the
#: names of another wiki. (Pictures are recognised by ".jpg" too, whatever their namespace.)
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
#: "#WEITERLEITUNG [[Ziel]]", "#đổi hướng [[...]]": a word in place of the English one, a link, and
#: hardly anything after it.
_LOCAL_REDIRECT = re.compile(
    rf"\s*#{_WORD}(?: {_WORD})?\s*:?\s*\[\[[^\[\]\n]{{1,300}}\]\](.*)", re.S
)
_MOST_AFTER = 200


def is_redirect(text: str, local: bool) -> bool:
    """Whether a page sends its readers to another one.

    Parameters
    ----------
    text : str
        Its beginning, 1,000 characters or more where it has them.
    local : bool
        Whether words other than "#REDIRECT" count. Dumps since schema 0.4 mark redirects, so there
        is no need to guess.
    """
    if _REDIRECT.match(text):
        return True
    match = _LOCAL_REDIRECT.match(text) if local else None
    return match is not None and len(match[1]) <= _MOST_AFTER


def plain(name: str) -> str:
    """Bring the name of a namespace, or a title's prefix, into the form that is compared."""
    return name.replace("_", " ").strip().casefold()


def namespaces(named: dict[int, str]) -> dict[str, int]:
    """Return the keys of namespaces by name: those of the dump, and the English ones."""
    known = {plain(name): key for key, name in ENGLISH.items()}
    return known | {plain(name): key for key, name in named.items() if name}


def stripper(named: dict[int, str]) -> Stripper:
    """Make the object that takes the markup out of a wiki's texts.

    Parameters
    ----------
    named : dict of int to str
        The dump's own names of its namespaces.
    """
    files, categories = FILES.split(), CATEGORIES.split()
    files += [ENGLISH[FILE], named.get(FILE, "")]
    categories += [ENGLISH[CATEGORY], named.get(CATEGORY, "")]
    return Stripper(files=_forms(files), categories=_forms(categories), entities=_ENTITIES)


def _forms(names: Iterable[str]) -> list[str]:
    """Write names as editors do: as they are, in lower case, with a small first letter."""
    spaced = [name.replace("_", " ") for name in names if name]
    forms = {form for n in spaced for form in (n, n.lower(), n[0].lower() + n[1:])}
    return sorted({_ascii_lower(form) for form in forms})


def _ascii_lower(text: str) -> str:
    return "".join(c.lower() if c.isascii() else c for c in text)


def _entity(code: int) -> str:
    """Blanks of any width are blanks; a soft hyphen is within a word."""
    character = chr(code)
    return " " if character.isspace() else "" if character == "\xad" else character


_ENTITIES = [(name, _entity(code)) for name, code in name2codepoint.items()] + [("apos", "'")]
