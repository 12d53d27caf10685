"""Lists of stop words, which are function words of a language and belong to no topic.

The lists have only closed classes (articles, pronouns, prepositions, conjunctions, auxiliaries, a
few adverbs of degree, time and place) and the parts of contractions that are split at the
apostrophe. Words like "system" or "fire", which longer lists contain, can belong to a topic.
"""

from __future__ import annotations

import contextlib
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib import import_module

from pysgrld.corpus.segment import SEGMENTERS
from pysgrld.errors import MissingInputError
from pysgrld.options.spelling import fold
from pysgrld.types import Int64s

_ENGLISH = """
the an this that these those such same other another others each every either neither both all any
some none no few fewer many more most much less least several enough own half
me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
she her hers herself it its itself they them their theirs themselves one ones oneself
who whom whose which what whoever whichever whatever someone somebody something anyone anybody
anything everyone everybody everything nobody nothing noone
am is are was were be been being do does did doing done have has had having
can could may might must shall should will would ought need cannot
about above across after against along alongside amid among amongst around as at before behind
below beneath beside besides between beyond but by concerning despite down during except for from
in inside into like near of off on onto out outside over past per regarding round since than
through throughout till to toward towards under underneath until up upon versus via with within
without
and or nor so yet if unless because although though while whilst whereas whether once lest
when whenever where wherever whence why how however hence thus therefore thereby therein thereof
thereafter whereby wherein whereupon hereby herein moreover furthermore nevertheless nonetheless
otherwise instead meanwhile
not never ever always often sometimes seldom usually already still just only even also too very
quite rather almost nearly again then there here now ago soon later indeed perhaps maybe else
elsewhere everywhere somewhere anywhere nowhere together apart away back forth further well
somehow anyhow anyway somewhat merely mostly largely mainly namely especially actually really
simply particularly respectively etc eg ie
don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn mustn needn mightn
shan ain ll ve re
dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt wont wouldnt couldnt shouldnt cant
"""

#: Languages for which the list in the package stop-words was reviewed. The values are words that
#: are removed from these lists, because they can belong to a topic. The other lists of the package
#: are not used: they are too long (Vietnamese, Persian), in a broken encoding (Turkish), without
#: accents (Romanian), or for ancient Greek.
_CONTENT = {
    "danish": "",
    "dutch": "",
    "finnish": (
        "apu asia asiaa asiaan asian asiasta asiat asioiden asioihin asioita avuksi avulla "
        "avun avutta kiitos käyttö"
    ),
    "french": "chose choses dos droite essai force grande mine mot nom nommé nommée nommés nouveau "
    "nouveaux parole personnes pièce valeur",
    "german": "",
    "indonesian": "",
    "italian": "comprare gente lavoro nome persone promesso triplo",
    "norwegian": "",
    "portuguese": (
        "caminho comprido corrente desligado direita estado horas ligado maioria maiorias "
        "nome povo quieto trabalhar trabalho valor verdade verdadeiro"
    ),
    "russian": "алло жизнь люди миллионов мира мор прекрасно процентов спасибо человек",
    "spanish": (
        "consigue conseguir emplear empleo estado estados fuerza gran grandes intento lugar "
        "mayor mejor momento sentido sentidos sentir tiempo total trabaja trabajais "
        "trabajamos trabajan trabajar trabajas trabajo valor verdad verdadera verdadero"
    ),
    "swedish": "beslut beslutat beslutit dag dagar dagarna dagen idag kr likställd likställda",
}

#: Languages with a list in the optional package stopwordsiso. The values are the codes by which the
#: package names these languages.
_ISO = {"arabic": "ar", "chinese": "zh", "japanese": "ja", "korean": "ko", "thai": "th"}
_CONTENT_OF_ISO = {"korean": "시간 양자 전자 시각 자기집 소생"}
#: Names of all lists.
NAMED = ("english", *_CONTENT, *_ISO)
#: Names of the lists by which the language of a text is detected.
COMPARED = ("english", *_CONTENT)

#: A text is in a language only if at least this number of different stop words of the language
#: occur in it. Any text has one or two of them by chance.
FEWEST_WORDS = 4


@cache
def named(name: str) -> frozenset[str]:
    """Return the stop words of a language, as the tokeniser spells them.

    Parameters
    ----------
    name : str
        One of `NAMED`.
    """
    if name == "english":
        return frozenset(_ENGLISH.split())
    if name in _ISO:
        return _of_iso(name)
    from stop_words import get_stop_words

    # Words with apostrophes or dots are left out. The tokeniser splits such words, and the list has
    # the parts too.
    words = {fold(word) for word in get_stop_words(name) if word.isalpha()}
    return frozenset(words - {fold(word) for word in _CONTENT[name].split()})


def _of_iso(name: str) -> frozenset[str]:
    """Return the stop words of a language from the optional package stopwordsiso.

    Chinese words are in simplified characters and, if OpenCC is installed, in traditional ones.

    Raises
    ------
    MissingInputError
        If the package is not installed.
    """
    try:
        library = import_module("stopwordsiso")
    except ImportError:
        raise MissingInputError(
            f"--stop-words {name}: this list needs the package stopwordsiso: pip install "
            "stopwordsiso"
        ) from None
    words = {word for word in library.stopwords(_ISO[name]) if word.isalpha() or name == "thai"}
    if name == "chinese":
        with contextlib.suppress(ImportError):
            convert = import_module("opencc").OpenCC("s2t").convert
            words |= {convert(word) for word in words}
    return frozenset(map(fold, words - {*_CONTENT_OF_ISO.get(name, "").split()}))


