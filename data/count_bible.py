"""Count the words of every chapter of the King James Bible: docword, vocab, and chapters of books.

Needs Debian's packages bible-kjv (the program `bible`, which unpacks the text) and bible-kjv-text
(the text), and pysgrld for its list of English stop words:

    apt-get install bible-kjv
    python data/count_bible.py

The output is the same, byte for byte, wherever it is made from the same text.
"""

from __future__ import annotations

import gzip
import io
import re
import subprocess
from collections import Counter
from pathlib import Path

from pysgrld.corpus.stopwords import NAMED

HERE = Path(__file__).parent

#: Books in the order of the text, which prints them abbreviated ("Ge", "1Sa").
BOOKS = """
Genesis,Exodus,Leviticus,Numbers,Deuteronomy,Joshua,Judges,Ruth,1 Samuel,2 Samuel,1 Kings,2 Kings,
1 Chronicles,2 Chronicles,Ezra,Nehemiah,Esther,Job,Psalms,Proverbs,Ecclesiastes,Song of Solomon,
Isaiah,Jeremiah,Lamentations,Ezekiel,Daniel,Hosea,Joel,Amos,Obadiah,Jonah,Micah,Nahum,Habakkuk,
Zephaniah,Haggai,Zechariah,Malachi,Matthew,Mark,Luke,John,Acts,Romans,1 Corinthians,2 Corinthians,
Galatians,Ephesians,Philippians,Colossians,1 Thessalonians,2 Thessalonians,1 Timothy,2 Timothy,
Titus,Philemon,Hebrews,James,1 Peter,2 Peter,1 John,2 John,3 John,Jude,Revelation
""".replace("\n", "").split(",")

#: What the English of 1611 uses where ours uses words of the common list, and words that carry on a
#: story in any chapter ("and it came to pass that he said unto them").
_ARCHAIC = """
thee thou thy thine thyself hath hast hadst doth dost doeth didst art wast wert shalt wilt
canst couldest wouldest shouldest mayest mightest unto thereto thereunto hereunto whereunto
wherewith therewith whereof whither thither hither thence hence whosoever whatsoever
wheresoever whomsoever howbeit notwithstanding peradventure verily yea nay lo behold nigh
whoso insomuch forasmuch inasmuch moreover
said saith saying say sayest spake speak speaketh came come cometh went goeth pass
put set see saw seen called answered according wherefore
upon things thing also let made make away brought bring gave give given took take taken
"""
ARCHAIC = frozenset(_ARCHAIC.split())

LETTERS, CHAPTERS = 3, 5
VERSE = re.compile(r"([1-3]?[A-Za-z]+)([0-9]+):([0-9]+) (.*)")


def chapters() -> list[tuple[str, list[str]]]:
    """Title and words of every chapter, in order."""
    text = subprocess.run(
        ["bible", "-f", "gen1:1-rev22:21"], capture_output=True, check=True, encoding="ascii"
    ).stdout
    found: dict[tuple[str, str], list[str]] = {}
    for line in text.splitlines():
        book, chapter, _, verse = VERSE.fullmatch(line).groups()
        found.setdefault((book, chapter), []).extend(re.findall("[a-z]+", verse.lower()))
    books = list(dict.fromkeys(book for book, _ in found))
    assert len(books) == len(BOOKS) == 66
    assert len(found) == 1189
    names = dict(zip(books, BOOKS, strict=True))
    return [(f"{names[book]} {chapter}", words) for (book, chapter), words in found.items()]


def main() -> None:
    """Write the three files."""
    documents = [(title, Counter(words)) for title, words in chapters()]
    seen_in = Counter(word for _, counts in documents for word in counts)
    vocabulary = sorted(
        word
        for word, n in seen_in.items()
        if len(word) >= LETTERS and n >= CHAPTERS and word not in NAMED["english"] | ARCHAIC
    )
    ids = {word: i + 1 for i, word in enumerate(vocabulary)}
    entries = [
        f"{d} {w} {n}\n"
        for d, (_, counts) in enumerate(documents, 1)
        for w, n in sorted((ids[word], n) for word, n in counts.items() if word in ids)
    ]
    packed = io.BytesIO()
    with gzip.GzipFile("", "wb", 9, packed, mtime=0) as file:
        header = f"{len(documents)}\n{len(vocabulary)}\n{len(entries)}\n"
        file.write((header + "".join(entries)).encode())
    (HERE / "docword.bible.txt.gz").write_bytes(packed.getvalue())
    (HERE / "vocab.bible.txt").write_text("".join(f"{word}\n" for word in vocabulary))
    named = "".join(f"{title},{title.rpartition(' ')[0]}\n" for title, _ in documents)
    (HERE / "chapters.bible.csv").write_text(f"title,book\n{named}")


if __name__ == "__main__":
    main()
