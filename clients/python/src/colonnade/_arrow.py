"""Rows as tables of Arrow and DataFrames of pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

try:
    import pyarrow as pa
except ImportError as error:
    raise ImportError("tables of Arrow need pyarrow: pip install pyarrow, and pandas for DataFrames") from error

from colonnade._rows import Row, column_name

Schema: TypeAlias = "pa.Schema | Mapping[str, pa.DataType]"
"""The columns that a table gets, and their types. ``row_key`` is the key of the row."""

_KEY = "row_key"
_FIXED = {_KEY: 0, "column": 1, "time": 2, "value": 3}  # columns of the table have a colon in their names
_TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "bytes": pa.binary(),
    "boolean": pa.bool_(),
    "byte": pa.uint8(),
    "i32": pa.int32(),
    "i64": pa.int64(),
    "f32": pa.float32(),
    "f64": pa.float64(),
    "key": pa.string(),
    "binary key": pa.binary(),
    "time": pa.timestamp("us", "UTC"),
}


class Collector:
    """Collects rows into batches."""

    def __init__(self, schema: Schema | None, each_version: bool) -> None:
        self.schema = pa.schema(list(schema.items())) if isinstance(schema, Mapping) else schema
        self.kinds: dict[str, set[str]] = {}  # of each column, in all batches
        self._add_lines = self._add_versions if each_version else self._add_row
        # The columns of the schema's fields, in their order.
        self._wanted = self.schema and [n if each_version or n == _KEY else column_name(n) for n in self.schema.names]
        self._start()

    def _start(self) -> None:
        self.rows = 0
        self._lines = 0
        self._columns: dict[str, list[Any]] = {}
        self._kinds: dict[str, set[str]] = {}  # of each column, in this batch

    def add(self, row: Row) -> None:
        self.rows += 1
        self._add_lines(row)

    def _add_row(self, row: Row) -> None:
        self._put_key(row)
        last = None
        for cell in row.cells:
            if cell.column != last:
                last = cell.column
                self._put(str(last), cell.value, cell.type)
        self._lines += 1

    def _add_versions(self, row: Row) -> None:
        for cell in row.cells:
            self._put_key(row)
            self._put_text("column", str(cell.column))
            self._put("time", cell.time, "time")
            self._put("value", cell.value, cell.type)
            self._lines += 1

    def _put_key(self, row: Row) -> None:
        self._put_text(_KEY, row.key)

    def _put_text(self, name: str, text: str) -> None:
        """A key or a column, of any bytes."""
        binary = not text.isascii() and any("\udc80" <= c <= "\udcff" for c in text)
        self._put(name, text, "binary key" if binary else "key")

    def _put(self, name: str, value: Any, kind: str) -> None:
        if self._wanted is not None and name not in self._wanted:
            return
        values = self._columns.get(name)
        if values is None:
            values = self._columns[name] = []
            self._kinds[name] = set()
        values.extend([None] * (self._lines - len(values)))
        values.append(value)
        self._kinds[name].add(kind)

    def batch(self) -> pa.RecordBatch:
        """What was collected since the last batch."""
        schema = self.schema or schema_of(self._kinds)
        names = self._wanted or _sorted(self._kinds)
        arrays = [self._array(name, field.type) for name, field in zip(names, schema)]
        for name, kinds in self._kinds.items():
            self.kinds.setdefault(name, set()).update(kinds)
        self._start()
        return pa.record_batch(arrays, schema=schema)

    def _array(self, name: str, kind: pa.DataType) -> pa.Array:
        values = self._columns.get(name, [])
        values.extend([None] * (self._lines - len(values)))
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            values = [v.encode(errors="surrogateescape") if isinstance(v, str) else v for v in values]
        try:
            return pa.array(values, kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError, UnicodeEncodeError) as error:
            raise _mixed(name, f"it has values that are no {kind}: {error}") from error


def schema_of(kinds: Mapping[str, set[str]]) -> pa.Schema:
    """The schema for columns with values of these types."""
    return pa.schema([(_printable(name), _common(name, kinds[name])) for name in _sorted(kinds)])


def _common(name: str, kinds: set[str]) -> pa.DataType:
    """A type that has room for all values of some types."""
    if len(kinds) == 1:
        return _TYPES[next(iter(kinds))]
    if kinds <= {"byte", "i32", "i64"}:
        return pa.int64()
    if kinds <= {"byte", "i32", "i64", "f32", "f64"}:
        return pa.float64()
    if kinds <= {"key", "binary key"}:
        return pa.binary()
    raise _mixed(name, f"it has values of the types {' and '.join(sorted(kinds))}")


def _mixed(name: str, why: str) -> TypeError:
    return TypeError(
        f"column {name!r} does not fit one type of Arrow: {why}; leave it out by columns=… or schema=…, or select values by value=…"
    )


def _sorted(kinds: Mapping[str, set[str]]) -> list[str]:
    return sorted(kinds, key=lambda name: (name.partition(":") if ":" in name else ("", "", ""), _FIXED.get(name, 0)))


def _printable(name: str) -> str:
    """A name that Arrow can have: of UTF-8."""
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")


def table_of(batches: list[pa.RecordBatch], collector: Collector) -> pa.Table:
    """Batches as one table, with types for all of their values."""
    schema = collector.schema or schema_of(collector.kinds or {_KEY: {"key"}})
    return pa.Table.from_batches([_widened(batch, schema) for batch in batches], schema)


def _widened(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    if batch.schema.equals(schema):
        return batch
    arrays = []
    for field in schema:
        if field.name in batch.schema.names:
            try:
                arrays.append(batch.column(field.name).cast(field.type))
            except pa.ArrowInvalid as error:
                raise _mixed(field.name, str(error)) from error
        else:
            arrays.append(pa.nulls(batch.num_rows, field.type))
    return pa.record_batch(arrays, schema=schema)


def frame_of(table: pa.Table, each_version: bool) -> Any:
    """A table as a DataFrame. Integers and booleans get types that have room for what is missing."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("DataFrames need pandas: pip install pandas") from error
    nullable = {
        pa.int64(): pd.Int64Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.uint8(): pd.UInt8Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }
    frame = table.to_pandas(types_mapper=nullable.get)
    return frame if each_version or _KEY not in frame else frame.set_index(_KEY)
