"""Choice of the text, id and title fields of records, and joining of several text fields to one."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from pysgrld.corpus.about.details import WantedFields
from pysgrld.corpus.deferred import deferred
from pysgrld.corpus.formats.names_of_fields import other_names
from pysgrld.corpus.formats.protocol import Context, field_names
from pysgrld.corpus.reading import USUAL_TEXT_FIELD
from pysgrld.errors import CorpusError

#: Usual names of the text field, in the spelling of `plain_names`. The first name in this list that
#: a file has is chosen.
NAMES = (
    *(USUAL_TEXT_FIELD, "abstract", "abstractnote", "abstracttext", "paperabstract", "ab"),
    *("body", "bodytext", "content", "fulltext", "selftext", "textoriginal"),
    "abstractinvertedindex",  # in OpenAlex
    "unigramcount",  # Files of Constellate have words with their counts in this field.
)
#: Names of fields that are chosen as the text field only if the file has no other text field.
_LAST_NAMES = ("description", "summary")
#: Usual names of the id field, which are used if the user has not named this field.
_IDS = ("id", "key")
#: Usual names of the title field, which are used if the user has not named this field.
_TITLES = ("title", "ti")
#: Name of the title field in mail. In a table, a column "subject" may name a person or a school
#: subject, so its values are not used as titles.
MAIL_TITLE = "subject"
#: Names of fields that are chosen as the id field only if their values differ between the first
#: records.
_NUMBERS_OF_WORKS = ("ut", "pmid", "docno")
#: Minimum number of columns of a table of counts.
_COLUMNS = 3
#: Usual names of a column with counts.
_COUNTS = ("count", "counts", "n", "freq", "frequency", "tf", "occurrences")
#: Maximum number of records at the start of a file that are examined.
SAMPLED = 200
#: A field has long texts only if its texts have at least this mean number of characters.
CHARACTERS = 40
#: A field has long texts only if its texts have at least this mean number of words.
WORDS = 4
#: A field has long texts only if they are on average at least this many times as long as the texts
#: of any other field.
TIMES = 3
#: If two texts are joined, this text is put between them. It is a blank line, which separates
#: paragraphs.
JOINT = b"\n\n"

#: Letters of scripts without blanks between words. Each of these letters counts as a word.
_SOLID = r"\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff"
_WORD = deferred(rf"[{_SOLID}]|[^\s{_SOLID}]+")
_CLOCK = re.compile(r"\d:\d\d")
_NUMBER = re.compile(r"\s*[-+]?[0-9]+(?:[.,][0-9]+)?\s*")


def chosen(
    context: Context,
    label: str,
    names: Sequence[str],
    records: Iterable[Mapping[str, Any]],
    title: str = "title",
) -> Context:
    """Choose the text, id and title fields of a file; return a context that names these fields.

    Parameters
    ----------
    context : Context
        Context of the reader. The chosen text field is logged by `context.log`.
    label : str
        Name of the file in messages.
    names : sequence of str
        Names of the fields in the records of the file.
    records : iterable of mapping
        The first records of the file.
    title : str
        Name of the title field in this format.

    Raises
    ------
    CorpusError
        If several fields have the name of the text field, or the file looks like a table of counts.
    """
    wanted, noticed = context.wanted, context.noticed
    if wanted.text is None:
        # Ids are needed even without texts, because they match documents to metadata.
        if wanted.id in wanted.named:
            context = context._replace(wanted=wanted._replace(id=_name_here(wanted.id, names)))
        return context
    text, rows = wanted.text, list(islice(records, SAMPLED))
    if text and ",".join(text) in names:
        text = (",".join(text),)  # The name of a single field contains commas.
    if not text:
        words = [name for name in names if not _numbers(name, rows)]
        field = usual(words, NAMES) or _usual_within(words) or long_text(words, rows)
        field = field or usual(words, _LAST_NAMES)
        if field is None and _are_counts(names, words, rows):
            raise CorpusError(
                "no column contains text; the table seems to contain counts "
                f"({field_names(names)}); save the counts as a sparse matrix, one row per "
                "document (scipy.sparse.save_npz, or Matrix Market), and give the words with "
                "--vocab",
                label,
            )
        text = (field or USUAL_TEXT_FIELD,)
        if field not in (None, USUAL_TEXT_FIELD) and field not in noticed.text_fields.values():
            remark = f"{label}: the text is in the field {field!r}"
            context.log(f"{remark} (choose others with --text-field NAME or NAME,NAME)")
        if field:
            noticed.text_fields[label] = field
    text = tuple(_name_here(name, names) for name in text)
    for name in text:
        if names.count(name) > 1:
            raise CorpusError(
                f"the header has more than one field {name[:40]!r}; rename one", label, 1
            )
    keys = [*_IDS, *(name for name in _NUMBERS_OF_WORKS if _is_key(usual(names, [name]), rows))]
    columns = [
        _name_here(name, names)
        if name in wanted.named or name in names
        else usual(names, known) or name
        for name, known in ((wanted.id, keys), (wanted.title, (*_TITLES, title)))
    ]
    return context._replace(wanted=wanted._replace(text=text, id=columns[0], title=columns[1]))


def _usual_within(names: Sequence[str]) -> str | None:
    """Return the nested field, such as tweet.full_text, that has a usual name of a text field."""
    last = {name: _plain(name.rpartition(".")[2]) for name in names if "." in name}
    for known in NAMES:
        if len(same := [name for name, plain in last.items() if plain == known]) == 1:
            return same[0]
    return None


def with_nested_names(
    names: Sequence[str], records: Sequence[Mapping[str, Any]]
) -> tuple[list[str], list[dict[str, Any]]]:
    """Add nested fields to field names and records, unless a top-level field can be the text."""
    if usual(names, NAMES) or long_text(names, records):
        return [*names], [dict(record) for record in records]
    flat = [{**record, **_flattened(record)} for record in records]
    return list(dict.fromkeys([*names, *(name for record in flat for name in record)])), flat


def _flattened(record: Mapping[str, Any], above: str = "", depth: int = 3) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict) and depth:
            fields |= _flattened(value, f"{above}{name}.", depth - 1)
        elif above:
            fields[f"{above}{name}"] = value
    return fields


def called_otherwise(wanted: WantedFields, names: Sequence[str]) -> dict[str, list[str]]:
    """Map requested fields that a file lacks to equivalent fields, such as year to PY."""
    return {
        name: same
        for name in (wanted.id, wanted.title, *wanted.columns)
        if name not in names and (same := [n for n in _names_here(name, names) if n in names])
    }


def _name_here(name: str, names: Sequence[str]) -> str:
    """Return the name that a requested field has in the file, such as PY for year."""
    return next((n for n in _names_here(name, names) if n in names), name)


def _names_here(name: str, names: Sequence[str]) -> list[str]:
    """Return all names that a field may have in a file, in the order of preference."""
    known = (name, *other_names(name))
    return [*known, usual(names, [*map(_plain, known)]) or name]


def _are_counts(
    names: Sequence[str], words: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> bool:
    """Return True if a table has counts: a column for each word, or a last column of counts.

    Parameters
    ----------
    names : sequence of str
    words : sequence of str
        Names of the columns that have other values than numbers.
    rows : sequence of mapping
    """
    if len(rows) < 2 or len(names) < _COLUMNS:
        return False
    last = plain_names(names[-1:])[0]
    return len(words) <= 1 or (
        len(names) == _COLUMNS and last in _COUNTS and names[-1] not in words
    )


def _is_key(name: str | None, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if all records have different, non-empty values of a field."""
    values = {str(row.get(name) or "").strip() for row in rows} if name else set()
    return len(values) == len(rows) > 0 and "" not in values


