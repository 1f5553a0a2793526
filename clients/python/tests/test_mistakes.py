"""Mistakes that people make are told where they are made, with what to say instead."""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import colonnade
from colonnade import delete_cells, exists, increment, set_cell

MISTAKES: list[tuple[Callable[[Any], object], str]] = [
    (lambda t: t.write("k", {"f:": Decimal(1)}), "of type Decimal, and not str"),
    (lambda t: t.write("k", {"f:": 1}, time=time.time()), "say microseconds since 1970"),
    (lambda t: t.scan(since="2025-01-01"), "say microseconds since 1970"),
    (lambda t: t.write(5, {"f:": 1}), "5 is no key"),
    (lambda t: t.write("k", "f:"), "say the cells of a row as"),
    (lambda t: t.write("k", [("f:", 1)]), "say the cells of a row as"),
    (lambda t: t.write_rows({"k": 5}), "say the cells of a row as"),
    (lambda t: t.write_rows(["k"]), "say a row as"),
    (lambda t: t.load("k"), "say a row as"),
    (lambda t: t.rows("abc"), r"say rows\(\[key\]\)"),
    (lambda t: t.scan(keys="abc"), r"say keys=\["),
    (lambda t: t.row("k", columns="f:"), r"say columns=\["),
    (lambda t: t.delete_row("k", columns="f:"), r"say columns=\["),
    (lambda t: t.create_families("g"), r"say families=\["),
    (lambda t: t.create_families([1]), "say the name of a family"),
    (lambda t: t.set_gc("f", max_age=60), "say max_age=timedelta"),
    (lambda t: t.scan(value=5), "say an operator and a value"),
    (lambda t: t.scan(filter={"pass_all_filter": True}), "say a filter"),
    (lambda t: t.scan(prefix="a", keys=["b"]), "one of keys, prefix"),
    (lambda t: t.aggregate(["sum"], group_by="column"), "say group_by=by_prefix"),
    (lambda t: t.mutate("k", [delete_cells()]), "say set_cell"),
    (lambda t: t.mutate("k", increment("f:")), "say set_cell"),
    (lambda t: t.check_and_mutate("k", exists(), then=delete_cells()), "say a list of set_cell"),
    (lambda t: t.check_and_mutate("k", True, then=[delete_cells()]), r"say exists\(\)"),
    (lambda t: t.read_modify_write("k", set_cell("f:", 1)), "say increment"),
]


@pytest.mark.parametrize(("mistake", "say"), MISTAKES, ids=lambda value: value if isinstance(value, str) else "")
def test_mistake(mistake: Callable[[Any], object], say: str) -> None:
    with colonnade.connect("http://127.0.0.1:1", attempts=1) as db, pytest.raises(TypeError, match=say):
        mistake(db.table("t"))
