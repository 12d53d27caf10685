"""Reader for exports of Slack, in which each message is a document.

An export has a folder for each channel, in which a file for each day is a JSON array of messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pysgrld.corpus.formats.json_elements import ARRAY, Elements
from pysgrld.corpus.formats.protocol import BadDocument, Context, Texts
from pysgrld.corpus.formats.record_texts import Numbered, texts_of
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError, Message, plural
from pysgrld.options.paths import read_input

#: Name of the file that lists the people of an export.
_PEOPLE = "users.json"
#: Names of the files that list the channels of an export.
_CHANNELS = ("channels.json", "groups.json", "dms.json", "mpims.json")
#: Maximum size in bytes of the list of people.
_LARGEST = 1 << 26
#: Files with names of this pattern have the messages of one day.
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")
#: Pattern of the code in a message that stands for a link, a person, a channel or a group. The code
#: may contain the text that Slack shows for it.
_MARK = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
#: Kinds of messages that people or programs write. All other kinds are notices of Slack, for
#: example that a person has joined.
_WRITTEN = (None, "bot_message", "me_message", "thread_broadcast", "file_share", "file_comment")
_FIELDS = ("id", "text", "channel", "user", "ts")


def export_in(folder: Path) -> Export | None:
    """Open a folder as an export of Slack; return None for any other folder."""
    return Export(folder) if is_export(folder) else None


def is_export(folder: Path) -> bool:
    """Return True if a folder has the lists of people and channels of an export of Slack."""
    has_channels = any((folder / name).is_file() for name in _CHANNELS)
    return has_channels and (folder / _PEOPLE).is_file()


def days_of(folder: Path, files: Sequence[Path]) -> list[Path]:
    """Return the files of an export that contain messages."""
    return [file for file in files if _DAY.fullmatch(file.name) and file.parent.parent == folder]


class Export:
    """Reader of messages in an export of Slack; it replaces the ids of users by their names.

    Parameters
    ----------
    folder : Path

    Attributes
    ----------
    notices : int
        Number of notices of Slack so far, which are left out.

    Raises
    ------
    CorpusError
        If the list of people is damaged or too large.
    MissingInputError
        If the list of people cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.notices, self._folder = 0, folder
        data = read_input(folder / _PEOPLE, _LARGEST, "list of people")
        try:
            people = json.loads(data)
            self._people = {person["id"]: person for person in people}
        except (ValueError, TypeError, KeyError, RecursionError):
            raise CorpusError(
                "this is not Slack's list of users; export the folder again", folder / _PEOPLE
            ) from None

    def remarks(self) -> Iterator[Message]:
        """Yield a message with the number of Slack's automatic notices that were skipped."""
        if self.notices:
            n_notices = plural(self.notices, "automatic notice")
            yield Message(f"{self._folder}: skipped {n_notices} from Slack, such as 'X has joined'")

    def read(self, source: Lines, context: Context) -> Iterator[Texts]:
        """Yield one document per message of a file; columns include channel, user and time."""
        yield from texts_of(self._messages(source, context), source, context, "message", _FIELDS)

    def _messages(self, source: Lines, context: Context) -> Iterator[Numbered]:
        channel = Path(source.label).parent.name
        elements = Elements(source, context.options).elements(ARRAY, context.log)
        for number, (message, _) in enumerate(elements, 1):
            try:
                if message.get("subtype") not in _WRITTEN:
                    self.notices += 1
                    continue
                time = datetime.fromtimestamp(float(message["ts"]), UTC)
                yield (
                    number,
                    {
                        "id": f"{channel}/{message['ts']}",
                        "text": self._plain(message.get("text") or ""),
                        "channel": channel,
                        "user": self._name(message),
                        "ts": time.strftime("%Y-%m-%dT%H:%M:%S"),
                    },
                )
            except (AttributeError, KeyError, TypeError, ValueError, OverflowError, OSError):
                yield (
                    number,
                    BadDocument(
                        "no message",
                        "this is not a Slack message with a time (ts); export the folder again",
                    ),
                )

    def _name(self, message: dict[str, Any]) -> str | None:
        """Return the name that Slack shows for the author of a message."""
        key = message.get("user") or message.get("bot_id")
        person = self._people.get(key, {})
        profile = person.get("profile") or message.get("user_profile") or {}
        names = (profile.get("display_name"), profile.get("real_name"), person.get("real_name"))
        return next(filter(None, (*names, person.get("name"), message.get("username"), key)), None)

    def _plain(self, text: str) -> str:
        """Replace the codes for links, people, channels and characters in the text of a message."""
        text = _MARK.sub(self._shown, text)
        return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")

    def _shown(self, mark: re.Match[str]) -> str:
        target, label = mark[1], mark[2] or ""
        if target.startswith("@"):
            name = label or self._people.get(target[1:], {}).get("name") or target[1:]
            return "@" + name.lstrip("@")
        return label if target[0] in "#!" else f"{label} {target}".strip()