def _numbers(name: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if a field's values are all numbers or missing, and at least one is present."""
    values = [value for row in rows if (value := row.get(name)) not in (None, "")]
    return bool(values) and all(
        isinstance(value, int | float) or (isinstance(value, str) and _NUMBER.fullmatch(value))
        for value in values
    )


def usual(names: Sequence[str], accepted: Sequence[str]) -> str | None:
    """Return the first accepted name that occurs among a file's fields, as the file spells it.

    Case, blanks and punctuation are ignored.

    Parameters
    ----------
    names : sequence of str
        Names of the fields of a file.
    accepted : sequence of str
        Accepted names in the spelling of `plain_names`, the preferred name first.

    Returns
    -------
    str or None
        The name in the spelling of the file, or None if the file has no such name.
    """
    if len(matches := [name for name in names if name == accepted[0]]) == 1:
        return matches[0]
    plain = plain_names(names)
    once = Counter(plain)
    return next((names[plain.index(name)] for name in accepted if once[name] == 1), None)


def plain_names(names: Iterable[str]) -> list[str]:
    """Reduce field names to their letters and digits, in lower case, so that they can be compared.

    Parameters
    ----------
    names : iterable of str
        Names as a file has them.

    Returns
    -------
    list of str
        The reduced names, in the order of the names.
    """
    return [_plain(name) for name in names]


def _plain(name: str) -> str:
    plain = re.sub(r"[\W_]", "", name.casefold())
    # A name with one or two letters keeps its punctuation: "a,b" is not the name of the field AB.
    return plain if len(plain) > 2 else name.casefold().strip()


def long_text(names: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the only field with long texts, or None if no field or several fields have them."""
    rows = list(islice(records, SAMPLED))
    lengths: dict[str, float] = {}
    for name in dict.fromkeys(names):
        values = [v for row in rows if isinstance(v := row.get(name), str) and v.strip()]
        if all(len(v) < CHARACTERS and _CLOCK.search(v) for v in values):
            continue  # The values are dates or times, not texts.
        if values and _mean([len(_WORD.findall(value)) for value in values]) >= WORDS:
            lengths[name] = _mean([*map(len, values)])
    longest = sorted(lengths, key=lambda name: lengths[name], reverse=True)
    if not longest or lengths[longest[0]] < CHARACTERS:
        return None
    if len(longest) > 1 and lengths[longest[0]] < TIMES * lengths[longest[1]]:
        return None
    return longest[0]


def _mean(numbers: Sequence[int]) -> float:
    return sum(numbers) / len(numbers)


def joined(texts: Iterable[bytes]) -> bytes:
    """Join the texts of a record's text fields, each as a paragraph.

    Parameters
    ----------
    texts : iterable of bytes
        Texts of the fields in UTF-8.

    Returns
    -------
    bytes
        The non-empty texts, each as a separate paragraph.
    """
    return JOINT.join(text for text in texts if text)


# ---- samples of records from the first bytes of a file


def of_json(head: bytes) -> tuple[list[str], list[dict[str, Any]]]:
    """Parse the first lines of a file of JSON lines; return the field names and the records."""
    records: list[dict[str, Any]] = []
    for line in head.split(b"\n")[:SAMPLED]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue  # The reader of the file reports incomplete and invalid lines.
        if isinstance(record, dict):
            records.append(record)
    return list(dict.fromkeys(name for record in records for name in record)), records


def of_delimited(head: bytes, delimiter: str, names: Sequence[str]) -> list[dict[str, str]]:
    """Parse the first records of a table; skip records with too few or too many fields."""
    lines = head.decode("utf-8", "replace").splitlines(keepends=True)
    records = []
    try:
        for record in islice(csv.reader(lines, delimiter=delimiter), SAMPLED + 1):
            if len(record) == len(names) and [cell.strip() for cell in record] != list(names):
                records.append(dict(zip(names, record, strict=True)))
    except csv.Error:
        pass  # The reader of the file will report the error.
    return records
