"""Names of a field in different formats of reference lists: "title", "TI", "T1", ..."""

from __future__ import annotations

#: Each row has all names of one field. A name is a word, or a tag of RIS, Web of Science, PubMed or
#: EndNote.
SAME = (
    ("abstract", "AB", "N2", "%X", "notes_abstract", "OAB"),
    ("title", "TI", "T1", "%T", "primary_title"),
    ("year", "PY", "Y1", "YR", "%D", "publication_year"),
    ("authors", "AU", "A1", "%A", "author", "first_authors"),
    ("keywords", "KW", "DE", "OT", "%K", "author_keywords"),
    ("journal", "SO", "JT", "JO", "JF", "T2", "%J", "journal_name", "secondary_title"),
    ("doi", "DO", "DI", "%R"),
    ("language", "LA", "%G"),
)
_SAME = {name: names for names in SAME for name in names}


def other_names(name: str) -> tuple[str, ...]:
    """Return all names that formats of reference lists use for a field; () for an unknown field."""
    return _SAME.get(name) or _SAME.get(name.upper()) or _SAME.get(name.lower()) or ()
