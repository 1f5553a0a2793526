"""The asynchronous client with the methods of the synchronous, so that each test runs with both."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, cast

from anyio.from_thread import BlockingPortal

from colonnade import AsyncClient, AsyncScan, AsyncTable, Client

_WRAPPED = (AsyncClient, AsyncTable, AsyncScan)
_CLOSE = "close"


class Blocking:
    def __init__(self, portal: BlockingPortal, inner: Any) -> None:
        self._portal = portal
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, "aclose" if name == _CLOSE else name)
        return self._call(value) if callable(value) else value

    def _call(self, method: Callable[..., Any]) -> Callable[..., Any]:
        async def run(args: Any, kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            return await result if inspect.isawaitable(result) else result

        def call(*args: Any, **kwargs: Any) -> Any:
            args = tuple(a._inner if isinstance(a, Blocking) else a for a in args)
            result = self._portal.call(run, args, kwargs)
            return Blocking(self._portal, result) if isinstance(result, _WRAPPED) or hasattr(result, "__anext__") else result

        return call

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return self._portal.call(self._inner.__anext__)
        except StopAsyncIteration:
            raise StopIteration from None

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def blocking(portal: BlockingPortal, client: AsyncClient) -> Client:
    return cast(Client, Blocking(portal, client))
