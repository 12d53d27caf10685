"""Seed words as they are given: files, mappings, and what is found of them in a vocabulary."""

import numpy as np
import pytest

from pysgrld.errors import CorpusError, MissingInputError, UsageError
from pysgrld.models.lda.resolved import LDAOptions
from pysgrld.models.options import OPTIONS, check_usage
from pysgrld.models.resolve import resolve
from pysgrld.models.seeds import prior_seed_counts, unknown_seeds
from pysgrld.options.common import SHARED, format_value
from pysgrld.options.option import Facts
from pysgrld.options.time import TIME
from pysgrld.options.word_files import SEEDS, read_seed_words, seed_words

WORDS = ["game", "games", "Gamma", "team", "nasa", "new_york", "odd*"]
FACTS = Facts(10, len(WORDS), 600, 0, lambda *_: len(WORDS), WORDS)


def resolved(seeds, **given):
    options = {"topics": 3, "seed-words": seeds} | {
        n.replace("_", "-"): v for n, v in given.items()
    }
    return resolve(options, FACTS).options


def put(folder, content):
    path = folder / "seeds"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


@pytest.mark.parametrize(
    "content",
    [
        "# mine\nsport: team game*\n\nouter  space: nasa, orbit\n",
        '{"sport": ["team", "game*"], "outer space": ["nasa", "orbit", "nasa"]}',
        "\ufeffsport:team game* team\r\nouter space:nasa orbit\r\n",
    ],
)
def test_lines_and_json_are_read_in_their_order(tmp_path, content):
    found = read_seed_words(put(tmp_path, content))
    assert found == (("sport", ("team", "game*")), ("outer space", ("nasa", "orbit")))
    assert format_value("seed-words", found) == "sport: team game*; outer space: nasa orbit"


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("phrases", ["new york"], "1 phrase ("),
        ("phrases", ("new york", "red wine"), "2 phrases ("),
        ("seed-words", [["sport", [["team", 3]]]], "sport: team"),
        ("seed-words", [["sport"]], [["sport"]]),  # of a record that is damaged
        ("eta", (0.1,), (0.1,)),
    ],
)
def test_lists_of_words_are_shown_in_a_line(name, value, shown):
    """Red with: an option that says nothing of it; a damaged record that raises."""
    found = format_value(name, value)
    assert found.startswith(shown) if isinstance(shown, str) else found == shown


def test_no_family_has_an_option_that_is_spelled_where_nobody_looks():
    """Red with: an option outside of `pysgrld.options` that says how it is spelled."""
    assert {name for name, option in OPTIONS.items() if option.spell} <= {
        **SHARED,
        **SEEDS,
        **TIME,
    }.keys()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no topic"),
        ("# nothing\n", "no topic"),
        ("{}", "no topic"),
        ("sport team\n", "line 1 has no colon"),
        ("a: b\nsport:\n", "line 2 has no word"),
        (": team", "not a topic name"),
        ("a: b\na: c", "'a' occurs twice"),
        ('{"a": ["b"], "a": ["c"]}', "'a' occurs twice"),
        ("a: *", "not a word"),
        ("a: b*c", "may occur only after the first letters"),
        ('{"a": "b"}', "no list of words"),
        ('{"a": []}', "no list of words"),
        ('{"a": [null]}', "not a word"),
        ('{"a": [true]}', "not a word"),
        ('{"a": ["\\u001b[1m"]}', "not a word"),
        ('["a"]', "is not a JSON object"),
        ('{"a": ["b"', "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        (b"a: b\nc: \xff", r"seeds:2: the file is not UTF-8; save it as UTF-8"),
        (f"{'a' * 300}: b", "has 300 characters"),
        (b"a: b " * (4 << 20), "is larger than"),
    ],
)
def test_a_damaged_file_is_refused_in_a_line(tmp_path, content, said):
    with pytest.raises(CorpusError, match=said) as refused:
        read_seed_words(put(tmp_path, content))
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize("name", ["missing", ".", "a\0b"])
def test_a_file_that_cannot_be_read_is_said(tmp_path, name):
    with pytest.raises(MissingInputError, match="--seed-words"):
        read_seed_words(f"{tmp_path}/{name}")


def test_words_are_found_as_written_or_folded_and_by_their_beginning():
    """Red with: words that are not folded; a * taken for any sign; a word that ends in * not found."""
    options = resolved({"a": ["GAME", "team"], "b": ["gam*", "game"], "c": ["odd*", "Gamma", 4]})
    assert [[i for _, i in words] for _, words in options.seed_words] == [[0, 3], [0, 1], [2, 4, 6]]
    assert options.seed_weight == 0.01
    # as a run has recorded them
    again = resolved(options.plain()["seed-words"])
    assert again.seed_words == options.seed_words
    assert LDAOptions.from_values(options.plain(), options.settings) == options


def test_unknown_seeds_are_said_and_a_topic_of_them_alone_is_refused():
    assert unknown_seeds({"a": ["team", "x", "y*"]}, WORDS) == (
        "--seed-words: ignored 2 seeds that are not among the 7 words of the corpus: x y*"
    )
    assert unknown_seeds({"a": ["team"]}, WORDS) is None
    assert unknown_seeds(None, WORDS) is None
    with pytest.raises(UsageError, match="no seed of topic 'b' is among the 7 words"):
        resolved({"a": ["team"], "b": ["x", "y*", 7]})


def test_more_names_than_topics_are_refused():
    with pytest.raises(UsageError, match="has 4 topics, but the model has 3"):
        resolved({name: ["team"] for name in "abcd"})


@pytest.mark.parametrize("algo", ["dpmm", "sam"])
def test_models_without_topics_over_words_refuse_seeds(algo):
    with pytest.raises(UsageError, match="--seed-words does not apply to --model"):
        check_usage({"model": algo, "seed-words": (("a", ("b",)),)})


def test_a_weight_without_seeds_is_refused():
    with pytest.raises(UsageError, match="requires --seed-words"):
        check_usage({"seed-weight": 0.1})


def test_prior_counts_are_a_share_of_an_average_topic_split_evenly():
    """A word may seed several topics. Red with: N for N/K; not split; cells of one topic added up."""
    options = resolved({"a": ["game", "team"], "b": ["game"]}, seed_weight=0.5)
    seeds = prior_seed_counts(options.seed_words, options.seed_weight, options.topics, 600)
    assert seeds.rows.tolist() == [0, 3]
    assert seeds.rows.dtype == np.int32
    np.testing.assert_array_equal(seeds.counts, [[50.0, 100.0, 0.0], [50.0, 0.0, 0.0]])


def test_seeds_of_no_weight_are_no_prior():
    none = resolved({"a": ["game"]}, seed_weight=0.0)
    assert prior_seed_counts(none.seed_words, none.seed_weight, none.topics, 600) is None
    with pytest.raises(UsageError, match="no topic"):
        seed_words([])
