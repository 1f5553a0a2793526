"""Values, keys and times come back as they were written."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

import colonnade
from colonnade import F32, I32, Byte, Cell, Table

VALUES: list[colonnade.Value] = [
    "", "text", "\u2028 \x85 \x0b\r\n\x00 é 😀", 0, 2**53 + 1, 2**63 - 1, -(2**63), 0.0, -0.0, 1.0, 1e21, 5e-324, 1.7976931348623157e308,
    True, False, b"", b"\x00\xff", I32(-(2**31)), I32(2**31 - 1), Byte(0), Byte(255), F32(0.1), F32(-0.0), F32(3.4028234663852886e38),
]  # fmt: skip


def same(a: object, b: object) -> bool:
    return type(a) is type(b) and repr(a) == repr(b)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values(table: Table, value: colonnade.Value) -> None:
    table.write("r", {"f:": value})
    row = table.row("r")
    assert row is not None
    assert same(row["f:"], value)
    assert [same(r["f:"], value) for r in table.scan()] == [True]
    assert [same(r["f:"], value) for r in table.page().rows] == [True]
    kind = row.cells[0].type
    table.write("copy", row)
    copy = table.row("copy")
    assert copy is not None
    assert copy.cells == row.cells
    assert copy.cells[0].type == kind


def test_scalars_of_numpy(table: Table) -> None:
    table.write("r", {"f:i": np.int64(2**53 + 1), "f:f": np.float64(0.5), "f:b": np.bool_(True), "f:s": np.str_("s")})
    row = table.row("r")
    assert row is not None
    assert dict(row) == {"f:b": True, "f:f": 0.5, "f:i": 2**53 + 1, "f:s": "s"}
    assert [c.type for c in row.cells] == ["boolean", "f64", "i64", "string"]


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, F32(math.inf), "\ud800", "\udcff", None, [], datetime.now()], ids=repr)
def test_no_values(table: Table, value: colonnade.Value) -> None:
    with pytest.raises((ValueError, TypeError)):
        table.write("r", {"f:": value})
    assert table.count().rows == 0


def test_out_of_range(table: Table) -> None:
    for value in (2**63, I32(2**31), Byte(256), Byte(-1)):
        with pytest.raises(colonnade.InvalidError) as error:
            table.write("r", {"f:": value})
        assert error.value.at == "items[0].cells[0].value"


KEYS: list[str | bytes] = ["a", "\x00", "ü/:", "\u2028", b"\xff\x00", b"caf\xe9", b"\xc3\xa9"]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_keys(table: Table, key: str | bytes) -> None:
    raw = key if isinstance(key, bytes) else key.encode()
    column = b"f:" + raw
    table.write(key, {column: "v"})
    for row in (table.row(raw), *table.scan(), *table.scan(prefix=raw), *table.scan(keys=[key]), *table.page(columns=[column]).rows):
        assert row is not None
        assert row.key_bytes == raw
        assert row[column] == "v"
        assert row[next(iter(row))] == "v"
        assert row.cells[0].qualifier.encode(errors="surrogateescape") == raw
        assert table.row(row.key) is not None
    assert table.read_modify_write(key, colonnade.append(column, "!"))[column] == "v!"
    assert table.aggregate(["count"], group_by=colonnade.by_prefix(4096))[0].key == raw.decode(errors="surrogateescape")
    assert table.delete_row(key, columns=[column]) == 2


def test_binary_columns_are_in_order(table: Table) -> None:
    columns = [b"f:", b"f:a", b"f:\xc3\xa9", b"f:\xff", b"g:", b"g:\x80", b"g:\xee\x80\x80", b"h:a"]
    table.write("r", dict.fromkeys(reversed(columns), 1))
    for row in (table.row("r"), next(iter(table.scan()))):
        assert row is not None
        assert [c.encode(errors="surrogateescape") for c in row] == columns


def test_times(table: Table) -> None:
    noon = datetime(2025, 11, 13, 12, tzinfo=timezone(timedelta(hours=2)))
    table.write("r", [Cell("f:", "old", time=1), Cell("f:", "noon", time=noon)])
    table.write("r", {"g:": 1}, time=2)
    row = table.row("r")
    assert row is not None
    assert [(c.value, c.time) for c in row.cells] == [("noon", 1763028000000000), ("old", 1), (1, 2)]
    assert row.cells[0].datetime == noon
    assert [dict(r) for r in table.scan(since=noon)] == [{"f:": "noon"}]
    assert [dict(r) for r in table.scan(until=noon)] == [{"f:": "old", "g:": 1}]
    with pytest.raises(ValueError, match="time zone"):
        table.write("r", {"f:": 1}, time=datetime(2025, 1, 1))
