"""Names of topics in labels.json: what is read, and what is refused in a line."""

import json

import pytest

from pysgrld.errors import CorpusError, MissingInputError
from pysgrld.reading.labels import Label, labels_of, read_labels, write_labels


def put(folder, content):
    path = folder / "labels.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_names_are_read_by_number_and_cleaned_of_what_garbles_a_terminal(tmp_path):
    """Red with: direction signs kept."""
    put(tmp_path, {"0": " <b>of\nkings</b> ", "3": "a\u202eb\x1b[1m", "2": "می\u200cخواهم"})
    expected = {0: "<b>of kings</b>", 3: "ab[1m", 2: "می\u200cخواهم"}
    assert labels_of(tmp_path, 4) == {k: Label(name) for k, name in expected.items()}


def test_names_are_read_as_they_were_written_and_by_whom(tmp_path):
    labels = {2: Label("sacrifice", "llm -m small"), 0: Label("gospels")}
    write_labels(tmp_path / "labels.json", labels)
    assert json.loads((tmp_path / "labels.json").read_text())["0"] == "gospels"
    assert labels_of(tmp_path, 4) == labels


def test_without_a_file_there_are_none(tmp_path):
    assert labels_of(tmp_path, 4) == {}
    with pytest.raises(MissingInputError, match="no such file"):
        read_labels(tmp_path / "labels.json", 4)


def test_the_folder_of_chains_names_the_topics_of_the_first(tmp_path):
    for number in (1, 2):
        (tmp_path / f"chain-{number}").mkdir()
        (tmp_path / f"chain-{number}" / "config.json").write_text("{}")
    put(tmp_path, {"1": "sacrifice"})
    assert labels_of(tmp_path / "chain-1", 4) == {1: Label("sacrifice")}
    assert labels_of(tmp_path / "chain-2", 4) == {}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON"),
        ("\xff", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        (["a"], "must be a JSON object"),
        ('{"1": "a", "1": "b"}', "is not JSON"),
        ({"4": "a"}, "no topic 4: topics are 0 to 3"),
        ({"9" * 5000: "a"}, "99999"),
        ({"01": "a"}, "'01' is not the number"),
        ({"-1": "a"}, "'-1' is not the number"),
        ({"٣": "a"}, "is not the number"),
        ({"1": 7}, "the name of topic 1 is not a text"),
        ({"1": {"name": "a"}}, "the name of topic 1 is not a text"),
        ({"1": {"name": "a", "by": 7}}, "the name of topic 1 is not a text"),
        ({"1": {"name": "", "by": "llm"}}, "the name of topic 1 is not a text"),
        ({"1": " \u202e"}, "the name of topic 1 is not a text"),
        ({"1": "x" * 1_000_000}, "has 1,000,000 characters; the maximum is 200"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(tmp_path, content, said):
    path = put(tmp_path, content)
    with pytest.raises(CorpusError) as caught:
        labels_of(tmp_path, 4)
    line = str(caught.value)
    assert line.startswith(f"{path}: ")
    assert said in line
    assert len(line) < 400
    assert "\n" not in line
