"""Scans that stream."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import TYPE_CHECKING, Any

from colonnade._async.io import sleep
from colonnade._async.transport import AsyncTransport
from colonnade._errors import ColonnadeError
from colonnade._query import Progress, body_of
from colonnade._rows import Row, Stats, row_of_line, stats_of
from colonnade._wire import Kind, NoAnswerError, as_lines, read

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from colonnade._arrow import Collector, Schema

_ROWS = 65536  # of a batch


class AsyncScan:
    """The rows of a scan, in the order of their keys. The request is sent for the first row.

    It can be gone through once. ``stats`` is what it has cost so far; it is whole at the end.
    """

    def __init__(self, transport: AsyncTransport, path: str, query: Mapping[str, Any], timeout: float) -> None:
        self._transport = transport
        self._path = path
        self._timeout = timeout
        self._progress = Progress(query)
        body_of(self._progress.rest() or {})  # a mistake is told where it is made
        self._rows = self._read()
        self.stats = Stats()

    def __aiter__(self) -> AsyncIterator[Row]:
        return self

    async def __anext__(self) -> Row:
        return await self._rows.__anext__()

    async def __aenter__(self) -> AsyncScan:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Ends the request."""
        await self._rows.aclose()

    async def to_arrow(self, *, schema: Schema | None = None, each_version: bool = False) -> pa.Table:
        """The rows as a table of Arrow: a line for each row with its newest values, or with ``each_version`` for each version."""
        from colonnade._arrow import table_of

        collector = self._collector(schema, each_version)
        batches = [batch async for batch in self._batches(collector, _ROWS)]
        return table_of(batches, collector)

    async def to_pandas(self, *, schema: Schema | None = None, each_version: bool = False) -> pd.DataFrame:
        """The same as a DataFrame, with the row keys as its index."""
        from colonnade._arrow import frame_of

        return frame_of(await self.to_arrow(schema=schema, each_version=each_version), each_version)

    async def to_batches(
        self, rows: int = _ROWS, *, schema: Schema | None = None, each_version: bool = False
    ) -> AsyncGenerator[pa.RecordBatch, None]:
        """The same in batches of so many rows of the scan. Without a schema, each has the columns and types that it has met."""
        async with aclosing(self._batches(self._collector(schema, each_version), rows)) as batches:
            async for batch in batches:
                yield batch

    def _collector(self, schema: Schema | None, each_version: bool) -> Collector:
        from colonnade._arrow import Collector

        if not each_version:
            self._progress.want_newest()
        return Collector(schema, each_version)

    async def _batches(self, collector: Collector, rows: int) -> AsyncGenerator[pa.RecordBatch, None]:
        async for row in self:
            collector.add(row)
            if collector.rows >= rows:
                yield collector.batch()
        if collector.rows:
            yield collector.batch()

    async def _read(self) -> AsyncGenerator[Row, None]:
        """All rows, from as many requests as need be."""
        attempts = self._transport.attempts(Kind.READ, self._timeout)
        while (rest := self._progress.rest()) is not None:
            request = as_lines(read(self._path, body_of(rest)))
            try:
                whole = False
                async with aclosing(self._transport.lines(request, attempts)) as lines:
                    async for line in lines:
                        fields = json.loads(line)
                        if "statistics" in fields:
                            self.stats += stats_of(fields["statistics"])
                            whole = True
                            continue  # a connection is used again if its answer was read to the end
                        row = row_of_line(fields)
                        if not self._progress.had(row):
                            self._progress.gave(row)
                            yield row
                            attempts.restart()
                if whole:
                    return
                raise NoAnswerError("the answer broke off: there is no line of statistics at its end", sent=True)
            except ColonnadeError as error:
                await sleep(attempts.pause_after(error))
