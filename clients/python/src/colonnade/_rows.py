"""Cells and rows."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from colonnade._values import Key, Time, Value, datetime_of, decode_key, encode_key, expect, key_bytes, micros, typed, untyped

if TYPE_CHECKING:
    import pandas as pd


@dataclass(slots=True)
class Cell:
    """A version of a cell."""

    column: Key
    """``family:qualifier``; a cell that was read has a ``str``."""
    value: Value | None
    """``None`` only where a read has stripped it."""
    time: Time | None = None
    """A cell that was read has microseconds; one to write may leave the time to the commit."""
    labels: tuple[str, ...] = ()
    """What filters have added; a write does not take them."""
    type: str = field(default="", compare=False, repr=False)
    """The name of the type, of a cell that was read. A write goes by the value."""

    @property
    def family(self) -> str:
        return self._column.partition(":")[0]

    @property
    def qualifier(self) -> str:
        return self._column.partition(":")[2]

    @property
    def datetime(self) -> datetime:
        """The time in UTC. Raises ``OverflowError`` behind the year 9999."""
        if self.time is None:
            raise ValueError("a cell that is not written has no time")
        return datetime_of(micros(self.time))

    @property
    def _column(self) -> str:
        return self.column if isinstance(self.column, str) else self.column.decode(errors="surrogateescape")


class Row(Mapping[str, Any]):
    """A row that was read: a mapping of its columns to their newest values.

    ``cells`` has all versions that were read: columns in order, the versions of each newest first. Values are of the types of
    ``Value``, and ``None`` where a read has stripped them.
    """

    __slots__ = ("cells", "key")

    def __init__(self, key: str, cells: list[Cell]) -> None:
        self.key = key
        self.cells = cells

    @property
    def key_bytes(self) -> bytes:
        return key_bytes(self.key)

    def cell(self, column: Key) -> Cell | None:
        """The newest version of a column, or ``None``."""
        return next(iter(self.versions(column)), None)

    def versions(self, column: Key) -> list[Cell]:
        """The versions of a column, newest first."""
        name = column_name(column)
        return [cell for cell in self.cells if cell.column == name]

    def family(self, name: str) -> dict[str, Any]:
        """The newest values of a family by their qualifiers."""
        return {c.partition(":")[2]: value for c, value in self.items() if c.startswith(name + ":")}

    def __getitem__(self, column: Key) -> Any:
        name = column_name(column)
        for cell in self.cells:
            if cell.column == name:
                return cell.value
        raise KeyError(column)

    def __iter__(self) -> Iterator[str]:
        last = None
        for cell in self.cells:
            if cell.column != last:
                last = cell.column
                yield cell.column  # type: ignore[misc]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Row):
            return self.key == other.key and self.cells == other.cells
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Row {self.key!r} {dict(self)!r}>"


# Of objects, because type checkers take {"a:": 1, "b:": "x"} for a dict of objects.
Cells: TypeAlias = "Mapping[Any, object] | Iterable[Cell]"
"""What a row gets: values by column, or cells."""

Rows: TypeAlias = "Mapping[Any, object] | Iterable[tuple[Key, Cells] | Row] | pd.DataFrame"
"""Rows to write: cells by row key, or pairs of a key and cells, or rows that were read, or a DataFrame.