def likeliest(words: Sequence[str], tokens: Int64s) -> tuple[str, float, float] | None:
    """Guess the language of a text, as the language with stop words that cover most tokens.

    Parameters
    ----------
    words : sequence of str
        All words of the text, as the tokeniser spells them.
    tokens : (V,) int64
        Number of occurrences of each word.

    Returns
    -------
    (name, share, english) or None
        The language, and the fractions of the tokens that are in its list and in the English list.
        None if no list has more than a tenth of all tokens, and more than twice the tokens of the
        English list. A list is ignored if fewer than `FEWEST_WORDS` of its words occur.
    """
    total = int(tokens.sum())
    if not total:
        return None
    listed = frozenset[str]().union(*map(named, COMPARED))
    place = {word: i for i, word in enumerate(words) if word in listed}
    shares = {}
    for name in COMPARED:
        places = [place[word] for word in named(name) if word in place]
        shares[name] = int(tokens[places].sum()) / total if len(places) >= FEWEST_WORDS else 0.0
    best = max(COMPARED, key=lambda name: shares[name])
    english = shares["english"]
    return (best, shares[best], english) if shares[best] > max(0.1, 2 * english) else None


def warned_of_language(words: Sequence[str], tokens: Int64s) -> str | None:
    """Return a warning if only English stop words are removed from a text in another language."""
    if (likely := likeliest(words, tokens)) is None:
        return None
    language, share, english = likely
    return (
        f"this looks like {language.title()} ({100 * share:.0f} % of the tokens are "
        f"{language.title()} stop words), but English stop words ({100 * english:.0f} %) are "
        f"removed; give --stop-words {language}"
    )


def _scripts(words: Sequence[str], tokens: Int64s) -> Counter[str]:
    """Count the tokens in each script except Latin; the first letter of a token decides."""
    shares = Counter[str]()
    for word, count in zip(words, tokens.tolist(), strict=True):
        if word > "\u0370":  # The first letter is not Latin.
            shares[unicodedata.name(word[0], "").partition(" ")[0]] += count
    return shares


def warned_of_letters(words: Sequence[str], tokens: Int64s) -> str | None:
    """Return a warning if only English stop words are removed from a text in non-Latin letters.

    Parameters
    ----------
    words : sequence of str
        All words of the text, as the tokeniser spells them.
    tokens : (V,) int64
        Number of occurrences of each word.
    """
    total, shares = int(tokens.sum()), _scripts(words, tokens)
    script, share = max(shares.items(), key=lambda item: item[1], default=("", 0))
    if not total or share < _SHARE * total:
        return None
    give = "--stop-words FILE, with one word per line"
    if script.lower() in NAMED:
        packages = "" if script.lower() not in _ISO else " (pip install stopwordsiso)"
        give = f"--stop-words {script.lower()}{packages}, or a file"
    return (
        f"{100 * share / total:.0f} % of the tokens are in {script.title()} letters, but only "
        f"English stop words are removed; give {give}"
    )


_AT_BLANKS = "only at spaces, so whole phrases count as words"
#: Scripts in which the tokeniser may not find the words, each with three values. These are the
#: probable language of a text, a description of how the tokeniser splits it, and the value of
#: ``--segment`` that splits it better ("" if there is none). A script is named by the first word of
#: the Unicode names of its letters.
_SCRIPTS = {
    "HIRAGANA": (
        "Japanese",
        "between scripts, with kanji as overlapping pairs of characters",
        "japanese",
    ),
    "CJK": ("Chinese", "into overlapping pairs of characters, often not words", "chinese"),
    "HANGUL": ("Korean", "at spaces, so endings stay attached to the words", "korean"),
    "THAI": ("Thai", _AT_BLANKS, "thai"),
    "LAO": ("Lao", _AT_BLANKS, ""),
    "KHMER": ("Khmer", _AT_BLANKS, ""),
    "MYANMAR": ("Burmese", _AT_BLANKS, ""),
}
#: The user is warned if at least this fraction of the tokens are in a script in which the tokeniser
#: may not find the words.
_SHARE = 0.3
#: A text with Chinese characters counts as Japanese if at least this fraction of tokens is in kana.
_OF_KANA = 0.05


def warned_of_script(words: Sequence[str], tokens: Int64s) -> str | None:
    """Return a warning if the tokeniser does not split the language of a text well into words.

    Parameters
    ----------
    words : sequence of str
        All words of the text, as the tokeniser spells them.
    tokens : (V,) int64
        Number of occurrences of each word.
    """
    total, counts_by_script = int(tokens.sum()), _scripts(words, tokens)
    counts_by_script["HIRAGANA"] += counts_by_script["KATAKANA"]
    shares = {script: counts_by_script[script] for script in _SCRIPTS}
    greatest = max(shares, key=lambda script: shares[script])
    if not total or shares[greatest] < _SHARE * total:
        return None
    if greatest == "CJK" and shares["HIRAGANA"] > _OF_KANA * total:
        greatest = "HIRAGANA"
    script_name, how, language = _SCRIPTS[greatest]
    advice = "put spaces or zero-width spaces between the words"
    if language:
        packages = SEGMENTERS[language].needed
        advice = f"--segment {language} segments it into words (pip install {packages})"
    return f"this looks like {script_name}, which is split {how}; {advice}"
