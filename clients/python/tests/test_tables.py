"""Tables, families, and the server itself."""

from __future__ import annotations

from datetime import timedelta

import pytest

import colonnade
from colonnade import Cell, Client, Family, Table


def test_tables(db: Client) -> None:
    table = db.create_table("a#b", ["t", Family("c", max_versions=3, max_age=timedelta(days=1), both=True)], locality_groups=[["c"]])
    with pytest.raises(colonnade.ExistsError):
        db.create_table("a#b")
    info = table.describe()
    assert info.name == "a#b"
    assert info.families == [Family("c", 3, timedelta(days=1), both=True), Family("t")]
    assert [group.families for group in info.groups] == [["c"]]
    assert {p.name for p in info.partitions} >= {"_man_a#b", "_dat_a#b"}
    assert "a#b" in [t.name for t in db.tables()]

    table.set_deletion_protection(True)
    table.set_default_gc(max_versions=2)
    assert table.describe().deletion_protection
    assert table.describe().default_gc == Family("", 2)
    with pytest.raises(colonnade.ConflictError) as error:
        table.drop()
    assert error.value.code == "deletion_protected"
    table.set_deletion_protection(False)
    table.drop()
    with pytest.raises(colonnade.NotFoundError) as gone:
        table.describe()
    assert (gone.value.code, gone.value.at) == ("unknown_table", "path")


def test_families(table: Table) -> None:
    table.create_families(["x", Family("y", max_age=timedelta(hours=1))], locality_group=True)
    with pytest.raises(colonnade.ExistsError):
        table.create_families(["z", "x"])
    assert ["x", "y"] in [g.families for g in table.describe().groups]
    table.write("r", [Cell("x:", n, n) for n in range(1, 6)])
    assert table.count_gc("x", max_versions=2).cells == 3
    assert table.count(families=["x"]).cells == 5
    table.set_gc("x", max_versions=2)
    assert table.count(families=["x"]).cells == 2
    table.drop_family("y")
    assert [f.name for f in table.describe().families] == ["f", "g", "h", "x"]
    with pytest.raises(ValueError, match="whole seconds"):
        table.set_gc("x", max_age=timedelta(seconds=0.5))


def test_move(table: Table) -> None:
    table.write("r", {"f:": 1})
    assert table.move_family("f", "new").origin is None
    group = next(g for g in table.describe().groups if g.families == ["f"])
    table.move_family("f", group.id)
    with pytest.raises(colonnade.NotFoundError) as error:
        table.move_family("f", "nope")
    assert error.value.code == "unknown_locality_group"


def test_advice(table: Table) -> None:
    table.load((f"{n:03}", {"f:": n, "g:": "x" * 500}) for n in range(2000))
    for _ in range(5):
        assert table.count(families=["f"]).rows == 2000
    advice = table.advice()
    assert {move.family for move in advice.moves} <= {"f", "g"}
    assert {"f"} in [set(q["column_families"]) for q in advice.queries]


def test_key_space(table: Table) -> None:
    table.load((f"{n:03}", {"f:": n}) for n in range(100))
    assert table.count().rows == 100
    loads = table.key_space()
    assert sum(load.rows_written for load in loads) == 100
    assert loads[0].start is None
    assert loads[-1].end is None
    assert table.key_space(until=1) == []


def test_server(db: Client) -> None:
    assert db.ready() == "The server takes requests"
    assert "# HELP" in db.metrics()
    assert db.call("GET", "/v1/table")["tables"]["count"] == len(db.tables())
    db.call("PUT", "/v1/table/called", {"column_families": [{"name": "f"}]})
    body = {"row_key": "n", "rules": [{"column_key": "f:", "increment": 1}]}
    for _ in range(2):
        db.call("POST", "/v1/table/called/read-modify-write", body, idempotency_key="once")
    assert [row["f:"] for row in db.table("called").scan()] == [1]
    db.call("DELETE", "/v1/table/called")


def test_urls_and_options() -> None:
    for url in ("127.0.0.1:9876", "ftp://a", "http://", "http://a?b", ""):
        with pytest.raises(ValueError, match="is no URL"):
            colonnade.connect(url)
    with pytest.raises(ValueError, match="newline"):
        colonnade.connect("http://127.0.0.1:1", token="cln_x\n")
    with pytest.warns(UserWarning, match="without encryption"):
        colonnade.connect("http://db.example", token="cln_x").close()
