"""Segmentation of text into words by optional libraries, which may also give dictionary forms.

Chinese is segmented by jieba, which knows simplified characters; OpenCC first converts traditional
characters. Japanese is segmented by SudachiPy and Korean by Kiwi. These libraries also give
dictionary forms and parts of speech, by which particles, endings, auxiliaries and numerals are left
out. Thai is segmented by PyThaiNLP. In languages with blanks between words, text is split as by the
tokeniser, and simplemma gives the dictionary forms of the words.
"""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from pysgrld.errors import MissingInputError
from pysgrld.options.spelling import visible, word_pattern

#: Pattern of a word in segmented text, which has blanks between words.
BETWEEN_BLANKS = re.compile(r"\S+")
#: Parts of speech of the Korean words that are kept: nouns, verbs, adjectives, roots, and words in
#: Latin letters or Chinese characters.
_KOREAN = ("NNG", "NNP", "VV", "VA", "XR", "SL", "SH")
#: Parts of speech of the Japanese words that are kept. Each part of speech is given by the first
#: two levels of its name.
_JAPANESE = (
    ("名詞", "普通名詞"),
    ("名詞", "固有名詞"),
    ("動詞", "一般"),
    ("形容詞", "一般"),
    ("形状詞", "一般"),
)

Cut = Callable[[str], Iterator[str]]


class Segmenter(NamedTuple):
    """Description of a library that segments text in a language into words.

    Attributes
    ----------
    stop_words : str
        Name of the list of stop words of the language.
    packages : tuple of str
        Packages that must be installed, first the package that segments text.
    make : callable
        Imports the library, and returns the function that segments a text.
    more : tuple of str
        Packages that must be installed for the list of stop words.
    """

    stop_words: str
    packages: tuple[str, ...]
    make: Callable[[], Cut]
    more: tuple[str, ...] = ("stopwordsiso",)

    @property
    def needed(self) -> str:
        """Names of the packages to install for segmentation and stop words, separated by blanks."""
        return " ".join((*self.packages, *self.more))

    @property
    def called(self) -> str:
        """Name and version of the library that segments text."""
        from importlib import metadata

        return f"{self.packages[0]} {metadata.version(self.packages[0])}"


def _chinese(simplified: bool) -> Cut:
    jieba, opencc = import_module("jieba"), import_module("opencc")
    jieba.setLogLevel(60)
    convert = opencc.OpenCC("t2s").convert

    def cut(text: str) -> Iterator[str]:
        converted = convert(text)
        end = 0
        for word in jieba.cut(converted):
            begin, end = end, end + len(word)
            yield word if simplified or len(converted) != len(text) else text[begin:end]

    return cut


def _japanese() -> Cut:
    sudachi = import_module("sudachipy")
    book = sudachi.Dictionary(dict="core")
    # Old versions of the library lack `tokenizer`.
    make = getattr(book, "tokenizer", None) or book.create
    tokenizer, mode = make(), sudachi.SplitMode.B
    # Maximum number of characters that are segmented at a time, because the library limits the
    # bytes of a text.
    most = 10_000

    def cut(text: str) -> Iterator[str]:
        for line in text.splitlines():
            for begin in range(0, len(line), most):
                for morpheme in tokenizer.tokenize(line[begin : begin + most], mode):
                    kind = tuple(morpheme.part_of_speech())
                    if kind[:2] in _JAPANESE:
                        word = morpheme.dictionary_form()
                        if len(word) > 1 or kind[:3] == ("名詞", "普通名詞", "一般"):
                            yield word

    return cut


def _korean() -> Cut:
    kiwi = import_module("kiwipiepy").Kiwi(num_workers=1)

    def cut(text: str) -> Iterator[str]:
        for morpheme in kiwi.tokenize(text):
            # Tags of irregular verbs have a suffix, which is removed.
            if morpheme.tag.partition("-")[0] in _KOREAN:
                yield morpheme.lemma

    return cut


def _thai() -> Cut:
    # Without this setting, PyThaiNLP would create a folder in the home directory.
    os.environ.setdefault("PYTHAINLP_READ_ONLY", "1")
    tokenize: Any = import_module("pythainlp.tokenize").word_tokenize
    return lambda text: iter(tokenize(text, engine="newmm", keep_whitespace=False))


def _lemmas(code: str) -> Cut:
    lemmatize = import_module("simplemma").lemmatize

    def cut(text: str) -> Iterator[str]:
        for word in word_pattern().findall(unicodedata.normalize("NFC", text)):
            if len(word) > 1:
                yield lemmatize(word, lang=code)

    return cut


def _with_blanks(language: str, code: str) -> Segmenter:
    return Segmenter(language, ("simplemma",), lambda: _lemmas(code), ())


#: ISO codes of languages that have blanks between words, and for which there is a list of stop
#: words.
_CODES = {
    **{"danish": "da", "dutch": "nl", "english": "en", "finnish": "fi", "french": "fr"},
    **{"german": "de", "indonesian": "id", "italian": "it", "norwegian": "nb"},
    **{"portuguese": "pt", "russian": "ru", "spanish": "es", "swedish": "sv"},
}
#: The segmenter for each value of the option ``--segment``.
SEGMENTERS = {
    "chinese": Segmenter("chinese", ("jieba", "opencc"), lambda: _chinese(False)),
    "chinese-simplified": Segmenter("chinese", ("jieba", "opencc"), lambda: _chinese(True)),
    "japanese": Segmenter("japanese", ("sudachipy", "sudachidict-core"), _japanese),
    "korean": Segmenter("korean", ("kiwipiepy",), _korean),
    "thai": Segmenter("thai", ("pythainlp",), _thai),
    **{language: _with_blanks(language, code) for language, code in _CODES.items()},
}
#: Lock, so that texts are segmented one at a time. Some libraries are not thread-safe, and all of
#: them keep Python's global lock, so threads would gain nothing.
_ONE = threading.Lock()


@cache
def _made(name: str) -> Cut:
    segmenter = SEGMENTERS[name]
    try:
        return segmenter.make()
    except ImportError:
        raise MissingInputError(
            f"segmenting text into words ({name}) needs {' and '.join(segmenter.packages)}: pip "
            f"install {segmenter.needed}"
        ) from None


def segmented(documents: list[bytes], name: str) -> list[bytes]:
    """Segment documents; return the words of each document, joined by blanks.

    A word has at least two characters, except for Japanese nouns, which may have one. A text that
    is not UTF-8, or has a NUL, stays unchanged and is reported later.

    Parameters
    ----------
    documents : list of bytes
    name : str
        One of `SEGMENTERS`.

    Raises
    ------
    MissingInputError
        If the library is not installed.
    """
    with _ONE:
        cut, forms = _made(name), []
        for document in documents:
            try:
                text = document.decode("utf-8")
            except UnicodeDecodeError:
                forms.append(document)
                continue
            if "\0" in text:
                forms.append(document)
                continue
            words = (word.strip() for word in cut(visible(text)))
            # In Japanese, a noun may be a single character, but not a single Latin letter.
            alone = name == "japanese"
            parts_kept = (
                w
                for w in words
                if (len(w) > 1 or (alone and not w.isascii())) and any(c.isalnum() for c in w)
            )
            forms.append(" ".join(parts_kept).encode("utf-8"))
        return forms
