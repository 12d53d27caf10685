"""Parquet: one column of it is the text. Read by PyArrow, which is an extra."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pysgrld.corpus.formats.protocol import Context, Texts, field_names
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError, MissingInputError

SUFFIXES = (".parquet", ".pq")

_MAGIC = b"PAR1"

#: Rows that are read together.
TOGETHER = 256


def sniff(head: bytes, name: str) -> bool:
    """Whether the four letters of Parquet begin the file, or it is named so."""
    return head.startswith(_MAGIC) or name.lower().endswith(SUFFIXES)


def read(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document a row; a null is a document without words. Lines are rows, from 1."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingInputError(
            f"{source.label}: reading Parquet needs PyArrow: pip install 'pysgrld[parquet]'"
        ) from None
    if source.path is None or not source.path.is_file():
        raise CorpusError(
            "Parquet is read from its end, which a pipe cannot do; name the file", source.label
        )
    with source.path.open("rb") as file:
        if file.read(4) != _MAGIC:
            raise CorpusError(
                "no Parquet (or a compressed file: unpack it, it is compressed already)",
                source.label,
            )
    try:
        # With a buffer, a column of a row group is read page by page and not at once.
        with pq.ParquetFile(
            source.path, buffer_size=2**20, pre_buffer=False, page_checksum_verification=True
        ) as table:
            field = _column(table.schema_arrow, context.options.text_field, source.label)
            size, limit = _unpacked(table.metadata, field), context.options.max_input
            if limit is not None and size > limit:
                raise CorpusError(
                    f"its texts unpack to {size} bytes, more than --max-input {limit}; allow more "
                    "if it is no bomb",
                    source.label,
                )
            yield from _texts(table, field, source, context)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, CorpusError | MissingInputError):
            raise
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise CorpusError(
            f"the Parquet file is damaged ({why[:200]}); write it again", source.label
        ) from None


def _column(schema: Any, field: str, label: str) -> str:
    import pyarrow.types as kind

    if schema.names.count(field) != 1:
        twice = "more than one" if field in schema.names else "no"
        raise CorpusError(
            f"{twice} column {field!r} (it has {field_names(schema.names)}; "
            "choose one with --text-field)",
            label,
        )
    given = found = schema.field(field).type
    if kind.is_dictionary(found):
        found = found.value_type
    if not (
        kind.is_string(found)
        or kind.is_large_string(found)
        or kind.is_binary(found)
        or kind.is_large_binary(found)
    ):
        raise CorpusError(
            f"column {field!r} is not text but {given}; choose another with --text-field", label
        )
    return field


def _unpacked(metadata: Any, field: str) -> int:
    """Return the bytes of a column when it is decompressed."""
    groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
    columns = (group.column(i) for group in groups for i in range(group.num_columns))
    return sum(c.total_uncompressed_size for c in columns if c.path_in_schema == field)


def _texts(table: Any, field: str, source: Lines, context: Context) -> Iterator[Texts]:
    import pyarrow as pa

    size = source.path.stat().st_size if source.path is not None else 0
    reported = source.file.tell()
    limit, done, total = context.options.max_line, 0, max(table.metadata.num_rows, 1)
    for batch in table.iter_batches(batch_size=TOGETHER, columns=[field], use_threads=False):
        column = batch.column(0)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        documents: list[bytes] = []
        lines: list[int] = []
        for row, text in enumerate(column.cast(pa.large_binary()).to_pylist(), done + 1):
            if text is not None and len(text) > limit:
                message = f"a document of more than {limit} bytes (--max-line)"
                context.bad("line too long", message, source.label, row)
                if not context.keep_empty:
                    continue
                text = None
            documents.append(text or b"")
            lines.append(row)
        yield Texts(documents, source.label, lines)
        done += len(column)
        if source.on_read is not None:  # as if the file were read from end to end
            now = max(reported, size * done // total)
            source.on_read(now - reported)
            reported = now
