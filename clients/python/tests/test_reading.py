"""Rows, scans, pages, counts, aggregates and explanations."""

from __future__ import annotations

import pytest

import colonnade
from colonnade import Cell, Range, Table, by_column, by_delimiter, by_prefix, filters


@pytest.fixture
def table(table: Table) -> Table:
    """Nine rows, a/0 to c/2, with two versions each."""
    for t in (1, 2):
        table.write_rows({f"{p}/{n}": [Cell("f:n", n * t, t), Cell("g:x", f"{p}{n}", t)] for p in "abc" for n in range(3)})
    return table


def keys(rows: object) -> list[str]:
    return [row.key for row in rows]  # type: ignore[attr-defined]


ALL = [f"{p}/{n}" for p in "abc" for n in range(3)]


def test_row(table: Table) -> None:
    row = table.row("b/1", versions=1)
    assert row == colonnade.Row("b/1", [Cell("f:n", 2, 2), Cell("g:x", "b1", 2)])
    assert dict(row) == {"f:n": 2, "g:x": "b1"}
    assert row.family("f") == {"n": 2}
    assert row.get("f:other") is None
    assert "f" not in row
    with pytest.raises(KeyError):
        row["h"]
    assert table.row("nobody") is None
    assert table.row("b/1", families=["h"]) is None
    every = table.row("b/1", columns=["f:n"])
    assert every is not None
    assert [c.time for c in every.versions("f:n")] == [2, 1]
    newest = every.cell("f:n")
    assert newest is not None
    assert (newest.value, newest.family, newest.qualifier) == (2, "f", "n")


def test_rows(table: Table) -> None:
    rows = table.rows(["c/0", "nobody", "a/2", "c/0"], columns=["f:n"], versions=1)
    assert [row and (row.key, dict(row)) for row in rows] == [("c/0", {"f:n": 0}), None, ("a/2", {"f:n": 4}), ("c/0", {"f:n": 0})]
    assert table.rows([]) == []
    assert keys(table.rows_of([{"prefix": "c/", "limit": 2}, {"key": "a/1", "families": ["g"]}, {"limit": 1}])) == [
        "c/0",
        "c/1",
        "a/1",
        "a/0",
    ]


@pytest.mark.parametrize(
    ("query", "want"),
    [
        ({}, ALL),
        ({"key": "b/1"}, ["b/1"]),
        ({"keys": ["c/1", "a/1", "no"]}, ["a/1", "c/1"]),
        ({"prefix": "b/"}, ALL[3:6]),
        ({"start": "b/1"}, ALL[4:]),
        ({"end": "b/1"}, ALL[:4]),
        ({"start": "a/2", "end": "b/1"}, ALL[2:4]),
        ({"ranges": [Range("c/0", "c/1", exclude_start=True, include_end=True), Range(None, "a/1")]}, ["a/0", "c/1"]),
        ({"prefix": "b/", "reverse": True}, ALL[5:2:-1]),
        ({"limit": 2, "offset": 1, "reverse": True}, ["c/1", "c/0"]),
        ({"sample": 0.25}, ["a/0", "b/1", "c/2"]),
        ({"value": (">=", 4), "columns": ["f:n"]}, ["a/2", "b/2", "c/2"]),
        ({"column_prefix": "g:", "value": ("=", "b1")}, ["b/1"]),
        ({"filter": filters.row_key_regex("./2")}, ["a/2", "b/2", "c/2"]),
        ({"limit": None, "prefix": "c/"}, ALL[6:]),
    ],
    ids=str,
)
def test_scan(table: Table, query: colonnade.Query, want: list[str]) -> None:
    assert keys(table.scan(**query)) == want
    assert keys(table.page(**query).rows) == want
    if not query.get("reverse"):
        assert table.count(**query).rows == len(want)
        assert table.aggregate(["count"], **query)[0].count == table.count(**query).cells


def test_keys_may_come_once(table: Table) -> None:
    assert keys(table.scan(keys=(k for k in ["a/1", "b/1"]))) == ["a/1", "b/1"]


def test_limits_of_cells(table: Table) -> None:
    assert [len(r.cells) for r in table.scan(prefix="a/", versions=1)] == [2, 2, 2]
    assert [len(r.cells) for r in table.scan(prefix="a/", cells_per_row=3)] == [3, 3, 3]
    assert [len(r.cells) for r in table.scan(prefix="a/", cell_limit=5)] == [4, 1]
    stripped = next(iter(table.scan(strip_values=True)))
    assert [(c.value, c.type) for c in stripped.cells] == [(None, "i64")] * 2 + [(None, "string")] * 2


def test_scan_is_closed(table: Table) -> None:
    with table.scan() as rows:
        assert next(rows).key == "a/0"
    assert list(rows) == []
    rows = table.scan()
    rows.close()
    assert list(rows) == []


def test_stats(table: Table) -> None:
    scan = table.scan(families=["f"])
    assert scan.stats.rows == 0
    assert len(list(scan)) == 9
    assert (scan.stats.rows, scan.stats.cells, scan.stats.locality_groups) == (9, 18, 1)
    assert table.count(families=["f"])[:2] == (9, 18)


