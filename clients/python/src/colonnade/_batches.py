"""Rows cut into requests."""

from __future__ import annotations

from typing import Any

from colonnade._rows import Pair, encode_pair

_MOST_ROWS = 4096
_MOST_BYTES = 1 << 20  # of values and keys


class Batcher:
    """Collects rows until they are enough for a request."""

    def __init__(self) -> None:
        self._items: list[dict[str, Any]] = []
        self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._items)

    def add(self, row: Pair) -> bool:
        """Adds a row. Reports whether they are enough."""
        item = encode_pair(row)
        self._items.append(item)
        self._bytes += sum(len(c["column_key"]) + (len(c["value"]) if isinstance(c["value"], str) else 16) for c in item["cells"])
        return len(self._items) >= _MOST_ROWS or self._bytes >= _MOST_BYTES

    def take(self) -> tuple[int, dict[str, Any]]:
        """How many rows, and the body of the request. It begins anew."""
        items, self._items, self._bytes = self._items, [], 0
        return len(items), {"items": items}
