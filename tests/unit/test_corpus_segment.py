"""Text without blanks between its words: cut by libraries that can, and said how where none does."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from listeners import Lines

from pysgrld import LDA
from pysgrld.corpus import CorpusOptions, open_corpus, segment
from pysgrld.corpus.segment import SEGMENTERS, Segmenter, segmented
from pysgrld.corpus.stopwords import NAMED, named, warned_of_script
from pysgrld.errors import MissingInputError, UsageError
from pysgrld.options.common import SEGMENTED

TEXTS = {
    "chinese": "自然語言處理是電腦科學的領域",
    "japanese": "東京大学で自然言語処理を研究しています。",
    "korean": "수학은 구조를 다루는 학문이다.",
    "thai": "ประเทศไทยมีเมืองหลวงคือกรุงเทพมหานคร",
}


def cut(name: str, text: str) -> list[str]:
    for package in SEGMENTERS[name].packages:
        pytest.importorskip({"sudachidict-core": "sudachidict_core"}.get(package, package))
    return segmented([text.encode()], name)[0].decode().split()


@pytest.fixture
def by_bars(monkeypatch):
    """A segmenter that cuts at bars, in place of the one of Thai; its package is one that is there."""
    made = Segmenter("english", ("numpy",), lambda: lambda text: iter(text.split("|")))
    monkeypatch.setitem(SEGMENTERS, "thai", made)
    segment._made.cache_clear()
    yield
    segment._made.cache_clear()


def read(tmp_path: Path, text: str, **more):
    said = Lines()
    (tmp_path / "x.txt").write_text(text)
    options = CorpusOptions(**{"min_df": 1, "max_df": 1.0} | more)
    return open_corpus(
        [str(tmp_path / "x.txt")], options, store=tmp_path / "s", log=said.append
    ), said


def test_the_options_are_the_segmenters():
    assert (*SEGMENTERS,) == SEGMENTED


def test_chinese_is_cut_into_words_as_they_are_written():
    """Red with: pairs of characters; traditional words that jieba does not know, letter by letter."""
    words = cut("chinese", TEXTS["chinese"])
    assert {"電腦", "領域"} <= set(words)
    assert "言處" not in words


def test_simplified_and_traditional_are_one_if_asked():
    for text in ("美國的電腦", "美国的电脑"):
        assert set(cut("chinese-simplified", text)) == {"美国", "电脑"}


def test_japanese_is_nouns_and_verbs_in_their_dictionary_form():
    assert {"東京", "大学", "研究"} <= set(words := cut("japanese", TEXTS["japanese"]))
    assert not {"で", "を", "する", "ます"} & set(words)
    assert "咲く" in cut("japanese", "花が咲いた")


def test_korean_has_no_endings():
    assert {"수학", "구조", "다루다", "학문"} <= set(words := cut("korean", TEXTS["korean"]))
    assert not [word for word in words if word.endswith(("은", "를", "는"))]


def test_thai_is_words():
    """Red with: Python's word characters, which break at every vowel sign."""
    assert {"ประเทศ", "ไทย", "กรุงเทพมหานคร"} <= set(cut("thai", TEXTS["thai"]))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("english", "Children's houses were better!", ["child", "house", "be", "good"]),
        ("german", "Die Häuser der Kinder", ["der", "Haus", "der", "Kind"]),
        pytest.param("finnish", "taloissa", ["talo"], marks=pytest.mark.nightly),  # as german
        pytest.param("russian", "домами людей", ["дом", "человек"], marks=pytest.mark.nightly),
        pytest.param("norwegian", "husene", ["hus"], marks=pytest.mark.nightly),
    ],
)
def test_words_between_blanks_are_in_their_dictionary_form(name, text, words):
    """Red with: German without its capitals (die, haus); words of one letter."""
    assert cut(name, text) == words


def test_a_corpus_of_dictionary_forms_has_the_stop_words_of_its_language_once(tmp_path):
    pytest.importorskip("simplemma")
    corpus, said = read(
        tmp_path, "The children are in houses\nA house is a house\n", segment="english"
    )
    assert set(corpus.vocabulary) == {"child", "house"}
    assert re.search(
        r"segmented into words by simplemma [\d.]+; stop words removed: english$", said[0]
    )


@pytest.mark.parametrize("name", TEXTS)
def test_each_language_has_a_stop_list(name):
    pytest.importorskip("stopwordsiso")
    assert name in NAMED
    assert len(named(name)) > 40