The index of a DataFrame are the row keys, its columns are columns, and what is missing in it is left out.
"""


class Stats(NamedTuple):
    """What a read has cost. docs/api.md says more (Query results)."""

    rows: int = 0
    cells: int = 0
    rows_scanned: int = 0
    cells_scanned: int = 0
    bytes_scanned: int = 0
    locality_groups: int = 0
    micros: int = 0

    def __add__(self, other: object) -> Stats:
        if not isinstance(other, Stats):
            return NotImplemented
        return Stats(*(a + b for a, b in zip(self, other)))


class Page(NamedTuple):
    """A part of the answer to a query."""

    rows: list[Row]
    next_token: str | None
    """For ``page_token``; ``None`` if nothing follows."""
    stats: Stats


def column_name(column: Key) -> str:
    """A column as rows have it: ``title`` is ``title:``."""
    name = column if isinstance(column, str) else key_bytes(column).decode(errors="surrogateescape")
    return name if ":" in name else name + ":"


def encode_cell(cell: Cell, time: Time | None = None) -> dict[str, Any]:
    """A cell as JSON. ``time`` is for a cell that has none."""
    out = {"column_key": encode_key(cell.column), **typed(cell.value)}
    when = time if cell.time is None else cell.time
    if when is not None:
        out["time"] = micros(when)
    return out


_CELLS = 'the cells of a row as {"family:qualifier": value} or [Cell(…), …]'
_PAIR = "a row as (key, cells), or rows as {key: cells, …}"


def encode_row(key: Key, cells: Cells, time: Time | None = None) -> dict[str, Any]:
    if isinstance(cells, Row):
        cells = cells.cells  # all versions, and their times
    if isinstance(cells, Mapping):
        cells = [Cell(column, value) for column, value in cells.items()]  # type: ignore[arg-type]
    cells = expect(cells, Iterable, _CELLS)
    return {"row_key": encode_key(key), "cells": [encode_cell(expect(cell, Cell, _CELLS), time) for cell in cells]}


Pair: TypeAlias = "tuple[Key, Cells] | Row"


def pairs(rows: Rows) -> Iterable[Pair]:
    if isinstance(rows, Mapping):
        return rows.items()  # type: ignore[return-value]
    return _lines(rows) if hasattr(rows, "to_dict") else rows


def _lines(frame: pd.DataFrame) -> Iterator[Pair]:
    """The rows of a DataFrame. It is gone through by columns, because a row of it has one type for all of its values."""
    columns = [(name, column.tolist(), column.notna().tolist()) for name, column in frame.items()]
    for i, key in enumerate(frame.index.tolist()):
        yield key, {name: values[i] for name, values, there in columns if there[i]}


def encode_pair(row: Pair) -> dict[str, Any]:
    key, cells = (row.key, row.cells) if isinstance(row, Row) else expect(row, tuple, _PAIR)
    return encode_row(key, cells)


def row_of_line(line: dict[str, Any]) -> Row:
    """The row of a line of NDJSON."""
    cells = []
    for c in line["cells"]:
        column, kind = c["column_key"], c["type"]
        if column.__class__ is not str:
            column = decode_key(column)
        cells.append(Cell(column, untyped(kind, c["value"]), c["time"], tuple(c["labels"]) if "labels" in c else (), kind))
    return Row(decode_key(line["row_key"]), cells)


def row_of_json(row: dict[str, Any]) -> Row:
    """The row of an answer in JSON."""
    columns: list[tuple[bytes, list[dict[str, Any]]]] = []
    for family, qualifiers in row["columns"].items():
        columns.extend((f"{family}:{qualifier}".encode(), versions) for qualifier, versions in qualifiers.items())
    if "binary_columns" in row:
        for column in row["binary_columns"]:
            qualifier = base64.b64decode(column["qualifier"]["base64"])
            columns.append((column["family"].encode() + b":" + qualifier, column["cells"]))
        columns.sort(key=lambda c: c[0].split(b":", 1))
    cells = []
    for name, versions in columns:
        column = name.decode(errors="surrogateescape")
        for v in versions:
            cells.append(Cell(column, untyped(v["type"], v["value"]), v["time"], tuple(v.get("labels", ())), v["type"]))
    return Row(decode_key(row["row_key"]), cells)


def stats_of(result: Mapping[str, Any]) -> Stats:
    return Stats(
        result.get("row_count", 0),
        result.get("cell_count", 0),
        result.get("rows_scanned", 0),
        result.get("cells_scanned", 0),
        result.get("bytes_scanned", 0),
        result.get("affected_locality_groups", 0),
        result.get("micros", 0),
    )
