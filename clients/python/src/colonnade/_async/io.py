"""What the asynchronous client does in another way than the synchronous: written by hand, beside ``_sync/io.py``."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

from anyio import sleep

from colonnade._rows import Pair, Rows, pairs

__all__ = ["each", "sleep"]


async def each(rows: Rows | AsyncIterable[Pair]) -> AsyncIterator[Pair]:
    if isinstance(rows, AsyncIterable):
        async for row in rows:
            yield row
    else:
        for row in pairs(rows):
            yield row