def test_a_corpus_is_of_the_words_that_were_cut(tmp_path, by_bars):
    """Red with: words cut again by the tokeniser; its stop words left in; a record without it."""
    corpus, said = read(tmp_path, "主题模型|的|3D|the\nกขค|x|主题模型|2018|77\n", segment="thai")
    assert set(corpus.vocabulary) == {"主题模型", "3d", "กขค", "2018"}
    assert "segmented into words by numpy" in said[0]
    assert corpus.reading["segment"] == "thai"
    assert CorpusOptions.over(corpus.reading, {}).cuts == "thai"


def test_japanese_has_words_of_one_character_that_are_not_latin(monkeypatch):
    """Red with: options -f and -r of manual pages among the top words."""
    made = Segmenter("japanese", ("numpy",), lambda: lambda text: iter(text.split("|")))
    monkeypatch.setitem(SEGMENTERS, "japanese", made)
    segment._made.cache_clear()
    found = segmented(["花|f|を見る|r|7|ls".encode()], "japanese")
    segment._made.cache_clear()
    assert found[0].decode().split() == ["花", "を見る", "ls"]


def test_a_bad_document_is_still_told_of(tmp_path, by_bars):
    (tmp_path / "y.txt").write_bytes(b"aa|bb\n\xff|cc\ndd|\0\n")
    options = CorpusOptions(min_df=1, max_df=1.0, segment="thai", on_bad_document="skip")
    corpus = open_corpus([str(tmp_path / "y.txt")], options, store=tmp_path / "s")
    assert corpus.provenance["skipped"] == {"NUL": 1, "not UTF-8": 1}


def test_new_texts_of_a_model_are_cut_the_same_way(tmp_path, by_bars):
    """Red with: a run that was loaded, whose texts are cut by the tokeniser."""
    from click.testing import CliRunner

    from pysgrld.cli import main

    (tmp_path / "x.txt").write_text("主题模型|电脑学\n主题模型|语言学\n" * 10)
    typed = ["train", str(tmp_path / "x.txt"), "--segment", "thai", "-k", "2", "--iterations", "5"]
    typed += ["--holdout", "0", "--max-df", "1.0", "--out", str(tmp_path / "run"), "--threads", "1"]
    done = CliRunner().invoke(main, typed)
    assert done.exit_code == 0, done.output
    model = LDA.load(tmp_path / "run")
    assert model._known_documents(["主题模型|其他"]).counts.tolist() == [1]


def test_a_library_that_is_not_there_is_named(tmp_path, monkeypatch):
    for module in ("jieba", "stopwordsiso"):
        monkeypatch.setitem(sys.modules, module, None)
    segment._made.cache_clear()
    with pytest.raises(
        MissingInputError, match=r"--stop-words chinese: .*pip install stopwordsiso"
    ):
        named.__wrapped__("chinese")
    with pytest.raises(
        MissingInputError, match=r"needs jieba and opencc: pip install jieba opencc stopwordsiso"
    ):
        read(tmp_path, "a text\n", segment="chinese", stop_words="none")


@pytest.mark.parametrize("other", [{"token_pattern": "x"}, {"phrases": ("a b",)}])
def test_what_else_says_what_words_are_is_refused_beside_it(other):
    with pytest.raises(UsageError, match="--segment cannot be combined"):
        CorpusOptions(segment="thai", **other)
    CorpusOptions(segment="none", **other)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "自然語言處理是電腦科學的領域\n",
            "looks like Chinese, which is split into overlapping pairs",
        ),
        ("コンピュータの性能を評価することについて\n", "looks like Japanese"),
        (
            "수학은 구조를 다루는 학문이다\n",
            "looks like Korean, which is split at spaces, so endings stay",
        ),
        ("ประเทศไทยมีเมืองหลวงคือกรุงเทพ\n", "looks like Thai, which is split only at spaces"),
    ],
)
def test_without_it_a_line_says_how_the_text_was_cut_and_what_to_install(tmp_path, text, said):
    """Red with: "english stop words left out", and nothing else."""
    _, lines = read(tmp_path, text * 3)
    assert said in lines[0]
    assert "--segment " in lines[0]
    assert re.search(r"pip install \w+.* stopwordsiso\)", lines[0])
    assert "english" not in lines[0]


def test_a_few_words_of_another_script_are_no_text_of_it():
    words = ["topic", "model", "主题"]
    assert warned_of_script(words, np.array([5, 5, 2])) is None
    assert warned_of_script(words, np.array([1, 1, 2])) is not None
    assert warned_of_script([], np.zeros(0, np.int64)) is None
