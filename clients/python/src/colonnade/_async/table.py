"""A table: its cells and its schema."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from colonnade._aggregates import Function, GroupBy, Groups, encode_aggregate, groups_of
from colonnade._async.io import each
from colonnade._async.scan import AsyncScan
from colonnade._async.transport import AsyncTransport
from colonnade._batches import Batcher
from colonnade._changes import Exists, Mutation, Mutations, Rule, encode_check, encode_items, encode_rules
from colonnade._errors import ColonnadeError, error_of
from colonnade._query import Query, RowQuery, Selection, body_of, columns_of, deletion_of, item_of, takes, times_of
from colonnade._rows import Cells, Page, Pair, Row, Rows, Stats, encode_pair, encode_row, pairs, row_of_json, stats_of
from colonnade._schema import Advice, FamilySpec, Load, Move, TableInfo, advice_of, encode_families, encode_gc, loads_of, move_of, table_of
from colonnade._values import Key, Time, encode_key, several
from colonnade._wire import keyed, once, read
from colonnade.filters import Filter

if TYPE_CHECKING:
    from typing_extensions import Unpack


class AsyncTable:
    """A table of a server, which need not exist yet. Its methods raise ``ColonnadeError``."""

    def __init__(self, name: str, transport: AsyncTransport, timeout: float) -> None:
        self.name = name
        self._transport = transport
        self._timeout = timeout
        self._path = "/v1/table/" + quote(name, safe="")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def with_timeout(self, seconds: float) -> AsyncTable:
        """The same table with another timeout."""
        return AsyncTable(self.name, self._transport, seconds)

    # Writing

    async def write(self, key: Key, cells: Cells, *, time: Time | None = None, idempotency_key: str | None = None) -> None:
        """Writes cells of a row, all or none. ``time`` is for those without one of their own; else it is that of the commit."""
        await self._change("/write", {"items": [encode_row(key, cells, time)]}, idempotency_key)

    async def write_rows(self, rows: Rows, *, idempotency_key: str | None = None) -> None:
        """Writes cells of rows, all or none, in one request."""
        await self._change("/write", {"items": [encode_pair(row) for row in pairs(rows)]}, idempotency_key)

    async def load(self, rows: Rows | AsyncIterable[Pair]) -> int:
        """Writes any number of rows, in requests of about a MiB, each of which is atomic. Returns how many rows.

        Only one request's rows are in memory. ``rows_written`` of an error says how many are written, from the first on.
        """
        batcher, written = Batcher(), 0
        try:
            async for row in each(rows):
                if batcher.add(row):
                    written += await self._write_batch(batcher)
            if batcher:
                written += await self._write_batch(batcher)
        except ColonnadeError as error:
            error.rows_written = written
            raise
        return written

    async def mutate(self, key: Key, *mutations: Mutation, idempotency_key: str | None = None) -> None:
        """Changes a row: mutations apply in their order, all or none."""
        await self.mutate_rows([(key, mutations)], idempotency_key=idempotency_key)

    async def mutate_rows(self, rows: Mutations, *, idempotency_key: str | None = None) -> None:
        """Changes rows, all or none."""
        await self._change("/mutate", {"items": encode_items(rows)}, idempotency_key)

    async def mutate_each(self, rows: Mutations, *, idempotency_key: str | None = None) -> list[ColonnadeError | None]:
        """Changes each row by itself. Returns an error or ``None`` for each."""
        result = await self._change("/mutate", {"atomic": "row", "items": encode_items(rows)}, idempotency_key)
        return [r and error_of(0, r["code"], r["at"], r["message"]) for r in result["results"]]

    async def check_and_mutate(
        self,
        key: Key,
        condition: Filter | Exists,
        then: Iterable[Mutation] = (),
        otherwise: Iterable[Mutation] = (),
        *,
        idempotency_key: str | None = None,
    ) -> bool:
        """Looks at a row and changes it; no other change comes in between. Returns whether the condition held.

        The condition is ``exists()``, ``missing()``, or a filter, which holds if it passes on a cell of the row.
        """
        result = await self._change("/check-and-mutate", encode_check(key, condition, then, otherwise), idempotency_key)
        return bool(result["matched"])

    async def read_modify_write(self, key: Key, *rules: Rule, idempotency_key: str | None = None) -> Row:
        """Applies rules to a row, in order, all or none. Returns the row with the versions written."""
        body = {"row_key": encode_key(key), "rules": encode_rules(rules)}
        return row_of_json((await self._change("/read-modify-write", body, idempotency_key))["row"])

    async def delete_row(self, key: Key, columns: Iterable[Key] | None = None, *, idempotency_key: str | None = None) -> int:
        """Deletes a row, or columns of it. Returns how many versions a read would have returned."""
        body: dict[str, Any] = {"row_key": encode_key(key)}
        if columns is not None:
            body["column"] = columns_of(columns)
        return int((await self._change("/row", body, idempotency_key, method="DELETE"))["deleted_cells_count"])

    @takes(Selection)
    async def delete(self, *, all: bool = False, idempotency_key: str | None = None, **selection: Unpack[Selection]) -> None:
        """Deletes the cells of a selection. Each row is deleted from at once; if it fails, only some of them may be.

        ``all=True`` must be said where all rows are selected.
        """
        body = deletion_of(selection)
        if all:
            body["all"] = True
        await self._change("/delete", body, idempotency_key)

    @takes(Selection)
    async def count_delete(self, **selection: Unpack[Selection]) -> Stats:
        """Counts the ``rows`` and ``cells`` that ``delete`` would delete of what a read returns."""
        body = {**deletion_of(selection), "all": True, "dry_run": True}
        return stats_of(await self._call(read(self._path + "/delete", body)))

    # Reading

    @takes(RowQuery)
    async def row(self, key: Key, **query: Unpack[RowQuery]) -> Row | None:
        """A row, or ``None`` if there is none or nothing of it is selected."""
        return (await self.rows([key], **query))[0]

    @takes(RowQuery)
    async def rows(self, keys: Iterable[Key], **query: Unpack[RowQuery]) -> list[Row | None]:
        """A row or ``None`` for each key, in their order and as of one moment."""
        rest = body_of(query)
        row = rest.pop("row", {})
        items = [{"row": {"key": encode_key(key), **row}, **rest} for key in several(keys, "rows([key]), or row(key)")]
        if not items:
            return []
        result = await self._call(read(self._path + "/rows", {"items": items}))
        found, gone = iter(result["rows"]), set(result["missing"])
        return [None if i in gone else row_of_json(next(found)) for i in range(len(items))]

    async def rows_of(self, queries: Iterable[Query]) -> list[Row]:
        """The rows of several queries, one query after the other, all as of one moment."""
        result = await self._call(read(self._path + "/rows", {"items": [item_of(query) for query in queries]}))
        return [row_of_json(row) for row in result["rows"]]

    @takes(Query)
    def scan(self, **query: Unpack[Query]) -> AsyncScan:
        """The rows of a query, as a stream. See ``colonnade.Query`` for the keywords."""
        return AsyncScan(self._transport, self._path + "/scan", query, self._timeout)

    @takes(Query)
    async def page(self, **query: Unpack[Query]) -> Page:
        """The rows of a query up to its ``limit`` or ``cell_limit``, and where the next page begins."""
        result = await self._call(read(self._path + "/scan", body_of(query)))
        return Page([row_of_json(row) for row in result["rows"]], result.get("next_page_token"), stats_of(result))

    @takes(Query)
    async def count(self, **query: Unpack[Query]) -> Stats:
        """Counts the ``rows`` and ``cells`` of a query."""
        return stats_of(await self._call(read(self._path + "/count", body_of(query))))

    @takes(Query)
    async def aggregate(self, of: Iterable[Function], *, group_by: GroupBy | None = None, **query: Unpack[Query]) -> Groups:
        """Sums up what a query selects: ``count``, ``sum``, ``min``, ``max``, ``avg``. Every version counts: mind ``versions=1``."""
        return groups_of(await self._call(read(self._path + "/aggregate", encode_aggregate(of, group_by, query))))

    @takes(Query)
    async def explain(self, **query: Unpack[Query]) -> dict[str, Any]:
        """What the server does for a scan. docs/api.md has the fields (Explaining a read); they are for people."""
        result = await self._call(read(self._path + "/scan", {**body_of(query), "explain": "only"}))
        return dict(result["explain"])

    # Schema

    async def describe(self) -> TableInfo:
        return table_of(await self._call(read(self._path, method="GET")))

    async def drop(self) -> None:
        """Deletes the table with all rows."""
        await self._call(once("DELETE", self._path))

    async def set_deletion_protection(self, protected: bool) -> None:
        """Whether the table and its families can be dropped. Rows can be deleted in any case."""
        await self._call(once("PATCH", self._path, {"deletion_protection": protected}))

    async def set_default_gc(self, *, max_versions: int | None = None, max_age: timedelta | None = None, both: bool = False) -> None:
        """The bounds of families that are created without any from now on."""
        await self._call(once("PATCH", self._path, {"default_gc_settings": encode_gc(max_versions, max_age, both)}))

    async def create_families(self, families: Iterable[FamilySpec], *, locality_group: bool = False) -> None:
        """Creates families, all or none, with ``locality_group`` together in a new one."""
        body: dict[str, Any] = {"column_families": encode_families(families)}
        if locality_group:
            body["locality_group"] = True
        await self._call(once("POST", self._path + "/column-family", body))

    async def set_gc(self, family: str, *, max_versions: int | None = None, max_age: timedelta | None = None, both: bool = False) -> None:
        """Replaces the bounds of a family. What is beyond them is gone at once."""
        await self._call(once("PATCH", self._family(family), {"gc_settings": encode_gc(max_versions, max_age, both)}))

    async def count_gc(
        self, family: str, *, max_versions: int | None = None, max_age: timedelta | None = None, both: bool = False
    ) -> Stats:
        """Counts the ``rows`` and ``cells`` that would go of what reads return now."""
        body = {"gc_settings": encode_gc(max_versions, max_age, both), "dry_run": True}
        return stats_of(await self._call(read(self._family(family), body, method="PATCH")))

    async def move_family(self, family: str, group: str | None) -> Move:
        """Moves a family to a locality group by its id, to a ``"new"`` one, or with ``None`` to the default partition.

        It stays readable and writable. ``describe`` shows how far it is.
        """
        return move_of(await self._call(once("PATCH", self._family(family), {"locality_group": group})))

    async def drop_family(self, family: str) -> None:
        """Deletes a family with its cells."""
        await self._call(once("DELETE", self._family(family)))

    async def advice(self) -> Advice:
        """Which families should move to another locality group, going by the queries so far."""
        return advice_of(await self._call(read(self._path + "/advice", method="GET")))

    async def key_space(self, since: Time | None = None, until: Time | None = None) -> list[Load]:
        """Where in the row keys the load was, by ranges of keys and windows of time, for the last day."""
        parameters = urlencode(times_of(since, until))
        return loads_of(await self._call(read(f"{self._path}/keyspace?{parameters}", method="GET")))

    def _family(self, name: str) -> str:
        return f"{self._path}/column-family/{quote(name, safe='')}"

    async def _call(self, request: Any) -> Any:
        return await self._transport.call(request, self._timeout)

    async def _change(self, path: str, body: object, key: str | None, method: str = "POST") -> Any:
        return await self._call(keyed(self._path + path, body, key or str(uuid.uuid4()), method))

    async def _write_batch(self, batcher: Batcher) -> int:
        count, body = batcher.take()
        await self._change("/write", body, None)
        return count
