"""Aggregates: what a query selects, summed up by the server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from colonnade._query import body_of
from colonnade._rows import Stats, stats_of
from colonnade._values import Key, Value, decode_key, encode_key, expect, untyped

Function: TypeAlias = Literal["count", "sum", "min", "max", "avg"]


class GroupBy(NamedTuple):
    """What makes the groups of an aggregate: ``by_prefix``, ``by_delimiter`` or ``by_column``."""

    json: Any


def by_prefix(length: int) -> GroupBy:
    """A group for the first bytes of the row key."""
    return GroupBy({"row_prefix": length})


def by_delimiter(delimiter: Key) -> GroupBy:
    """A group for the row key up to the first delimiter, which is part of the group's key."""
    return GroupBy({"row_prefix": encode_key(delimiter)})


def by_column() -> GroupBy:
    """A group for each column."""
    return GroupBy("column")


@dataclass(frozen=True)
class Group:
    """A group of an aggregate. What was not asked for, or has no number, is ``None``."""

    key: str | None
    """``None`` without ``group_by``."""
    count: int | None = None
    sum: Value | None = None
    min: Value | None = None
    max: Value | None = None
    avg: Value | None = None


class Groups(list[Group]):
    """The groups of an aggregate, sorted, and what it has cost."""

    def __init__(self, groups: Iterable[Group], stats: Stats) -> None:
        super().__init__(groups)
        self.stats = stats


def encode_aggregate(of: Iterable[Function], group_by: GroupBy | None, query: Mapping[str, Any]) -> dict[str, Any]:
    body = {**body_of(query), "of": [of] if isinstance(of, str) else list(of)}
    if group_by is not None:
        body["group_by"] = expect(group_by, GroupBy, "group_by=by_prefix(…), by_delimiter(…) or by_column()").json
    return body


def groups_of(result: dict[str, Any]) -> Groups:
    return Groups((_group(g) for g in result["groups"]), stats_of(result))


def _group(json: dict[str, Any]) -> Group:
    values = {name: untyped(v["type"], v["value"]) for name in ("sum", "min", "max", "avg") if (v := json.get(name)) is not None}
    return Group(None if json["key"] is None else decode_key(json["key"]), json.get("count"), **values)
