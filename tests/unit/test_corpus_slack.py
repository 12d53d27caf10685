"""Exports of Slack: a folder per channel with a file of messages per day."""

import json

import numpy as np
import pytest

from pysgrld.corpus import open_corpus
from pysgrld.corpus.formats import slack
from pysgrld.corpus.reading import CorpusOptions
from pysgrld.errors import CorpusError

PEOPLE = [
    {"id": "U1", "name": "ann", "profile": {"display_name": "Ann"}},
    {"id": "U2", "name": "bob", "real_name": "Bob Ray", "profile": {"display_name": ""}},
]
DAY = [
    {"user": "U1", "text": "Boats leave, <@U2> &amp; crew", "ts": "1704180000.000100"},
    {"subtype": "channel_join", "user": "U2", "text": "<@U2> joined", "ts": "1704180001.0"},
    {"user": "U2", "text": "See <https://a.org|the menu> <#C1|general>", "ts": "1704180060.000300"},
]


def export(folder, people=PEOPLE, day=DAY):
    """Write an export with one channel, and a channel with no message."""
    for name, content in {
        "channels.json": [{"id": "C1", "name": "general"}],
        "users.json": people,
        "general/2024-01-02.json": day,
        "general/canvas_in_the_conversation.json": [{"text": "no message"}],
        "random/2024-01-02.json": [],
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    return [str(folder)]


OPTIONS = CorpusOptions(min_df=1, max_df=1.0, stop_words="none", keep_text="all")


def test_messages_have_their_channel_user_and_time(tmp_path):
    """Red with: lists of channels read as documents; notices; keys of people as names."""
    notes = []
    corpus = open_corpus(
        export(tmp_path / "e"), OPTIONS, store=tmp_path / "s", log=lambda *n: notes.append(n[0])
    )
    rows = np.arange(corpus.documents)
    about = corpus.about
    assert about.ids(rows) == ["general/1704180000.000100", "general/1704180060.000300"]
    assert about.texts(rows) == ["Boats leave, @bob & crew", "See the menu https://a.org general"]
    assert {c.name: about.values(c.name, rows) for c in about.columns} == {
        "channel": ["general", "general"],
        "user": ["Ann", "Bob Ray"],
        "ts": ["2024-01-02T07:20:00", "2024-01-02T07:21:00"],
    }
    assert any("skipped 1 automatic notice from Slack" in note for note in notes)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"people": {"U1": 1}}, "not Slack's list of users"),
        ({"day": [{"text": "x"}]}, "with a time"),
    ],
)
def test_a_damaged_export_is_refused(tmp_path, changed, fault):
    """Red with: a traceback; a message without a time read as a document."""
    with pytest.raises(CorpusError, match=fault):
        open_corpus(export(tmp_path / "e", **changed), OPTIONS, store=tmp_path / "s")


def test_a_list_of_people_of_any_size_is_refused(tmp_path, monkeypatch):
    """Red with: the whole file read, whatever its size, and an error of the system let through."""
    monkeypatch.setattr(slack, "_LARGEST", 9)
    with pytest.raises(CorpusError, match=r"users\.json: this is larger than"):
        open_corpus(export(tmp_path / "e"), OPTIONS, store=tmp_path / "s")
