"""Tables of Arrow and DataFrames out of scans."""

from __future__ import annotations

from datetime import datetime, timezone

import pandas as pd
import pyarrow as pa
import pytest

from colonnade import F32, I32, Byte, Cell, Table, filters


def test_types(table: Table) -> None:
    table.write("a", {"f:s": "s", "f:i": 2**53 + 1, "f:f": 0.5, "f:t": True, "f:b": b"\xff"})
    table.write("a", {"g:i32": I32(-1), "g:b": Byte(255), "g:f": F32(0.1)})
    table.write("b", [Cell("f:s", "new", 2), Cell("f:s", "old", 1)])
    got = table.scan().to_arrow()
    assert got.schema == pa.schema(
        [("row_key", pa.string()), ("f:b", pa.binary()), ("f:f", pa.float64()), ("f:i", pa.int64()), ("f:s", pa.string()),
         ("f:t", pa.bool_()), ("g:b", pa.uint8()), ("g:f", pa.float32()), ("g:i32", pa.int32())]
    )  # fmt: skip
    assert got.to_pylist() == [
        {"row_key": "a", "f:b": b"\xff", "f:f": 0.5, "f:i": 2**53 + 1, "f:s": "s", "f:t": True, "g:b": 255, "g:f": F32(0.1), "g:i32": -1},
        {"row_key": "b", "f:s": "new", **dict.fromkeys(["f:b", "f:f", "f:i", "f:t", "g:b", "g:f", "g:i32"])},
    ]
    frame = table.scan().to_pandas()
    assert list(frame.index) == ["a", "b"]
    assert frame.index.name == "row_key"
    assert frame.loc["a", "f:i"] == 2**53 + 1
    assert frame["f:i"].dtype == "Int64"
    assert frame["f:t"].dtype == "boolean"
    assert frame["f:i"].isna().tolist() == [False, True]
    frame.index += "2"
    assert table.load(frame) == 2
    for key in ("a", "b"):
        assert dict(table.row(key + "2") or {}) == dict(table.row(key) or {})
    table.write_rows(pd.DataFrame({"f:i": [2**53 + 1], "f:f": [0.5]}, index=["c"]))
    assert dict(table.row("c") or {}) == {"f:f": 0.5, "f:i": 2**53 + 1}
    with pytest.raises(TypeError, match="0 is no key"):
        table.write_rows(pd.DataFrame({"f:i": [1]}))


def test_versions(table: Table) -> None:
    table.write("a", [Cell("f:n", 1, 1), Cell("f:n", 2, 2), Cell("g:", 3, 1)])
    got = table.scan().to_arrow(each_version=True)
    assert got.schema.names == ["row_key", "column", "time", "value"]
    at = [datetime.fromtimestamp(0, timezone.utc).replace(microsecond=t) for t in (1, 2)]
    assert [tuple(line.values()) for line in got.to_pylist()] == [("a", "f:n", at[1], 2), ("a", "f:n", at[0], 1), ("a", "g:", at[0], 3)]
    frame = table.scan().to_pandas(each_version=True)
    assert isinstance(frame["time"].dtype, pd.DatetimeTZDtype)
    assert frame.pivot_table(index="time", columns="column", values="value").shape == (2, 2)


def test_mixed_types(table: Table) -> None:
    table.write_rows({"a": {"f:n": I32(1), "f:x": 1, "g:": 1}, "b": {"f:n": 2, "f:x": 0.5, "g:": "text"}})
    got = table.scan(families=["f"]).to_arrow()
    assert got["f:n"].to_pylist() == [1, 2]
    assert got["f:n"].type == pa.int64()
    assert got["f:x"].to_pylist() == [1.0, 0.5]
    with pytest.raises(TypeError, match=r"'g:' does not fit one type .* types i64 and string; leave it out"):
        table.scan().to_arrow()
    with pytest.raises(TypeError, match="'g:' does not fit"):
        table.scan().to_pandas(schema={"g": pa.int64()})
    table.write("a", {"f:x": 2**53 + 1})
    with pytest.raises(TypeError, match="'f:x' does not fit"):
        table.scan(families=["f"]).to_arrow()


def test_newest_versions(table: Table) -> None:
    table.write_rows({k: [Cell("f:n", n, n) for n in (1, 2, 3)] for k in "ab"})
    for query, want in (({}, 2), ({"versions": 2}, 4), ({"cell_limit": 4}, 4), ({"until": 2}, 2)):
        scan = table.scan(**query)  # type: ignore[arg-type]
        scan.to_arrow()
        assert scan.stats.cells == want
    assert table.scan(filter=filters.time_range(end=3)).to_arrow()["f:n"].to_pylist() == [2, 2]
    page = table.page(limit=1)
    assert table.scan(page_token=page.next_token or "").to_arrow()["row_key"].to_pylist() == ["b"]


def test_batches(table: Table) -> None:
    table.load((f"{n:04}", {"f:": n, **({"g:": "x"} if n >= 900 else {})}) for n in range(1000))
    batches = list(table.scan().to_batches(300))
    assert [b.num_rows for b in batches] == [300, 300, 300, 100]
    assert [b.schema.names for b in batches] == [["row_key", "f:"]] * 3 + [["row_key", "f:", "g:"]]
    schema = pa.schema([("g", pa.large_string()), ("row_key", pa.string()), ("f:none", pa.float32())])
    batches = list(table.scan().to_batches(300, schema=schema))
    assert [b.schema for b in batches] == [schema] * 4
    assert pa.Table.from_batches(batches)["g"].null_count == 900


def test_types_of_all_batches(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("_sync", "_async"):
        monkeypatch.setattr(f"colonnade.{module}.scan._ROWS", 2)
    table.write_rows({f"r{n}": {"f:": 1 if n < 2 else 0.5, f"g:{n // 2}": n} for n in range(6)})
    got = table.scan().to_arrow()
    assert got["f:"].to_pylist() == [1.0, 1.0, 0.5, 0.5, 0.5, 0.5]
    assert got["g:1"].to_pylist() == [None, None, 2, 3, None, None]


def test_nothing(table: Table) -> None:
    assert table.scan().to_arrow().num_rows == 0
    assert list(table.scan().to_batches()) == []
    frame = table.scan().to_pandas()
    assert (len(frame), frame.index.name) == (0, "row_key")
    assert table.scan().to_pandas(schema={"row_key": pa.string(), "f:": pa.int64()})["f:"].sum() == 0


def test_any_bytes(table: Table) -> None:
    table.write(b"\xff", {b"f:\xff": 1, "f:": "x"})
    table.write("a", {"f:": "y"})
    got = table.scan().to_arrow()
    assert got["row_key"].to_pylist() == [b"a", b"\xff"]
    assert got.schema.names == ["row_key", "f:", "f:\\xff"]
    versions = table.scan().to_arrow(each_version=True, schema={"column": pa.binary(), "row_key": pa.binary()})
    assert versions["column"].to_pylist() == [b"f:", b"f:", b"f:\xff"]


def test_stripped(table: Table) -> None:
    table.write("a", {"f:": 1})
    assert table.scan(strip_values=True).to_arrow()["f:"].type == pa.int64()
