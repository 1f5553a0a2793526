"""What the synchronous client does in another way than the asynchronous: written by hand, beside ``_async/io.py``."""

from __future__ import annotations

from collections.abc import Iterator
from time import sleep

from colonnade._rows import Pair, Rows, pairs

__all__ = ["each", "sleep"]


def each(rows: Rows) -> Iterator[Pair]:
    return iter(pairs(rows))