def test_pages(table: Table) -> None:
    for cut in ({"limit": 2}, {"cell_limit": 3}):
        seen, token, pages = [], None, 0
        while pages == 0 or token is not None:
            page = table.page(reverse=True, page_token=token, **cut)  # type: ignore[arg-type]
            seen += [(row.key, c.column, c.time) for row in page.rows for c in row.cells]
            token, pages = page.next_token, pages + 1
        assert seen == [(key, column, t) for key in reversed(ALL) for column in ("f:n", "g:x") for t in (2, 1)]
        assert pages > 3
    with pytest.raises(colonnade.InvalidError) as error:
        table.page(page_token=table.page(limit=1).next_token or "", prefix="b")
    assert error.value.code == "page_token_mismatch"


def test_scan_goes_on_from_a_token(table: Table) -> None:
    token = table.page(limit=4).next_token
    assert token is not None
    assert keys(table.scan(page_token=token)) == ALL[4:]


def test_aggregate(table: Table) -> None:
    groups = table.aggregate(["count", "sum", "min", "max", "avg"], group_by=by_delimiter("/"), columns=["f:n"], versions=1)
    assert list(groups) == [colonnade.Group(p + "/", 3, 6, 0, 4, 2.0) for p in "abc"]
    assert groups.stats.cells == 9
    assert [g.key for g in table.aggregate(["count"], group_by=by_column())] == ["f:n", "g:x"]
    assert [(g.key, g.count) for g in table.aggregate(["count"], group_by=by_prefix(1))] == [("a", 12), ("b", 12), ("c", 12)]
    assert list(table.aggregate(["max"], columns=["g:x"])) == [colonnade.Group(None)]
    table.write("big", {"f:n": 2**63 - 1})
    assert table.aggregate(["sum"], key="big")[0].sum == 2**63 - 1
    with pytest.raises(colonnade.ConflictError) as error:
        table.aggregate(["sum"])
    assert error.value.code == "overflow"


def test_explain(table: Table) -> None:
    explained = table.explain(prefix="a/", families=["f"])
    assert explained["rows"] == {"scanned": 3, "returned": 3}


def test_filters(table: Table) -> None:
    newest_f = filters.family_regex("f") & filters.cells_per_column(1)
    other_g = filters.condition(filters.value_regex("a1"), then=filters.qualifier_regex("x"))
    tree = newest_f | (other_g & filters.label("odd"))
    for rows in (table.rows(["a/1", "a/2"], filter=tree), table.scan(keys=["a/1", "a/2"], filter=tree)):
        assert [row and [(c.column, c.time, c.labels) for c in row.cells] for row in rows] == [
            [("f:n", 2, ()), ("g:x", 2, ("odd",)), ("g:x", 1, ("odd",))],
            [("f:n", 2, ())],
        ]


@pytest.mark.parametrize(
    ("tree", "cells"),
    [
        (filters.pass_all(), 4),
        (filters.block_all(), 0),
        (filters.row_sample(0.999999), 4),
        (filters.column_range("g", "x", "y"), 2),
        (filters.column_range("g", "x", exclude_start=True), 0),
        (filters.column_range("g", end="x", include_end=True), 2),
        (filters.value_range("a", "b"), 2),
        (filters.value_range("a1", "a1", include_end=True), 2),
        (filters.time_range(2), 2),
        (filters.time_range(end=2), 2),
        (filters.cells_per_row(3), 3),
        (filters.cells_per_row_offset(3), 1),
        (filters.strip_values(), 4),
        (filters.sink(), 4),
        (filters.chain(filters.pass_all(), filters.cells_per_row(3), filters.cells_per_row(1)), 1),
        (filters.interleave(filters.pass_all(), filters.pass_all(), filters.block_all()), 8),
        (filters.chain(filters.pass_all()), 4),
        (filters.condition(filters.block_all(), otherwise=filters.cells_per_row(1)), 1),
    ],
    ids=lambda value: str(value.tree) if isinstance(value, filters.Filter) else None,
)
def test_each_filter(table: Table, tree: filters.Filter, cells: int) -> None:
    assert table.count(key="a/1", filter=tree).cells == cells


def test_mistakes_are_told_where_they_are_made(table: Table) -> None:
    for wrong in (
        {"prefixx": "a"},
        {"prefix": "a", "start": "b"},
        {"columns": "f:n"},
        {"keys": "a/1"},
        {"columns": ["f:"], "families": ["f"]},
    ):
        for read in (table.scan, table.count, table.page):
            with pytest.raises(TypeError):
                read(**wrong)
    with pytest.raises(TypeError, match="no keyword 'limit'"):
        table.delete(limit=1)  # type: ignore[call-arg]
    with pytest.raises(colonnade.NotFoundError) as error:
        list(table.scan(families=["nope"]))
    assert (error.value.status, error.value.code, error.value.at) == (404, "unknown_column_family", "column.families[0]")
