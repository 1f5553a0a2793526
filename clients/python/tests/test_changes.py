"""Writes, mutations and deletions."""

from __future__ import annotations

import pytest

import colonnade
from colonnade import (
    F32,
    I32,
    Byte,
    Cell,
    Table,
    Value,
    append,
    delete_cells,
    delete_column,
    delete_family,
    exists,
    filters,
    increment,
    missing,
    set_cell,
)


def cells(table: Table) -> dict[str, dict[str, object]]:
    return {row.key: dict(row) for row in table.scan()}


def test_write_rows_is_atomic(table: Table) -> None:
    with pytest.raises(colonnade.NotFoundError) as error:
        table.write_rows([("a", {"f:": 1}), ("b", {"nope:": 1})])
    assert error.value.at == "items[1].cells[0].column_key"
    assert str(error.value).endswith("(404 unknown_column_family)")
    assert cells(table) == {}
    table.write_rows([("a", {"f": 1}), ("b", [Cell("g:q", "x")])])
    table.write_rows(list(table.scan(key="a")))
    assert cells(table) == {"a": {"f:": 1}, "b": {"g:q": "x"}}


def test_load(table: Table) -> None:
    rows = [(f"{n:05}", {"f:": n, "g:": "x" * 100}) for n in range(10_000)]
    assert table.load(rows) == 10_000
    assert table.count().rows == 10_000
    assert table.load({"dict": {"f:": 1}}) == 1
    assert table.load(iter(())) == 0
    copy = colonnade.connect("http://127.0.0.1:1").table("no")  # is not asked
    assert copy.load(()) == 0


def test_load_of_a_scan(table: Table, db: colonnade.Client) -> None:
    table.load((f"{n:05}", [Cell("f:", n, time=2), Cell("f:", -n, time=1)]) for n in range(1000))
    copy = db.create_table(table.name + "copy", families=["f"])
    assert copy.load(table.scan()) == 1000
    assert list(copy.scan()) == list(table.scan())
    copy.drop()


def test_load_says_how_many_rows_are_written(table: Table) -> None:
    def rows() -> object:
        yield from ((f"{n:05}", {"f:": n}) for n in range(9000))
        yield "bad", {"nope:": 1}

    with pytest.raises(colonnade.NotFoundError, match="8192 rows are written") as error:
        table.load(rows())
    assert error.value.rows_written == table.count().rows == 8192


def test_mutate(table: Table) -> None:
    table.write("r", [Cell("f:a", 1, 1), Cell("f:a", 2, 2), Cell("g:b", 3, 1)])
    table.mutate("r", delete_column("f:a", until=2), delete_family("g"), set_cell("g:c", 4))
    assert cells(table) == {"r": {"f:a": 2, "g:c": 4}}
    table.mutate("r", delete_column("f:a"))
    assert cells(table) == {"r": {"g:c": 4}}
    table.mutate_rows({"r": [delete_cells()], "s": [set_cell("f:", 1)]})
    assert cells(table) == {"s": {"f:": 1}}
    outcomes = table.mutate_each([("s", [delete_family("nope")]), ("t", [set_cell("f:", 2, time=9)])])
    assert [(type(o), getattr(o, "code", None), getattr(o, "at", None)) for o in outcomes] == [
        (colonnade.NotFoundError, "unknown_column_family", "items[0].mutations[0].delete_family"),
        (type(None), None, None),
    ]
    assert cells(table) == {"s": {"f:": 1}, "t": {"f:": 2}}


def test_check_and_mutate(table: Table) -> None:
    assert table.check_and_mutate("r", missing(), then=[set_cell("f:", "first")])
    assert not table.check_and_mutate("r", missing(), then=[set_cell("f:", "second")])
    assert table.check_and_mutate("r", exists(), then=[set_cell("g:", 1)], otherwise=[set_cell("g:", 2)])
    is_first = filters.family_regex("f") & filters.cells_per_column(1) & filters.value_regex("first")
    assert table.check_and_mutate("r", is_first, then=[delete_family("f")])
    assert not table.check_and_mutate("r", is_first, otherwise=[set_cell("h:", 3)])
    assert cells(table) == {"r": {"g:": 1, "h:": 3}}
    for wrong in (set_cell("f:", 1), [{"f:": 1}]):
        with pytest.raises(TypeError):
            table.check_and_mutate("r", exists(), then=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="condition"):
        table.check_and_mutate("r", True, then=[delete_cells()])  # type: ignore[arg-type]


VALUES: list[Value] = ["", "é", b"\xff", 0, 7, -7, 2**53 + 1, 0.5, -0.0, True, False, I32(-7), Byte(200), F32(0.1)]


@pytest.mark.parametrize("column", ["f:a.$b", "f:", "f", b"f:\xff"])
def test_a_change_only_if_nothing_has_changed(table: Table, column: str | bytes) -> None:
    for value in VALUES:
        unchanged = filters.column(column) & filters.cells_per_column(1) & filters.value_is(value)
        table.write("r", {column: "before", "f:b": value})
        assert not table.check_and_mutate("r", unchanged, then=[delete_cells()])
        table.write("r", {column: value})
        assert table.check_and_mutate("r", unchanged, then=[set_cell(column, "after")])
        assert not table.check_and_mutate("r", unchanged, then=[delete_cells()])


def test_read_modify_write(table: Table) -> None:
    row = table.read_modify_write("r", increment("f:n"), increment("f:n", -3), append("g:s", "a"), append("g:b", b"\xff"))
    assert dict(row) == {"f:n": -2, "g:b": b"\xff", "g:s": "a"}
    for rule, code in (
        (increment("g:s"), "not_a_number"),
        (append("f:n", "x"), "not_appendable"),
        (increment("f:n", -(2**63)), "overflow"),
    ):
        with pytest.raises(colonnade.ConflictError) as error:
            table.read_modify_write("r", rule)
        assert error.value.code == code


def test_deletions(table: Table) -> None:
    table.load((f"{p}{n}", [Cell("f:", 1, 1), Cell("f:", 2, 2), Cell("g:", 3, 2)]) for p in "ab" for n in range(3))
    assert table.count_delete(prefix="a", until=2)[:2] == (3, 3)
    table.delete(prefix="a", until=2)
    assert table.count().cells == 6 + 9
    table.delete(keys=["a0", "b0"], families=["g"])
    assert table.count().cells == 1 + 4 + 2 + 6
    assert table.delete_row("a1") == 2
    assert table.delete_row("b1", columns=["f"]) == 2
    assert sorted(cells(table)) == ["a0", "a2", "b0", "b1", "b2"]
    with pytest.raises(colonnade.InvalidError, match="all") as error:
        table.delete()
    assert error.value.code == "all_rows"
    assert table.count_delete().rows == 5
    table.delete(start="b1", all=False)
    assert sorted(cells(table)) == ["a0", "a2", "b0"]
    table.delete(all=True)
    assert cells(table) == {}


def test_an_idempotency_key_of_the_caller(table: Table) -> None:
    for _ in range(2):
        assert table.read_modify_write("r", increment("f:n"), idempotency_key="once")["f:n"] == 1
        table.write("w", {"f:": 1}, idempotency_key="write")
    assert table.count(key="w").cells == 1
    with pytest.raises(colonnade.InvalidError) as error:
        table.write("w", {"f:": 2}, idempotency_key="write")
    assert error.value.code == "idempotency_key_reused"
