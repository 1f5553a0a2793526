"""What is sent again, and what is not; that nothing is applied twice."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator

import pytest
from conftest import Connect
from servers import Proxy, apply_and_refuse, cut, forward, lose_answer, lose_request, refuse, without_end

import colonnade
from colonnade import Range, Table, append, increment, missing, set_cell


@pytest.mark.parametrize(
    "step",
    [lose_request, lose_answer, cut(0), cut(20), refuse(503, "overloaded"), refuse(503), refuse(502), refuse(429, "quota_exceeded"),
     apply_and_refuse(504, "outcome_unknown"), apply_and_refuse(502),
     refuse(408, "request_timeout"), refuse(409, "idempotency_key_in_use")],
)  # fmt: skip
def test_changes_of_cells_are_applied_once(broken: Table, proxy: Proxy, step: object) -> None:
    proxy.play(step, step)  # type: ignore[arg-type]
    assert broken.read_modify_write("n", increment("f:n"))["f:n"] == 1
    assert len(proxy.seen) == 3
    assert len({seen.key for seen in proxy.seen}) == 1
    assert len({seen.body for seen in proxy.seen}) == 1
    proxy.play(step)  # type: ignore[arg-type]
    assert broken.read_modify_write("n", increment("f:n"), append("f:s", "x"))["f:s"] == "x"
    row = broken.row("n", versions=1)
    assert row is not None
    assert dict(row) == {"f:n": 2, "f:s": "x"}


def test_every_change_of_cells_has_a_key_of_its_own(broken: Table, proxy: Proxy) -> None:
    def changes() -> None:
        broken.write("a", {"f:": 1})
        broken.write_rows({"a": {"f:": 1}})
        broken.load({"a": {"f:": 1}})
        broken.mutate("a", set_cell("f:", 1))
        broken.mutate_rows({"a": [set_cell("f:", 1)]})
        broken.mutate_each({"a": [set_cell("f:", 1)]})
        assert broken.check_and_mutate("lock", missing(), then=[set_cell("f:", 1)])
        broken.delete_row("lock")
        broken.delete(prefix="lock")

    for steps in ([], [lose_answer, forward] * 9):
        proxy.play(*steps)
        changes()
        assert len(proxy.seen) == 9 + len(steps) / 2
        assert len({seen.key for seen in proxy.seen}) == 9
        assert all(seen.key for seen in proxy.seen)


def test_a_check_that_was_applied_is_answered_as_before(broken: Table, proxy: Proxy) -> None:
    proxy.play(lose_answer, lose_answer)
    assert broken.check_and_mutate("lock", missing(), then=[set_cell("f:owner", "me")])


def test_load_is_applied_once(broken: Table, proxy: Proxy) -> None:
    proxy.play(lose_answer, lose_request, cut(3))
    assert broken.load((f"{n:05}", {"f:": n}) for n in range(5000)) == 5000
    assert broken.count()[:2] == (5000, 5000)


def test_reads_are_sent_again(broken: Table, proxy: Proxy) -> None:
    broken.write("a", {"f:": 1})
    reads: list[Callable[[], object]] = [
        lambda: broken.row("a"),
        lambda: broken.rows(["a"]),
        lambda: broken.count().rows,
        lambda: broken.page().rows,
        lambda: list(broken.scan()),
        lambda: broken.aggregate(["count"]),
        lambda: broken.describe().name,
        lambda: broken.count_delete().rows,
        lambda: broken.count_gc("f", max_versions=1).rows,
        lambda: broken.advice().moves,
    ]
    for read in reads:
        want = read()
        for step in (lose_request, cut(9), refuse(503), apply_and_refuse(504), refuse(503, "shutting_down")):
            proxy.play(step)
            assert read() == want
            assert len(proxy.seen) == 2
            assert not proxy.seen[0].key


def test_changes_of_tables_are_not_sent_again(broken: Table, proxy: Proxy) -> None:
    for step in (lose_answer, cut(5), apply_and_refuse(504, "outcome_unknown")):
        proxy.play(step)
        with pytest.raises(colonnade.OutcomeUnknownError):
            broken.create_families([f"x{random.randrange(1 << 60)}"])
        assert len(proxy.seen) == 1
    proxy.play(refuse(503, "overloaded"))
    broken.set_gc("f", max_versions=1)
    assert len(proxy.seen) == 2


def test_the_end_of_attempts(broken: Table, proxy: Proxy, pauses: list[float]) -> None:
    proxy.play(*[lose_answer] * 6)
    with pytest.raises(colonnade.OutcomeUnknownError, match=r"attempt 6: .*may be applied or not"):
        broken.write("a", {"f:": 1})
    assert [low / 2 <= pause <= low for low, pause in zip((0.1, 0.2, 0.4, 0.8, 1.6), pauses)] == [True] * 5
    proxy.play(*[refuse(503, "overloaded")] * 6)
    with pytest.raises(colonnade.UnavailableError, match=r"attempt 6") as error:
        broken.write("a", {"f:": 1})
    assert (error.value.status, error.value.code) == (503, "overloaded")
    proxy.play(*[lose_answer] * 6)
    with pytest.raises(colonnade.UnavailableError):
        broken.count()
    # A refusal after a lost answer shows that the lost one was not applied.
    proxy.play(lose_request)
    with pytest.raises(colonnade.NotFoundError):
        broken.write("a", {"nope:": 1})
    # One that may pass does not.
    proxy.play(lose_answer, *[refuse(503, "overloaded")] * 5)
    with pytest.raises(colonnade.OutcomeUnknownError):
        broken.write("a", {"f:": 1})


def test_what_is_final(broken: Table, proxy: Proxy) -> None:
    for step, kind in (
        (refuse(503, "read_only"), colonnade.UnavailableError),
        (refuse(500, "corruption"), colonnade.ServerError),
        (refuse(507, "disk_full"), colonnade.UnavailableError),
        (refuse(403, "insufficient_scope"), colonnade.AccessError),
        (refuse(404), colonnade.NotFoundError),
        (refuse(418), colonnade.ProtocolError),
        (refuse(200), colonnade.ProtocolError),
    ):
        proxy.play(step)
        with pytest.raises(kind):
            broken.count()
        assert len(proxy.seen) == 1


def test_retry_after(broken: Table, proxy: Proxy, pauses: list[float]) -> None:
    proxy.play(refuse(503, "overloaded", Retry_After="7"))
    broken.count()
    assert pauses.pop() == 7.0
    proxy.play(refuse(429, "quota_exceeded", Retry_After="61"))
    with pytest.raises(colonnade.UnavailableError) as error:
        broken.count()
    assert error.value.retry_after == 61.0
    proxy.play(refuse(429, "quota_exceeded", Retry_After="7"))
    with pytest.raises(colonnade.UnavailableError):
        broken.with_timeout(5).count()  # it would be over


def test_no_connection(connect: Connect, pauses: list[float]) -> None:
    table = connect("http://127.0.0.1:1").table("t")
    with pytest.raises(colonnade.UnavailableError, match=r"attempt 6: there is no connection"):
        table.write("a", {"f:": 1})
    assert len(pauses) == 5


def test_timeout(broken: Table, proxy: Proxy, own_events: list[threading.Event]) -> None:
    def hang(exchange: object) -> None:
        own_events[0].wait(60)

    proxy.play(hang, hang, hang)
    with pytest.raises(colonnade.UnavailableError, match=r"within 0\.1 s"):
        broken.with_timeout(0.1).count()
    with pytest.raises(colonnade.OutcomeUnknownError, match=r"within 0\.1 s"):
        broken.with_timeout(0.1).write("a", {"f:": 1})
    with pytest.raises(colonnade.UnavailableError, match=r"within 0\.1 s"):
        list(broken.with_timeout(0.1).scan())


@pytest.fixture
def own_events() -> Iterator[list[threading.Event]]:
    event = threading.Event()
    yield [event]
    event.set()


KEYS = [f"{p}{n:03}" for p in "abc" for n in range(100)]


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"reverse": True},
        {"prefix": "b"},
        {"prefix": "b", "reverse": True},
        {"start": "a050", "end": "c050"},
        {"start": "a050", "reverse": True},
        {"end": "c050", "reverse": True, "limit": 120, "offset": 7},
        {"keys": KEYS[::3]},
        {"keys": KEYS[::3], "reverse": True, "limit": 50},
        {"ranges": [Range("a010", "a020", True, True), Range("b010", "b090"), Range("c020")]},
        {"ranges": [Range("a010", "a020", True, True), Range(None, "b090"), Range("c020", "c030", include_end=True)], "reverse": True},
        {"limit": 111, "offset": 55},
        {"cell_limit": 333},
        {"sample": 0.3, "limit": 60},
        {"value": (">=", 30), "columns": ["f:"], "limit": 100},
        {"versions": 1, "cells_per_row": 1, "cell_limit": 150},
    ],
    ids=str,
)
def test_a_scan_goes_on_where_it_broke(broken: Table, proxy: Proxy, query: colonnade.Query) -> None:
    broken.write_rows({key: {"f:": int(key[1:]), "f:x": "x", "g:": key} for key in KEYS})
    want = list(broken.scan(**query))
    assert len(want) > 20
    random.seed(str(query))
    some = [cut(random.randrange(300, 1500)) for _ in range(3)]
    proxy.play(lose_request, some[0], refuse(503), some[1], some[2], without_end)
    scan = broken.scan(**query)
    assert list(scan) == want
    assert len(proxy.seen) >= 6


def test_a_scan_that_goes_on_sees_no_row_twice(broken: Table, table: Table, proxy: Proxy) -> None:
    broken.write_rows({key: {"f:": 1} for key in KEYS})
    proxy.play(cut(3000), cut(3000))
    seen = []
    for row in broken.scan():
        seen.append(row.key)
        # What changes in front of the scan and behind it leaves what stays alone.
        table.write(row.key + "+", {"f:": 1})
        table.delete_row(KEYS[0])
    assert sorted(set(seen)) == seen
    assert [key for key in seen if "+" not in key] == KEYS
    assert len(proxy.seen) == 3


def test_an_answer_without_its_last_line_is_not_whole(broken: Table, proxy: Proxy) -> None:
    broken.write_rows({"a": {"f:": 1}, "b": {"f:": 1}})
    token = broken.page(limit=1).next_token
    assert token is not None
    proxy.play(*[without_end] * 20)
    scan = broken.scan(page_token=token)
    assert next(scan).key == "b"
    with pytest.raises(colonnade.UnavailableError, match="no line of statistics"):
        next(scan)


def test_attempts(connect: Connect, proxy: Proxy, table: Table, pauses: list[float]) -> None:
    proxy.play(refuse(503))
    with pytest.raises(colonnade.UnavailableError, match=r"^status 503"):
        connect(proxy.url, attempts=1).table(table.name).count()


def test_compression(connect: Connect, proxy: Proxy, table: Table, pauses: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("colonnade._settings._is_local", lambda host: False)
    far = connect(proxy.url).table(table.name)
    rows = {f"{n:04}": {"f:": random.randbytes(40)} for n in range(1000)}
    proxy.play(cut(2))
    assert far.load(rows) == 1000
    assert [seen.body[:2] for seen in proxy.seen] == [b"\x1f\x8b"] * 2
    proxy.play(cut(9000), cut(30), lose_answer)
    assert {row.key: dict(row) for row in far.scan()} == rows
    assert len(proxy.seen) == 4
    with pytest.raises(colonnade.NotFoundError):
        far.write("a", {"nope:": 1})
