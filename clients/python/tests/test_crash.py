"""A server that is killed while it works, and started again."""

from __future__ import annotations

import threading

import pytest
from conftest import Connect
from servers import Server

import colonnade
from colonnade import increment


def test_increments_of_a_server_that_is_killed_count_once(own_server: Server, connect: Connect) -> None:
    db = connect(own_server.url, attempts=20)
    table = db.create_table("t", families=["f"])
    counted, killed = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def count() -> None:
        try:
            done = 0
            while not killed.is_set() or done < 40:
                table.read_modify_write("n", increment("f:n"))
                done += 1
                if done == 20:
                    counted.set()
            row = table.row("n", versions=1)
            assert row is not None
            assert row["f:n"] == done
        except BaseException as error:
            failures.append(error)
            counted.set()

    thread = threading.Thread(target=count)
    thread.start()
    for _ in range(3):
        counted.wait()
        own_server.kill()
        own_server.start()
    killed.set()
    thread.join()
    assert not failures, failures


def test_a_scan_survives_a_crash(own_server: Server, connect: Connect) -> None:
    db = connect(own_server.url, attempts=20)
    table = db.create_table("t", families=["f"])
    # More than the buffers of a connection hold.
    value = "x" * 20_000
    keys = [f"{n:05}" for n in range(1500)]
    assert table.load((key, {"f:": value}) for key in keys) == 1500
    seen = []
    for row in table.scan():
        seen.append(row.key)
        if len(seen) in (10, 700):
            own_server.kill()
            own_server.start()
    assert seen == keys


def test_a_server_that_is_gone(own_server: Server, connect: Connect) -> None:
    db = connect(own_server.url, attempts=2)
    table = db.create_table("t", families=["f"])
    own_server.kill()
    with pytest.raises(colonnade.UnavailableError, match="there is no connection"):
        table.write("r", {"f:": 1})
    own_server.start()
    assert table.count().rows == 0
