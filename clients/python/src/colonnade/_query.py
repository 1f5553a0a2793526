"""What a read selects, as keywords and as the body of a request."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, TypeVar

from colonnade._rows import Row
from colonnade._values import Key, Time, Value, encode_key, expect, key_bytes, micros, several, typed
from colonnade.filters import Filter

Op: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]


class Range(NamedTuple):
    """Rows from ``start`` up to ``end``. ``None`` is no bound."""

    start: Key | None = None
    end: Key | None = None
    exclude_start: bool = False
    include_end: bool = False


class Columns(TypedDict, total=False):
    columns: Iterable[Key]
    families: Iterable[str]
    column_prefix: Key
    since: Time
    until: Time


class RowQuery(Columns, total=False):
    """What a read of rows by key returns of each. ``Query`` says what the keywords mean."""

    value: tuple[Op, Value]
    strip_values: bool
    filter: Filter
    versions: int
    cells_per_row: int


class Selection(Columns, total=False):
    """Which cells a deletion deletes: without a keyword, all. ``Query`` says what the keywords mean."""

    key: Key
    keys: Iterable[Key]
    prefix: Key
    start: Key
    end: Key
    ranges: Iterable[Range]


class Query(Selection, RowQuery, total=False):
    """What a read returns: the keywords of scans, counts, aggregates, pages and explanations. ``None`` is as if it were not there.

    Rows, one of these at most; without one, all:

    - ``key``, ``keys``: a row, some rows
    - ``prefix``: rows whose key starts with it
    - ``start``, ``end``: rows from ``start`` up to ``end``, which is not included; either may be left out
    - ``ranges``: the rows of some ``Range``

    Columns, one of these at most; without one, all:

    - ``columns``: ``family:qualifier`` is a column, ``family:`` or ``family`` all of a family
    - ``families``: all columns of these
    - ``column_prefix``: columns whose name, ``family:qualifier``, starts with it

    Versions:

    - ``since``, ``until``: those with times from ``since`` up to ``until``, which is not included
    - ``value``: those whose value compares so with this one, as ``(">=", 1000)``; a version of another type is never selected
    - ``filter``: a tree of ``colonnade.filters``, which comes after all of these
    - ``strip_values``: with ``True`` values are ``None``, and large ones are not read

    Limits, which apply in this order:

    - ``versions``: the most of each column, newest first
    - ``cells_per_row``: the most versions of each row
    - ``sample``: this part of the rows, evenly spread: 0.25 is the first, fifth, ninth, …
    - ``offset``: how many rows to skip
    - ``limit``: the most rows
    - ``cell_limit``: the most versions in all

    Order:

    - ``reverse``: with ``True`` from the last row to the first; limits count in that order, and the cells of a row stay in theirs
    - ``page_token``: goes on behind a page of this query
    """

    sample: float
    offset: int
    limit: int
    cell_limit: int
    reverse: bool
    page_token: str


F = TypeVar("F", bound=Callable[..., Any])


def takes(keywords: Any) -> Callable[[F], F]:
    """Makes ``help`` and completion show the keywords of a function, which has them as ``**query``."""

    def spell_out(function: F) -> F:
        signature = inspect.signature(function)
        *named, _ = signature.parameters.values()
        more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in keywords.__annotations__]
        function.__signature__ = signature.replace(parameters=[*named, *more])  # type: ignore[attr-defined]
        return function

    return spell_out


_KNOWN = Query.__optional_keys__
_LISTS = ("keys", "ranges", "columns", "families")
_ROWS = ("key", "keys", "prefix", "ranges")


def given(query: Mapping[str, Any], known: Iterable[str] = _KNOWN) -> dict[str, Any]:
    """The keywords of a query that are given and not ``None``, with lists for any iterables."""
    if unknown := query.keys() - set(known):
        raise TypeError(f"there is no keyword {min(unknown)!r} here, but {', '.join(sorted(known))}")
    out = {name: value for name, value in query.items() if value is not None}
    for name in out.keys() & set(_LISTS):
        out[name] = several(out[name], f"{name}=[…]")
    return out


def body_of(query: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a scan, or with the fields that they take of other reads and of deletions."""
    query = given(query)
    body: dict[str, Any] = {}
    row = _rows(query)
    _copy(query, row, limit="limit", offset="offset", cells_per_row="cell_limit", sample="sample", page_token="page_token")
    if query.get("reverse"):
        row["reverse"] = True
    column = _columns(query)
    _copy(query, column, versions="cell_limit")
    cell: dict[str, Any] = {}
    if times := times_of(query.get("since"), query.get("until")):
        cell["time"] = times
    if "value" in query:
        op, value = expect(query["value"], (tuple, list), 'an operator and a value, as value=(">=", 5)')
        cell["value"] = {"op": op, **typed(value)}
    if query.get("strip_values"):
        cell["strip_value"] = True
    _copy(query, cell, cell_limit="limit")
    for name, part in (("row", row), ("column", column), ("cell", cell)):
        if part:
            body[name] = part
    if "filter" in query:
        body["filter"] = expect(query["filter"], Filter, "a filter of colonnade.filters").tree
    return body


