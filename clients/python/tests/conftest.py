from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from blocking import blocking
from servers import Proxy, Server

import colonnade


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    yield server
    server.stop()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """A server that the test may kill."""
    server = Server(tmp_path)
    yield server
    server.stop()


Connect = Callable[..., colonnade.Client]


@pytest.fixture(params=["sync", "asyncio"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Makes clients: synchronous and asynchronous. With "trio" it is asked for by ``test_trio.py``."""
    clients = []
    if request.param == "sync":

        def make(url: str, **options: Any) -> colonnade.Client:
            clients.append(colonnade.connect(url, **options))
            return clients[-1]

        yield make
        for client in clients:
            client.close()
        return
    with start_blocking_portal(request.param) as portal:

        def make(url: str, **options: Any) -> colonnade.Client:
            clients.append(blocking(portal, portal.call(lambda: colonnade.connect_async(url, **options))))
            return clients[-1]

        yield make
        for client in clients:
            client.close()


@pytest.fixture
def db(server: Server, connect: Connect) -> colonnade.Client:
    return connect(server.url)


_names = (f"t{n}" for n in itertools.count())


@pytest.fixture
def table(db: colonnade.Client) -> colonnade.Table:
    """A table with the families f, g and h, the last in a group of its own."""
    return db.create_table(next(_names), families=["f", "g", "h"], locality_groups=[["h"]])


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    proxy = Proxy(server.url)
    yield proxy
    proxy.stop()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses before retries, which are left out."""
    made: list[float] = []

    def pause(self: Any, error: colonnade.ColonnadeError) -> float:
        made.append(real(self, error))
        return 0.0

    from colonnade._retry import Attempts

    real = Attempts.pause_after
    monkeypatch.setattr(Attempts, "pause_after", pause)
    return made


@pytest.fixture
def broken(proxy: Proxy, connect: Connect, table: colonnade.Table, pauses: list[float]) -> colonnade.Table:
    """The table through the proxy."""
    return connect(proxy.url).table(table.name)
