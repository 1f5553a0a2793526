# Made of _async/transport.py by generate.py: change it there.
"""Requests sent and answers received."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Any

import httpx

from colonnade._errors import ColonnadeError, ProtocolError
from colonnade._retry import Attempts
from colonnade._settings import Settings, no_answer
from colonnade._sync.io import sleep
from colonnade._wire import LINES, Kind, Lines, Request, compressed, refusal, result_of


class Transport:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._http = httpx.Client(**settings.http)

    def close(self) -> None:
        self._http.close()

    def call(self, request: Request, timeout: float) -> Any:
        """The result of a request, which is sent as often as need be."""
        return result_of(self.fetch(request, timeout))

    def fetch(self, request: Request, timeout: float) -> bytes:
        attempts = self.attempts(request.kind, timeout)
        while True:
            try:
                body = bytearray()
                with closing(self._send(request, attempts)) as chunks:
                    for chunk in chunks:
                        body += chunk
                        attempts.time_left(sent=True)
                return bytes(body)
            except ColonnadeError as error:
                sleep(attempts.pause_after(error))

    def attempts(self, kind: Kind, timeout: float) -> Attempts:
        return Attempts(kind, self._settings.attempts, timeout)

    def lines(self, request: Request, attempts: Attempts) -> Generator[bytes, None]:
        """The lines of an answer to a request that is sent once."""
        lines = Lines()
        with closing(self._send(request, attempts)) as chunks:
            for chunk in chunks:
                for line in lines.feed(chunk):
                    yield line

    def _send(self, request: Request, attempts: Attempts) -> Generator[bytes, None]:
        """The body of a success, piece by piece."""
        content, headers = (request.body, request.headers) if self._settings.local else compressed(request)
        timeout = attempts.time_left()
        try:
            with self._http.stream(request.method, request.path, content=content, headers=headers, timeout=timeout) as answer:
                if answer.status_code // 100 != 2:
                    raise refusal(answer.status_code, answer.headers, answer.read())
                if request.accept == LINES and answer.headers.get("content-type") != LINES:
                    raise ProtocolError("the server does not answer with lines: it is older than this client, or no Colonnade server")
                for chunk in answer.iter_bytes():
                    yield chunk
        except httpx.HTTPError as error:
            raise no_answer(error, attempts) from error
