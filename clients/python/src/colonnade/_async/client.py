"""A server."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from colonnade._async.table import AsyncTable
from colonnade._async.transport import AsyncTransport
from colonnade._schema import FamilySpec, TableInfo, encode_table, table_of
from colonnade._settings import Options, settings_of
from colonnade._wire import Kind, Request, encode, once, read

if TYPE_CHECKING:
    from typing_extensions import Unpack


def connect_async(url: str, **options: Unpack[Options]) -> AsyncClient:
    """A client of the server at a URL such as http://127.0.0.1:9876. It connects with its first call.

    The keywords are those of ``colonnade.Options``: ``token``, ``ca``, ``ssl_context``, ``timeout`` and ``attempts``.
    """
    return AsyncClient(url, **options)


class AsyncClient:
    """Calls one server. Make one and keep it: it has the connections."""

    def __init__(self, url: str, **options: Unpack[Options]) -> None:
        settings = settings_of(url, **options)
        self._transport = AsyncTransport(settings)
        self._timeout = settings.timeout

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._transport.aclose()

    def table(self, name: str) -> AsyncTable:
        """The table of a name, which need not exist yet. It sends nothing."""
        return AsyncTable(name, self._transport, self._timeout)

    async def create_table(
        self, name: str, families: Iterable[FamilySpec] = (), *, locality_groups: Iterable[Sequence[str]] = ()
    ) -> AsyncTable:
        """Creates a table. ``locality_groups`` are lists of its families; those in none share the default partition."""
        table = self.table(name)
        await self._call(once("PUT", table._path, encode_table(families, locality_groups)))
        return table

    async def tables(self) -> list[TableInfo]:
        """The tables, by name."""
        result = await self._call(read("/v1/table", method="GET"))
        return [table_of(t) for t in result["tables"]["items"]]

    async def ready(self) -> str:
        """Asks whether the server takes requests. What it says is for people: also why it takes no writes, if so."""
        body = await self._transport.fetch(read("/readyz", method="GET"), self._timeout)
        return str(json.loads(body)["message"])

    async def metrics(self) -> str:
        """The metrics of the server in the text of Prometheus."""
        request = Request(Kind.READ, "GET", "/metrics", accept="text/plain")
        return (await self._transport.fetch(request, self._timeout)).decode()

    async def call(self, method: str, path: str, body: object = None, *, idempotency_key: str | None = None) -> Any:
        """Sends a request that there is no method for. Returns the ``result`` of its answer.

        ``GET`` is sent again like other reads, and a change with an idempotency key like other changes. All else is sent again only
        if the server says that nothing has happened.
        """
        kind = Kind.READ if method == "GET" else Kind.KEYED if idempotency_key else Kind.ONCE
        request = Request(kind, method, path, b"" if body is None else encode(body), idempotency_key or "")
        return await self._call(request)

    async def _call(self, request: Request) -> Any:
        return await self._transport.call(request, self._timeout)
