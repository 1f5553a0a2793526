"""Requests sent and answers received."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import httpx

from colonnade._async.io import sleep
from colonnade._errors import ColonnadeError, ProtocolError
from colonnade._retry import Attempts
from colonnade._settings import Settings, no_answer
from colonnade._wire import LINES, Kind, Lines, Request, compressed, refusal, result_of


class AsyncTransport:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._http = httpx.AsyncClient(**settings.http)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def call(self, request: Request, timeout: float) -> Any:
        """The result of a request, which is sent as often as need be."""
        return result_of(await self.fetch(request, timeout))

    async def fetch(self, request: Request, timeout: float) -> bytes:
        attempts = self.attempts(request.kind, timeout)
        while True:
            try:
                body = bytearray()
                async with aclosing(self._send(request, attempts)) as chunks:
                    async for chunk in chunks:
                        body += chunk
                        attempts.time_left(sent=True)
                return bytes(body)
            except ColonnadeError as error:
                await sleep(attempts.pause_after(error))

    def attempts(self, kind: Kind, timeout: float) -> Attempts:
        return Attempts(kind, self._settings.attempts, timeout)

    async def lines(self, request: Request, attempts: Attempts) -> AsyncGenerator[bytes, None]:
        """The lines of an answer to a request that is sent once."""
        lines = Lines()
        async with aclosing(self._send(request, attempts)) as chunks:
            async for chunk in chunks:
                for line in lines.feed(chunk):
                    yield line

    async def _send(self, request: Request, attempts: Attempts) -> AsyncGenerator[bytes, None]:
        """The body of a success, piece by piece."""
        content, headers = (request.body, request.headers) if self._settings.local else compressed(request)
        timeout = attempts.time_left()
        try:
            async with self._http.stream(request.method, request.path, content=content, headers=headers, timeout=timeout) as answer:
                if answer.status_code // 100 != 2:
                    raise refusal(answer.status_code, answer.headers, await answer.aread())
                if request.accept == LINES and answer.headers.get("content-type") != LINES:
                    raise ProtocolError("the server does not answer with lines: it is older than this client, or no Colonnade server")
                async for chunk in answer.aiter_bytes():
                    yield chunk
        except httpx.HTTPError as error:
            raise no_answer(error, attempts) from error