def item_of(query: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a query among others: it has to say that it is about all rows."""
    body = body_of(query)
    row = body.get("row", {})
    return body if row.keys() & {*_ROWS, "range"} else {**body, "row": {"prefix": "", **row}}


def deletion_of(selection: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a deletion."""
    body = body_of(given(selection, Selection.__optional_keys__))
    if cell := body.pop("cell", None):
        body["time"] = cell["time"]
    return body


def times_of(start: Time | None, end: Time | None) -> dict[str, int]:
    times = {}
    if start is not None:
        times["start"] = micros(start)
    if end is not None:
        times["end"] = micros(end)
    return times


def columns_of(columns: Iterable[Key]) -> dict[str, Any]:
    return {"multi_key": [encode_key(c) for c in several(columns, "columns=[…]")]}


def _rows(query: Mapping[str, Any]) -> dict[str, Any]:
    selections = [name for name in _ROWS if name in query]
    if "start" in query or "end" in query:
        selections.append("start and end")
    if len(selections) > 1:
        raise TypeError(f"a query takes one of {', '.join(selections)}")
    if not selections:
        return {}
    match selections[0]:
        case "keys":
            return {"keys": [encode_key(k) for k in query["keys"]]}
        case "ranges":
            return {"ranges": [_range(Range(*r)) for r in query["ranges"]]}
        case "start and end":
            return {"range": _range(Range(query.get("start"), query.get("end")))}
        case name:
            return {name: encode_key(query[name])}


def _columns(query: Mapping[str, Any]) -> dict[str, Any]:
    column: dict[str, Any] = {}
    if "columns" in query:
        column.update(columns_of(query["columns"]))
    if "families" in query:
        column["families"] = query["families"]
    if "column_prefix" in query:
        column["prefix"] = encode_key(query["column_prefix"])
    if len(column) > 1:
        raise TypeError("a query takes one of columns, families and column_prefix")
    return column


def _range(r: Range) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if r.start is not None and r.start not in ("", b""):
        out["start"] = encode_key(r.start)
        if r.exclude_start:
            out["exclusive"] = True
    if r.end is not None:
        out["end"] = encode_key(r.end)
        if r.include_end:
            out["inclusive"] = True
    return out


def _copy(query: Mapping[str, Any], to: dict[str, Any], **names: str) -> None:
    for name, field in names.items():
        if name in query:
            to[field] = query[name]


class Progress:
    """How far a scan is, and what is left of it when its connection has broken."""

    def __init__(self, query: Mapping[str, Any]) -> None:
        self._query = given(query)
        self._reverse = bool(self._query.get("reverse"))
        self._last: bytes | None = None
        self._rows = 0
        self._cells = 0

    def want_newest(self) -> None:
        """Leaves out versions that are not the newest of their columns, where that does not change which those are."""
        if self._last is None and not self._query.keys() & {"versions", "cells_per_row", "cell_limit", "page_token"}:
            self._query["versions"] = 1

    def gave(self, row: Row) -> None:
        self._last = row.key_bytes
        self._rows += 1
        self._cells += len(row.cells)

    def had(self, row: Row) -> bool:
        """Whether the row is one that was given before, or in front of one."""
        if self._last is None:
            return False
        key = row.key_bytes
        return key >= self._last if self._reverse else key <= self._last

    def rest(self) -> dict[str, Any] | None:
        """The query for what is left, ``None`` if it is nothing."""
        if self._last is None:
            return self._query
        rest = dict(self._query)
        if "sample" in rest or "page_token" in rest:
            # Neither goes with another selection of rows: it is read again, and what was given is passed over.
            return rest
        for name, count in (("limit", self._rows), ("cell_limit", self._cells)):
            if name in rest:
                rest[name] -= count
                if rest[name] <= 0:
                    return None
        rest.pop("offset", None)
        return self._behind(rest, self._last)

    def _behind(self, rest: dict[str, Any], last: bytes) -> dict[str, Any] | None:
        if "key" in rest:
            return None
        if "keys" in rest:
            keys = [k for k in map(key_bytes, rest["keys"]) if (k < last if self._reverse else k > last)]
            return {**rest, "keys": keys} if keys else None
        ranges = [r for r in (self._clip(r, last) for r in _ranges(rest)) if r is not None]
        for name in ("prefix", "start", "end", "ranges"):
            rest.pop(name, None)
        return {**rest, "ranges": ranges} if ranges else None

    def _clip(self, r: Range, last: bytes) -> Range | None:
        """What is left of a range."""
        start = key_bytes(r.start) if r.start is not None else b""
        end = key_bytes(r.end) if r.end is not None else None
        if self._reverse:
            if end is None or end >= last:
                r = r._replace(end=last, include_end=False)
            return r if start < last else None
        if start <= last:
            r = r._replace(start=last, exclude_start=True)
        return r if end is None or end > last else None


def _ranges(query: Mapping[str, Any]) -> Sequence[Range]:
    """The ranges of a query without keys."""
    if "ranges" in query:
        return [Range(*r) for r in query["ranges"]]
    if "prefix" in query:
        prefix = key_bytes(query["prefix"])
        return [Range(prefix, _behind_prefix(prefix))]
    return [Range(query.get("start"), query.get("end"))]


def _behind_prefix(prefix: bytes) -> bytes | None:
    """The first key behind all with this prefix, ``None`` if there is none."""
    head = prefix.rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1]) if head else None
