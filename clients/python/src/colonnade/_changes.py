"""Changes of the cells of a row."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from colonnade._query import times_of
from colonnade._rows import Cell, encode_cell
from colonnade._values import Key, Time, Value, encode_key, expect
from colonnade.filters import Filter


@dataclass(frozen=True)
class Mutation:
    """A change of a row: ``set_cell``, ``delete_column``, ``delete_family`` or ``delete_cells``."""

    json: dict[str, Any]
    """As the API takes it."""


def set_cell(column: Key, value: Value, time: Time | None = None) -> Mutation:
    """Writes a cell. Without a time it gets that of the commit."""
    return Mutation({"set": encode_cell(Cell(column, value, time))})


def delete_column(column: Key, since: Time | None = None, until: Time | None = None) -> Mutation:
    """Deletes the versions of a column, or those with times from ``since`` up to ``until``."""
    out: dict[str, Any] = {"column_key": encode_key(column)}
    if times := times_of(since, until):
        out["time"] = times
    return Mutation({"delete_column": out})


def delete_family(name: str) -> Mutation:
    """Deletes the row's cells of a family."""
    return Mutation({"delete_family": name})


def delete_cells() -> Mutation:
    """Deletes all cells of the row."""
    return Mutation({"delete_row": True})


Mutations: TypeAlias = "Mapping[Any, Iterable[Mutation]] | Iterable[tuple[Key, Iterable[Mutation]]]"
"""Mutations by row key."""


def encode_mutations(mutations: Iterable[Mutation]) -> list[dict[str, Any]]:
    mutations = expect(mutations, Iterable, f"a list of {_MUTATIONS}")
    return [expect(m, Mutation, _MUTATIONS).json for m in mutations]


_MUTATIONS = "set_cell(…), delete_column(…), delete_family(…) or delete_cells()"


def encode_items(rows: Mutations) -> list[dict[str, Any]]:
    pairs = rows.items() if isinstance(rows, Mapping) else rows
    return [{"row_key": encode_key(key), "mutations": encode_mutations(mutations)} for key, mutations in pairs]


@dataclass(frozen=True)
class Exists:
    """A condition: whether a row has a cell."""

    exists: bool


def exists() -> Exists:
    """Holds for a row that has a cell."""
    return Exists(True)


def missing() -> Exists:
    """Holds for a row that has none."""
    return Exists(False)


def encode_check(key: Key, condition: Filter | Exists, then: Iterable[Mutation], otherwise: Iterable[Mutation]) -> dict[str, Any]:
    body: dict[str, Any] = {"row_key": encode_key(key)}
    expect(condition, (Exists, Filter), "exists(), missing() or a filter as the condition")
    body["if"] = {"exists": condition.exists} if isinstance(condition, Exists) else condition.tree
    for name, mutations in (("then", encode_mutations(then)), ("else", encode_mutations(otherwise))):
        if mutations:
            body[name] = mutations
    return body


@dataclass(frozen=True)
class Rule:
    """A rule that derives a new version of a column from its newest one: ``increment`` or ``append``."""

    json: dict[str, Any]


def encode_rules(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    return [expect(r, Rule, "increment(…) or append(…)").json for r in rules]


def increment(column: Key, n: int = 1) -> Rule:
    """Adds to an ``int``. A column without a version counts as 0."""
    return Rule({"column_key": encode_key(column), "increment": n})


def append(column: Key, text: str | bytes) -> Rule:
    """Appends to a ``str`` or to ``bytes``, which keep their type. A column without a version counts as empty."""
    if isinstance(text, bytes):
        # Text in this form makes a new column one of bytes.
        return Rule({"column_key": encode_key(column), "append": _base64(text)})
    return Rule({"column_key": encode_key(column), "append": text})


def _base64(raw: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(raw).decode()}
