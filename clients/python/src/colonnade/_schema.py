"""Tables, families and locality groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

from colonnade._values import decode_key, expect, several


@dataclass(frozen=True)
class Family:
    """A column family, and which of its versions are garbage.

    A version is garbage when its cell has ``max_versions`` newer ones, or when it is older than ``max_age``; with ``both``, when
    both are so. ``None`` is no bound. To create a family without either gives it the default of its table, if that has one.
    """

    name: str
    max_versions: int | None = None
    max_age: timedelta | None = None
    """Whole seconds."""
    both: bool = False
    moving: Move | None = None
    """Of a family that was listed: how far its move is, if there is one."""


@dataclass(frozen=True)
class Move:
    """How far a family has moved to another locality group. ``None`` is the partition of families without a group."""

    group: str | None
    origin: str | None
    rows: int
    cells: int
    bytes: int
    error: str | None = None


@dataclass(frozen=True)
class LocalityGroup:
    id: str
    families: list[str]


@dataclass(frozen=True)
class Partition:
    """Where a table keeps cells on disk. The last five fields are those of ``describe``."""

    name: str
    path: str
    levels: list[Level]
    cells: int = 0
    disk_bytes: int = 0
    memory_bytes: int = 0
    error: str | None = None
    """The damage, if there is any."""


@dataclass(frozen=True)
class Level:
    files: int
    bytes: int


@dataclass(frozen=True)
class TableInfo:
    name: str
    families: list[Family]
    groups: list[LocalityGroup]
    partitions: list[Partition]
    disk_bytes: int
    deletion_protection: bool
    default_gc: Family | None
    """Bounds of families that are created without any; its name is empty."""


@dataclass(frozen=True)
class Advised:
    """A move that would save reads: ``table.move_family(advised.family, advised.group)`` makes it."""

    family: str
    group: str | None
    saves_bytes: int
    saves_partitions: int
    bytes: int
    """About how much the family has."""


@dataclass(frozen=True)
class Advice:
    moves: list[Advised]
    """In this order, each when the one before has arrived."""
    since: int
    """When the count of queries began."""
    queries: list[dict[str, Any]]
    """As in docs/api.md (Advice)."""


@dataclass(frozen=True)
class Load:
    """The load of a range of row keys in a window of time. Counts are estimates."""

    start: str | None
    """The first key of the range, ``None`` for no bound."""
    end: str | None
    """The first key behind it."""
    since: int
    until: int
    """The window, in microseconds; ``until`` is not in it."""
    rows_read: int
    rows_written: int
    bytes_read: int
    bytes_written: int


FamilySpec: TypeAlias = "str | Family"


def encode_families(families: Iterable[FamilySpec]) -> list[dict[str, Any]]:
    out = []
    for f in several(families, "families=[…]"):
        f = Family(f) if isinstance(f, str) else expect(f, Family, "the name of a family, or Family(…)")
        bounds = encode_gc(f.max_versions, f.max_age, f.both)
        out.append({"name": f.name, "gc_settings": bounds} if bounds != _NO_BOUNDS else {"name": f.name})
    return out


def encode_gc(max_versions: int | None, max_age: timedelta | None, both: bool) -> dict[str, Any]:
    seconds = None
    if max_age is not None:
        seconds, rest = divmod(expect(max_age, timedelta, "max_age=timedelta(…)"), timedelta(seconds=1))
        if rest:
            raise ValueError(f"{max_age} is not of whole seconds")
    out: dict[str, Any] = {"version_limit": max_versions, "ttl_secs": seconds}
    if both:
        out["mode"] = "intersection"
    return out


_NO_BOUNDS = encode_gc(None, None, False)


def encode_table(families: Iterable[FamilySpec], groups: Iterable[Sequence[str]]) -> dict[str, Any]:
    body: dict[str, Any] = {"column_families": encode_families(families)}
    if listed := [list(g) for g in groups]:
        body["locality_groups"] = listed
    return {name: value for name, value in body.items() if value}


def _family(name: str, gc: Mapping[str, Any], moving: Mapping[str, Any] | None = None) -> Family:
    age = gc["ttl_secs"]
    return Family(
        name,
        gc["version_limit"],
        None if age is None else timedelta(seconds=age),
        gc.get("mode") == "intersection",
        None if moving is None else move_of(moving),
    )


def move_of(json: Mapping[str, Any]) -> Move:
    return Move(
        json["locality_group"],
        json.get("from"),
        json.get("row_count", 0),
        json.get("cell_count", 0),
        json.get("bytes", 0),
        json.get("error"),
    )


def table_of(json: Mapping[str, Any]) -> TableInfo:
    gc = json.get("default_gc_settings")
    return TableInfo(
        json["name"],
        [_family(f["name"], f["gc_settings"], f.get("moving")) for f in json["column_families"]],
        [LocalityGroup(g["id"], g["column_families"]) for g in json["locality_groups"]],
        [_partition(p) for p in json["partitions"]],
        json["disk_space_in_bytes"],
        json.get("deletion_protection", False),
        None if gc is None else _family("", gc),
    )


def _partition(json: Mapping[str, Any]) -> Partition:
    levels = [Level(level["files"], level["bytes"]) for level in json.get("levels", ())]
    cells, disk, memory = (json.get(name, 0) for name in ("cells", "disk_space_in_bytes", "memtable_bytes"))
    return Partition(json["name"], json["path"], levels, cells, disk, memory, json.get("error"))


def advice_of(json: Mapping[str, Any]) -> Advice:
    moves = [
        Advised(m["column_family"], m["body"]["locality_group"], m["saves_bytes"], m["saves_partitions"], m["bytes"]) for m in json["moves"]
    ]
    return Advice(moves, json["since"], json["queries"])


def loads_of(json: Mapping[str, Any]) -> list[Load]:
    starts, ends = ([decode_key(r[bound]) if bound in r else None for r in json["ranges"]] for bound in ("start", "end"))
    counts = ("rows_read", "rows_written", "bytes_read", "bytes_written")
    return [
        Load(starts[load["range"]], ends[load["range"]], window["start"], window["end"], **{name: load[name] for name in counts})
        for window in json["windows"]
        for load in window["loads"]
    ]
