"""Filter trees: docs/api.md says what each filter does (Filter trees).

``a & b`` is a chain, and ``a | b`` an interleave.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from colonnade._values import Key, Time, Value, encode_key, key_bytes, micros, sortable


@dataclass(frozen=True)
class Filter:
    """A filter of the cells of a row, made by the functions of this module."""

    tree: dict[str, Any]
    """The filter as the API takes it."""

    def __and__(self, other: Filter) -> Filter:
        return _joined("chain", self, other)

    def __or__(self, other: Filter) -> Filter:
        return _joined("interleave", self, other)


def _joined(kind: str, *filters: Filter) -> Filter:
    """Several filters as one of a kind, those of that kind taken apart."""
    parts: list[dict[str, Any]] = []
    for f in filters:
        parts.extend(f.tree[kind]["filters"] if kind in f.tree else [f.tree])
    return Filter({kind: {"filters": parts}}) if len(parts) > 1 else filters[0]


def chain(first: Filter, *more: Filter) -> Filter:
    """Applies one filter after the other."""
    return _joined("chain", first, *more)


def interleave(first: Filter, *more: Filter) -> Filter:
    """Applies each filter to the cells, and joins what they pass on."""
    return _joined("interleave", first, *more)


def condition(predicate: Filter, then: Filter | None = None, otherwise: Filter | None = None) -> Filter:
    """Applies ``then`` to a row of which ``predicate`` passes on a cell, ``otherwise`` to others. ``None`` passes on nothing."""
    tree = {"predicate_filter": predicate.tree}
    if then is not None:
        tree["true_filter"] = then.tree
    if otherwise is not None:
        tree["false_filter"] = otherwise.tree
    return Filter({"condition": tree})


def sink() -> Filter:
    """Moves the cells to the answer, past all other filters."""
    return Filter({"sink": True})


def pass_all() -> Filter:
    return Filter({"pass_all_filter": True})


def block_all() -> Filter:
    return Filter({"block_all_filter": True})


def column(name: Key) -> Filter:
    """Cells of a column: ``family:qualifier``."""
    family, _, qualifier = key_bytes(name).partition(b":")
    return column_range(family.decode(), qualifier, qualifier, include_end=True)


def value_is(value: Value) -> Filter:
    """Cells whose value, as bytes, is that of this one: of a column whose values have all one type."""
    raw = sortable(value)
    return value_range(raw, raw, include_end=True)


def row_key_regex(pattern: Key) -> Filter:
    """Rows whose whole key matches, in the syntax of RE2."""
    return Filter({"row_key_regex_filter": encode_key(pattern)})


def row_sample(probability: float) -> Filter:
    """Rows with this probability, always the same."""
    return Filter({"row_sample_filter": probability})


def family_regex(pattern: str) -> Filter:
    return Filter({"family_name_regex_filter": pattern})


def qualifier_regex(pattern: Key) -> Filter:
    return Filter({"column_qualifier_regex_filter": encode_key(pattern)})


def value_regex(pattern: Key) -> Filter:
    """Cells whose value, as bytes, matches."""
    return Filter({"value_regex_filter": encode_key(pattern)})


def column_range(
    family: str, start: Key | None = None, end: Key | None = None, *, exclude_start: bool = False, include_end: bool = False
) -> Filter:
    """Cells of a family with a qualifier from ``start`` up to ``end``."""
    return Filter({"column_range_filter": {"family_name": family, **_bounds("qualifier", start, end, exclude_start, include_end)}})


def value_range(start: Key | None = None, end: Key | None = None, *, exclude_start: bool = False, include_end: bool = False) -> Filter:
    """Cells whose value, as bytes, is from ``start`` up to ``end``."""
    return Filter({"value_range_filter": _bounds("value", start, end, exclude_start, include_end)})


def _bounds(of: str, start: Key | None, end: Key | None, exclude_start: bool, include_end: bool) -> dict[str, Any]:
    bounds: dict[str, Any] = {}
    if start is not None:
        bounds[f"start_{of}_{'open' if exclude_start else 'closed'}"] = encode_key(start)
    if end is not None:
        bounds[f"end_{of}_{'closed' if include_end else 'open'}"] = encode_key(end)
    return bounds


def time_range(start: Time | None = None, end: Time | None = None) -> Filter:
    """Versions from the time ``start`` up to ``end``."""
    times = {}
    if start is not None:
        times["start_timestamp_micros"] = micros(start)
    if end is not None:
        times["end_timestamp_micros"] = micros(end)
    return Filter({"timestamp_range_filter": times})


def cells_per_row(limit: int) -> Filter:
    """The first cells of each row."""
    return Filter({"cells_per_row_limit_filter": limit})


def cells_per_row_offset(offset: int) -> Filter:
    """All cells of each row but the first ones."""
    return Filter({"cells_per_row_offset_filter": offset})


def cells_per_column(limit: int) -> Filter:
    """The first versions of each column."""
    return Filter({"cells_per_column_limit_filter": limit})


def strip_values() -> Filter:
    """Makes each value empty, of the type ``bytes``."""
    return Filter({"strip_value_transformer": True})


def label(name: str) -> Filter:
    """Adds a label to the cells: ``Cell.labels``."""
    return Filter({"apply_label_transformer": name})
