"""Functions that extract words from lines of vocabulary files, as several programs write them."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pysgrld.errors import CorpusError

#: Number of a line, and its text.
Line = tuple[int, str]
#: Names that R gives to a column without a name.
_HEADERS = ("x", "V1", "")


def words_in(lines: Sequence[Line], path: str | Path) -> list[Line]:
    """Return the word in each line of a vocabulary file, sorted by ids if the lines have ids.

    A line may be a word, or fields separated by tabs, as ``id word documents`` in gensim's
    dictionaries or ``word count``. A word may also be in quotes as written by R, with or without a
    row number.

    Raises
    ------
    CorpusError
        If ids are not 0, 1, ... or 1, 2, ...
    """
    if not lines:
        return []
    first = lines[1:] if len(lines) > 1 and lines[0][1].strip().isdigit() else lines
    if first and all("\t" in line for _, line in first):
        return _by_id(_column([(n, line.split("\t")) for n, line in first]), path)
    quoted = [line.strip().startswith('"') and line.strip().endswith('"') for _, line in lines]
    if all(quoted):
        rows = _quoted(lines)
        return _column(rows)[0] if rows else list(lines)
    return list(lines)


def genes_in(lines: Sequence[Line]) -> list[str]:
    """Return the gene names in lines ``id name kind``; make repeated names distinct by numbers."""
    rows = [line.split("\t") for _, line in lines]
    return distinct([(row[1] if len(row) > 1 else row[0]).strip() for row in rows])


def distinct(names: Sequence[str]) -> list[str]:
    """Make names distinct: add -1, -2, ... to the second and later occurrences of a name.

    Parameters
    ----------
    names : sequence of str
        Names, which may repeat.

    Returns
    -------
    list of str
        A distinct name for each given name.
    """
    names_in_use, again = set(names), Counter[str]()
    distinct_names: list[str] = []
    once: set[str] = set()
    for name in names:
        new = name
        while new in once or (new != name and new in names_in_use):
            again[name] += 1
            new = f"{name}-{again[name]}"
        once.add(new)
        distinct_names.append(new)
    return distinct_names


def _quoted(lines: Sequence[Line]) -> list[tuple[int, list[str]]]:
    """Parse lines written by R, with one or two fields each; return [] for other lines."""
    single: list[tuple[int, list[str]]] = []
    for delimiter in " ,\t;":
        try:
            rows = [(n, next(csv.reader([line.strip()], delimiter=delimiter))) for n, line in lines]
        except csv.Error:
            continue
        header, *data_rows = rows
        if data_rows and header[1][-1] in _HEADERS:
            rows = data_rows
        widths = {len(row) for _, row in rows}
        if widths == {2}:
            return rows
        single = single or (rows if widths == {1} else [])
    return single


def _column(rows: Sequence[tuple[int, list[str]]]) -> tuple[list[Line], list[int]]:
    """Return words from the first non-numeric column, and ids from a numeric first column."""
    width = min(len(row) for _, row in rows)
    numbers = [all(row[column].strip().isdigit() for _, row in rows) for column in range(width)]
    column = numbers.index(False) if False in numbers else 0
    ids = [int(row[0]) for _, row in rows] if column and numbers[0] else []
    return [(n, row[column].strip()) for n, row in rows], ids


def _by_id(words: tuple[list[Line], list[int]], path: str | Path) -> list[Line]:
    """Sort words by their ids; without ids, return the words unchanged."""
    lines, ids = words
    if not ids:
        return lines
    order = sorted(range(len(ids)), key=ids.__getitem__)
    least = ids[order[0]]
    if least > 1 or any(ids[place] != least + i for i, place in enumerate(order)):
        raise CorpusError(
            f"the word ids must be the numbers {least} to {least + len(ids) - 1} without gaps "
            "or repetitions; correct the ids, or give one word per line without ids",
            path,
        )
    return [lines[place] for place in order]
