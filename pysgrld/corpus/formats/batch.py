"""Records of a file that are handed on together: texts with their fields, bad ones told or kept empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pysgrld.corpus.about.fields import FieldError, FieldReader
from pysgrld.corpus.formats.protocol import Context, Texts


class BadRecord(Exception):
    """A record that is no document; the message says why, `reason` what it is counted under.

    One without a reason was reported already.
    """

    def __init__(self, reason: str = "", message: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class Batch:
    """Takes records one after the other, and hands them on some at a time.

    Parameters
    ----------
    label : str
        The file, as messages call it.
    context : Context
    together, most : int
        Documents, and bytes of text, that make it full.
    typed : bool
        Whether text in fields is text; else it may mean a number, as in CSV.
    noun : str
        What messages call a record by its number; empty: numbers are those of lines.
    """

    def __init__(
        self,
        label: str,
        context: Context,
        together: int = 1024,
        most: int = 2**22,
        *,
        typed: bool = True,
        noun: str = "",
    ) -> None:
        self.label, self.context, self.noun = label, context, noun
        self.together, self.most = together, most
        self._fields = FieldReader(context.wanted, typed)
        self._begin()

    def _begin(self) -> None:
        self._documents: list[bytes] = []
        self._numbers: list[int] = []
        self._size = 0

    def __len__(self) -> int:
        return len(self._documents)

    @property
    def full(self) -> bool:
        """Whether what was taken should be handed on."""
        return len(self) >= self.together or self._size >= self.most

    def add(self, text: bytes, fields: Mapping[str, Any], number: int) -> None:
        """Take a record.

        Raises
        ------
        BadRecord
            If one of its fields cannot be kept.
        """
        try:
            self._fields.add(fields)
        except FieldError as error:
            raise BadRecord("field not plain", str(error)) from None
        self._documents.append(text)
        self._numbers.append(number)
        self._size += len(text)

    def refuse(self, bad: BadRecord, number: int) -> None:
        """Report a bad record, and keep its place where places are kept.

        Raises
        ------
        CorpusError
            If bad ones are not skipped.
        """
        if bad.reason:
            said, line = (f"{self.noun} {number}: {bad}", None) if self.noun else (str(bad), number)
            self.context.bad(bad.reason, said, self.label, line)
        if self.context.keep_empty:
            self.add(b"", {}, number)

    def texts(self) -> Texts:
        """Hand on what was taken, and begin anew."""
        fields = self._fields.fields()
        found = Texts(self._documents, self.label, self._numbers, fields=fields)
        self._begin()
        return found
