"""Requests and answers as bytes, without a connection."""

from __future__ import annotations

import email.utils
import gzip
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from colonnade._errors import ColonnadeError, ProtocolError, UnavailableError, error_of

LINES = "application/x-ndjson"


class Kind(Enum):
    """When a request may be sent again."""

    READ = 0
    """It changes nothing."""
    KEYED = 1
    """It has an idempotency key: it is applied once, however often it arrives."""
    ONCE = 2
    """It must not arrive twice."""


@dataclass(frozen=True)
class Request:
    kind: Kind
    method: str
    path: str
    body: bytes = b""
    key: str = ""
    accept: str = "application/json"

    @property
    def headers(self) -> dict[str, str]:
        headers = {"Accept": self.accept}
        if self.body:
            headers["Content-Type"] = "application/json"
        if self.key:
            headers["Idempotency-Key"] = self.key
        return headers


def encode(value: object) -> bytes:
    """JSON in UTF-8. A string with half a surrogate pair is a ``ValueError``."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def read(path: str, body: object = None, method: str = "POST") -> Request:
    return Request(Kind.READ, method, path, b"" if body is None else encode(body))


def once(method: str, path: str, body: object = None) -> Request:
    return Request(Kind.ONCE, method, path, b"" if body is None else encode(body))


def keyed(path: str, body: object, key: str, method: str = "POST") -> Request:
    return Request(Kind.KEYED, method, path, encode(body), key)


def as_lines(request: Request) -> Request:
    return replace(request, accept=LINES)


_COMPRESS_FROM = 16 << 10  # what fits into a few packets does not get faster


def compressed(request: Request) -> tuple[bytes, dict[str, str]]:
    """The body and headers of a request, compressed if that is worth while."""
    if len(request.body) < _COMPRESS_FROM:
        return request.body, request.headers
    return gzip.compress(request.body, 1), {**request.headers, "Content-Encoding": "gzip"}


class NoAnswerError(UnavailableError):
    """A request without a whole answer."""

    def __init__(self, message: str, *, sent: bool, final: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
        self.final = final
        """Another attempt would fail alike."""


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> ColonnadeError:
    """The exception for an answer with an error."""
    after = _retry_after(headers.get("retry-after", ""))
    try:
        answer = json.loads(body)
        error = answer["error"]
        return error_of(status, error["code"], error["at"], answer["message"], after)
    except (ValueError, KeyError, TypeError):  # of a proxy, or of another server
        return error_of(status, "", "", f"status {status}: {body[:200]!r}", after)


def _retry_after(header: str) -> float | None:
    if header.isdecimal():
        return float(header)
    try:
        return max(email.utils.parsedate_to_datetime(header).timestamp() - time.time(), 0)
    except (ValueError, TypeError):
        return None


def result_of(body: bytes) -> Any:
    """The result of a whole answer."""
    try:
        return json.loads(body)["result"]
    except (ValueError, KeyError, TypeError) as error:
        raise ProtocolError(f"the answer is not what a Colonnade server says: {body[:200]!r}") from error


class Lines:
    """Cuts chunks of an answer into lines."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        # Not str.splitlines: a string of JSON may hold what that takes for the end of a line.
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return lines
