# Made of _async/scan.py by generate.py: change it there.
"""Scans that stream."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from types import TracebackType
from typing import TYPE_CHECKING, Any

from colonnade._errors import ColonnadeError
from colonnade._query import Progress, body_of
from colonnade._rows import Row, Stats, row_of_line, stats_of
from colonnade._sync.io import sleep
from colonnade._sync.transport import Transport
from colonnade._wire import Kind, NoAnswerError, as_lines, read

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from colonnade._arrow import Collector, Schema

_ROWS = 65536  # of a batch


class Scan:
    """The rows of a scan, in the order of their keys. The request is sent for the first row.

    It can be gone through once. ``stats`` is what it has cost so far; it is whole at the end.
    """

    def __init__(self, transport: Transport, path: str, query: Mapping[str, Any], timeout: float) -> None:
        self._transport = transport
        self._path = path
        self._timeout = timeout
        self._progress = Progress(query)
        body_of(self._progress.rest() or {})  # a mistake is told where it is made
        self._rows = self._read()
        self.stats = Stats()

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        return self._rows.__next__()

    def __enter__(self) -> Scan:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the request."""
        self._rows.close()

    def to_arrow(self, *, schema: Schema | None = None, each_version: bool = False) -> pa.Table:
        """The rows as a table of Arrow: a line for each row with its newest values, or with ``each_version`` for each version."""
        from colonnade._arrow import table_of

        collector = self._collector(schema, each_version)
        batches = [batch for batch in self._batches(collector, _ROWS)]
        return table_of(batches, collector)

    def to_pandas(self, *, schema: Schema | None = None, each_version: bool = False) -> pd.DataFrame:
        """The same as a DataFrame, with the row keys as its index."""
        from colonnade._arrow import frame_of

        return frame_of(self.to_arrow(schema=schema, each_version=each_version), each_version)

    def to_batches(self, rows: int = _ROWS, *, schema: Schema | None = None, each_version: bool = False) -> Generator[pa.RecordBatch, None]:
        """The same in batches of so many rows of the scan. Without a schema, each has the columns and types that it has met."""
        with closing(self._batches(self._collector(schema, each_version), rows)) as batches:
            for batch in batches:
                yield batch

    def _collector(self, schema: Schema | None, each_version: bool) -> Collector:
        from colonnade._arrow import Collector

        if not each_version:
            self._progress.want_newest()
        return Collector(schema, each_version)

    def _batches(self, collector: Collector, rows: int) -> Generator[pa.RecordBatch, None]:
        for row in self:
            collector.add(row)
            if collector.rows >= rows:
                yield collector.batch()
        if collector.rows:
            yield collector.batch()

    def _read(self) -> Generator[Row, None]:
        """All rows, from as many requests as need be."""
        attempts = self._transport.attempts(Kind.READ, self._timeout)
        while (rest := self._progress.rest()) is not None:
            request = as_lines(read(self._path, body_of(rest)))
            try:
                whole = False
                with closing(self._transport.lines(request, attempts)) as lines:
                    for line in lines:
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
                sleep(attempts.pause_after(error))
