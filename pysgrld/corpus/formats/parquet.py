"""Parquet: one column of it is the text. Read by PyArrow, which is an extra."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pysgrld.corpus.about.details import WantedFields
from pysgrld.corpus.formats.protocol import BadDocument, Batch, Context, Texts, field_names
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError, MissingInputError

_MAGIC = b"PAR1"

#: Rows that are read together.
TOGETHER = 256


def read(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document a row; a null is a document without words. Lines are rows, from 1."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingInputError(
            f"{source.label}: reading Parquet needs PyArrow: pip install pyarrow"
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
            field = context.wanted.text
            if field is not None:
                _check_text(table.schema_arrow, field, source.label)
            others = _others(table.schema_arrow, context.wanted, source.label)
            chosen = [*others, field] if field is not None else others
            groups = map(table.metadata.row_group, range(table.metadata.num_row_groups))
            columns = (group.column(i) for group in groups for i in range(group.num_columns))
            size = sum(c.total_uncompressed_size for c in columns if c.path_in_schema in chosen)
            limit = context.options.max_input
            if limit is not None and size > limit:
                raise CorpusError(
                    f"what is read of it unpacks to {size} bytes, more than --max-input {limit}; "
                    "allow more if it is no bomb",
                    source.label,
                )
            yield from _texts(table, field, others, source, context)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # also names of columns
        if isinstance(error, CorpusError | MissingInputError):
            raise
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise CorpusError(
            f"the Parquet file is damaged ({why[:200]}); write it again", source.label
        ) from None


def _check_text(schema: Any, field: str, label: str) -> None:
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


def _plain(column: Any) -> list[Any]:
    """Return the values of a column as Python objects; times to the microsecond."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    found: list[Any] = column.to_pylist()
    return found


def _others(schema: Any, wanted: WantedFields, label: str) -> list[str]:
    """Return the names of the other columns that are wanted; lists and the like are refused."""
    import pyarrow.types as kind

    found = []
    for name in wanted.among(schema.names):
        if schema.names.count(name) > 1:
            raise CorpusError(f"more than one column {name[:40]!r}", label)
        if not kind.is_nested(schema.field(name).type):
            found.append(name)
        elif name in wanted.columns or name in wanted.named or wanted.everything:
            raise CorpusError(
                f"column {name[:40]!r} is {schema.field(name).type}, and only plain values can "
                "be kept; leave this column out",
                label,
            )
    return found


def _texts(
    table: Any, field: str | None, others: list[str], source: Lines, context: Context
) -> Iterator[Texts]:
    import pyarrow as pa

    size = source.path.stat().st_size if source.path is not None else 0
    reported = source.file.tell()
    limit, done, total = context.options.max_line, 0, max(table.metadata.num_rows, 1)
    records = Batch(source.label, context)
    columns = [*others, field] if field is not None else others
    for batch in table.iter_batches(batch_size=TOGETHER, columns=columns, use_threads=False):
        values = {name: _plain(batch.column(name)) for name in others}
        whole: list[bytes | None] = [None] * len(batch)
        if field is not None:
            column = batch.column(field)
            if pa.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            whole = column.cast(pa.large_binary()).to_pylist()
        for at, text in enumerate(whole):
            row = done + 1 + at
            try:
                if text is not None and len(text) > limit:
                    raise BadDocument(
                        "line too long", f"a document of more than {limit} bytes (--max-line)"
                    )
                records.add(text or b"", {name: found[at] for name, found in values.items()}, row)
            except BadDocument as bad:
                records.refuse(bad, row)
        yield records.texts()
        done += len(batch)
        if source.on_read is not None:  # as if the file were read from end to end
            now = max(reported, size * done // total)
            source.on_read(now - reported)
            reported = now
