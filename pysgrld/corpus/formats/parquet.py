"""Readers for Parquet and Arrow files, which use the library PyArrow; each row is a document."""

from __future__ import annotations

import importlib.util
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pysgrld.corpus.about.details import WantedFields
from pysgrld.corpus.formats.protocol import BadDocument, Batch, Context, Texts, field_names
from pysgrld.corpus.formats.records import RATIO, SMALL
from pysgrld.corpus.formats.text_fields import SAMPLED, chosen, joined
from pysgrld.corpus.lines import Lines
from pysgrld.errors import CorpusError, MissingInputError
from pysgrld.options.paths import is_file

_MAGIC, _ARROW_FILE = b"PAR1", b"ARROW1"

#: Number of rows that are read at a time.
TOGETHER = 256
#: Default maximum size in bytes of the texts of a file. If `RATIO` times the size of the text
#: columns is larger, it is the maximum instead. Without a maximum, a small file could fill the
#: memory, because its dictionary can repeat a long text in each row.
REPEATED = 2**30
#: Maximum size in bytes of an index into a dictionary.
_CODE = 8
#: Maximum size in bytes of the page headers of a column.
_HEADS = 2**16


def read(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document per row of a Parquet file; a null text makes an empty document.

    The line number of a document is the 1-based number of its row.
    """
    path = _path(source, "Parquet", "cannot be read from a pipe")
    import pyarrow.parquet as pq

    with path.open("rb") as file:
        if file.read(4) != _MAGIC:
            raise CorpusError(
                "this is not a Parquet file; if it is compressed (.gz, .xz and the like), "
                "decompress it",
                source.label,
            )
    # The buffer size makes PyArrow read a column of a row group page by page, not at once.
    with (
        _told_of_damage(source, "Parquet"),
        pq.ParquetFile(
            path, buffer_size=2**20, pre_buffer=False, page_checksum_verification=True
        ) as table,
    ):
        schema = table.schema_arrow
        names = [field.name for field in schema if is_text(field.type)]
        limit = context.options.max_input
        groups = map(table.metadata.row_group, range(table.metadata.num_row_groups))
        chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
        texts = {c.path_in_schema for c in chunks if c.physical_type == "BYTE_ARRAY"}
        texts -= {c.path_in_schema for c in chunks if not _is_coded(c)}
        for chunk in chunks if limit is None else ():
            size = chunk.total_uncompressed_size
            if size > max(SMALL, RATIO * chunk.total_compressed_size):
                raise CorpusError(
                    f"column {chunk.path_in_schema[:40]!r} unpacks to {size} bytes; if you trust "
                    "the file, allow more with --set max-input=SIZE",
                    source.label,
                )
    # Columns of indices into a dictionary are not decoded here, because decoding would copy a text
    # for each row.
    with (
        _told_of_damage(source, "Parquet"),
        pq.ParquetFile(
            path,
            buffer_size=2**20,
            pre_buffer=False,
            page_checksum_verification=True,
            read_dictionary=sorted(texts),
        ) as table,
    ):
        first = table.iter_batches(batch_size=SAMPLED, columns=names, use_threads=False)
        context, columns = _columns(schema, first, source, context)
        selected = {*columns}
        size = sum(c.total_uncompressed_size for c in chunks if c.path_in_schema in selected)
        if limit is not None and size > limit:
            raise CorpusError(
                f"the selected columns unpack to {size} bytes, more than --set max-input={limit}; if "
                "you trust the file, allow more",
                source.label,
            )
        total, rows = path.stat().st_size, max(table.metadata.num_rows, 1)
        batches = table.iter_batches(batch_size=TOGETHER, columns=columns, use_threads=False)
        most = limit or max(REPEATED, RATIO * size)
        yield from _texts(
            batches, columns, source, context, lambda done: total * done // rows, most
        )


def _is_coded(chunk: Any) -> bool:
    """Return True if the size of a column suggests that it stores indices into a dictionary.

    Other columns are read without a dictionary, because the dictionary would hold all texts of a
    row group.
    """
    if not chunk.has_dictionary_page:
        return False
    dictionary = chunk.data_page_offset - chunk.dictionary_page_offset
    return bool(chunk.total_compressed_size - dictionary <= _CODE * chunk.num_values + _HEADS)


def read_arrow(source: Lines, context: Context) -> Iterator[Texts]:
    """Yield one document per row of an Arrow file or stream, such as a Hugging Face dataset."""
    path = _path(source, "Arrow", "cannot be read from a pipe or a compressed file")
    import pyarrow as pa

    with _told_of_damage(source, "Arrow"), pa.memory_map(str(path)) as mapped:
        is_file_format = source.head.startswith(_ARROW_FILE)
        if context.options.max_input is None:
            mapped.seek(8 if is_file_format else 0)
            _check_batches(pa.ipc.MessageReader.open_stream(mapped), source.label)
            mapped.seek(0)
        if is_file_format:
            reader = pa.ipc.open_file(mapped)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        else:
            batches = reader = pa.ipc.open_stream(mapped)
        begin = list(islice(batches, 1))
        context, columns = _columns(reader.schema, (b[:SAMPLED] for b in begin), source, context)
        whole = list(dict.fromkeys(_path_of(reader.schema, name)[0] for name in columns))
        small = (
            batch.select(whole)[first : first + TOGETHER]
            for batch in chain(begin, batches)
            for first in range(0, len(batch), TOGETHER)
        )
        most = context.options.max_input or max(REPEATED, RATIO * mapped.size())
        yield from _texts(small, columns, source, context, lambda done: mapped.tell(), most)


def _check_batches(messages: Iterable[Any], label: str) -> None:
    """Raise an error if a compressed Arrow batch unpacks to too many bytes.

    A compressed buffer begins with its unpacked size. The positions of the buffers are in the
    metadata of a message, which is a FlatBuffer: a table in it begins with the distance to a list
    of the offsets of its fields.

    Raises
    ------
    CorpusError
    """
    for number, message in enumerate(messages):
        data, body = message.metadata.to_pybytes(), message.body
        if body is None:
            continue

        def field(table: int, index: int, data: bytes = data) -> int:
            places = table - struct.unpack_from("<i", data, table)[0]
            if 4 + 2 * index >= struct.unpack_from("<H", data, places)[0]:
                return 0
            place = struct.unpack_from("<H", data, places + 4 + 2 * index)[0]
            return table + int(place) if place else 0

        def follow(place: int, data: bytes = data) -> int:
            return place + int(struct.unpack_from("<I", data, place)[0])

        batch = follow(field(follow(0), 2))
        if message.type == "dictionary":
            batch = follow(field(batch, 1))
        if message.type not in ("dictionary", "record batch") or not field(batch, 3):
            continue  # An uncompressed batch cannot be larger than the file.
        buffers = follow(field(batch, 2))
        size = 0
        for i in range(struct.unpack_from("<I", data, buffers)[0]):
            begin, length = struct.unpack_from("<qq", data, buffers + 4 + 16 * i)
            if length:
                size += max(length, struct.unpack_from("<q", body, begin)[0])
        if size > max(SMALL, RATIO * body.size):
            raise CorpusError(
                f"record batch {number} of the file unpacks to {size} bytes; if you trust the "
                "file, allow more with --set max-input=SIZE",
                label,
            )


def _path(source: Lines, kind: str, how: str) -> Path:
    """Return the path of the input; raise an error unless it is a file and PyArrow is installed.

    Raises
    ------
    MissingInputError
        If PyArrow is not installed.
    CorpusError
        If the input is not a file.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise MissingInputError(
            f"{source.label}: reading {kind} needs PyArrow: pip install pyarrow"
        )
    if source.path is None or not is_file(source.path):
        raise CorpusError(f"{kind} {how}; give the file's name", source.label)
    return source.path


@contextmanager
def _told_of_damage(source: Lines, kind: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, struct.error) as error:
        if isinstance(error, CorpusError | MissingInputError):
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise CorpusError(
            f"the {kind} file is damaged ({reason[:200]}); write it again", source.label
        ) from None


def _columns(
    schema: Any, batches: Iterable[Any], source: Lines, context: Context
) -> tuple[Context, list[str]]:
    """Choose text, id and title fields; return a context that names them, and columns to read."""
    rows = (row for batch in islice(batches, 1) for row in _rows_of_text(batch))
    names = [*schema.names, *_nested_names(schema)]
    context = chosen(context, source.label, names, rows)
    text = context.wanted.text or ()
    for field in text:
        _check_text(schema, field, source.label)
    other_columns = _others(schema, context.wanted, source.label)
    return context, list(dict.fromkeys([*other_columns, *text]))


def _nested_names(fields: Iterable[Any], above: str = "") -> list[str]:
    """Return the paths of all fields within structs, such as data.body."""
    import pyarrow.types as kind

    names = []
    for field in fields:
        name = f"{above}{field.name}"
        names += [name] if above else []
        if kind.is_struct(field.type):
            names += _nested_names(field.type, f"{name}.")
    return names


def _path_of(schema: Any, name: str) -> list[str]:
    """Split a nested field's path, such as data.body, into names; keep a column's name whole."""
    # `schema.names` would copy all names.
    return [name] if schema.get_all_field_indices(name) else name.split(".")


def _type_of(schema: Any, name: str) -> Any:
    column, *fields = _path_of(schema, name)
    kind = schema.field(column).type
    for field in fields:
        kind = kind.field(field).type
    return kind


def _column(batch: Any, name: str) -> Any:
    """Return a column of a batch, or the values of a field nested in a column of structs."""
    column, *fields = _path_of(batch.schema, name)
    if not fields:
        return batch.column(column)
    import pyarrow.compute as compute

    return compute.struct_field(batch.column(column), fields)


def _rows_of_text(batch: Any) -> list[dict[str, Any]]:
    import pyarrow.types as types

    columns = {}
    for field, column in zip(batch.schema, batch.columns, strict=True):
        is_coded = types.is_dictionary(field.type)
        if is_text(field.type.value_type if is_coded else field.type):
            columns[field.name] = _plain(column)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def is_text(kind: Any) -> bool:
    """Return True if the values of an Arrow type are texts."""
    import pyarrow.types as types

    tests = (types.is_string, types.is_large_string, types.is_string_view)
    return any(test(kind) for test in tests)


def _check_text(schema: Any, field: str, label: str) -> None:
    import pyarrow.types as kind

    names = [*schema.names, *_nested_names(schema)]
    if names.count(field) != 1:
        twice = "more than one" if field in names else "no"
        raise CorpusError(
            f"{twice} column {field!r} (the columns are {field_names(names)}; choose one with "
            "--text-field)",
            label,
        )
    field_type = value_type = _type_of(schema, field)
    if kind.is_dictionary(value_type):
        value_type = value_type.value_type
    if not (is_text(value_type) or kind.is_binary(value_type) or kind.is_large_binary(value_type)):
        raise CorpusError(
            f"column {field!r} is not text but {field_type}; choose another with --text-field",
            label,
        )


def _plain(column: Any) -> list[Any]:
    """Convert the values of a column to Python objects, with times truncated to microseconds."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        return _decoded(column, _plain)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    values: list[Any] = column.to_pylist()
    return values


def _utf8(column: Any) -> list[bytes | None]:
    """Convert texts of a column to UTF-8; null becomes None."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        return _decoded(column, _utf8)
    values: list[bytes | None] = column.cast(pa.large_binary()).to_pylist()
    return values


def _decoded(column: Any, values_of: Callable[[Any], list[Any]]) -> list[Any]:
    """Convert a dictionary-encoded column to a list in which equal values are the same object."""
    import pyarrow.compute as compute

    places = compute.unique(column.indices.drop_null())
    values = dict(zip(places.to_pylist(), values_of(column.dictionary.take(places)), strict=True))
    return [None if place is None else values[place] for place in column.indices.to_pylist()]


def _others(schema: Any, fields: WantedFields, label: str) -> list[str]:
    """Return the requested columns other than the text; raise an error for a nested type."""
    import pyarrow.types as kind

    names, counts = [], Counter(schema.names)
    paths = [name for name in _nested_names(schema) if name in fields.columns]
    for name in [*fields.among(schema.names), *paths]:
        if fields.is_optional(name) and (counts[name] > 1 or not _is_short(_type_of(schema, name))):
            continue
        if counts[name] > 1:
            raise CorpusError(
                f"the table has more than one column {name[:40]!r}; rename one", label
            )
        if not kind.is_nested(_type_of(schema, name)):
            names.append(name)
        elif name in fields.columns or name in fields.named or fields.everything:
            raise CorpusError(
                f"column {name[:40]!r} is {_type_of(schema, name)}, but columns must have "
                "single values (texts, numbers or dates); leave this column out",
                label,
            )
    return names


def _is_short(kind: Any) -> bool:
    """Return False for Arrow types with values that may be long: lists, structs and bytes."""
    import pyarrow.types as types

    tests = (types.is_nested, types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    return not any(test(kind) for test in tests)


def _texts(
    batches: Iterable[Any],
    columns: list[str],
    source: Lines,
    context: Context,
    read: Callable[[int], int],
    most: int,
) -> Iterator[Texts]:
    """Convert batches of rows to documents, and report how much of the file was read.

    Raises
    ------
    CorpusError
        If the texts have more than ``most`` bytes.
    """
    fields = context.wanted.text or ()
    size = source.path.stat().st_size if source.path is not None else 0
    reported = source.file.tell()
    other_columns = [n for n in columns if n not in fields or n in context.wanted.among(columns)]
    limit, done, unpacked = context.options.max_line, 0, 0
    records = Batch(source.label, context)
    for batch in batches:
        values = {name: _plain(_column(batch, name)) for name in other_columns}
        whole = [_utf8(_column(batch, field)) for field in fields]
        for position in range(len(batch)):
            row, text = (done + 1 + position, joined(texts[position] or b"" for texts in whole))
            unpacked += len(text)
            if unpacked > most:
                raise CorpusError(
                    f"the texts unpack to more than {most} bytes; if you trust the file, allow "
                    "more with --set max-input=SIZE",
                    source.label,
                    row,
                )
            try:
                if len(text) > limit:
                    raise BadDocument(
                        "line too long",
                        f"the document has more than {limit} bytes; allow more with --set max-line=SIZE",
                    )
                records.add(text, {name: column[position] for name, column in values.items()}, row)
            except BadDocument as bad:
                records.refuse(bad, row)
            if records.full:
                yield records.texts()
        yield records.texts()
        done += len(batch)
        # Progress is reported in bytes of the file, in proportion to the rows that were read.
        if source.on_read is not None:
            now = max(reported, read(done))
            source.on_read(now - reported)
            reported = now
    if source.on_read is not None:
        source.on_read(max(0, size - reported))
