"""How a client reaches its server."""

from __future__ import annotations

import ipaddress
import os
import ssl
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypedDict

import httpx

from colonnade._retry import Attempts
from colonnade._wire import NoAnswerError

__version__ = version("colonnade")


class Options(TypedDict, total=False):
    """The keywords of ``connect``."""

    token: str | None
    """Of a server with access control."""
    ca: str | os.PathLike[str] | None
    """A file with certificates to trust, in PEM, in place of the usual authorities."""
    ssl_context: ssl.SSLContext | None
    """In place of ``ca``, for all else, such as a certificate of the client."""
    timeout: float
    """Seconds for a call with its repetitions, and for a scan without progress: 60."""
    attempts: int
    """How often a request is sent at most: 6."""


@dataclass(frozen=True)
class Settings:
    url: httpx.URL
    headers: dict[str, str]
    verify: ssl.SSLContext | bool
    timeout: float
    attempts: int
    local: bool
    """The server is on this machine: nothing is compressed, and no proxy is asked."""

    @property
    def http(self) -> dict[str, Any]:
        """The arguments of the client of httpx."""
        return {"base_url": self.url, "headers": self.headers, "verify": self.verify, "trust_env": not self.local}


def settings_of(
    url: str,
    token: str | None = None,
    ca: str | os.PathLike[str] | None = None,
    ssl_context: ssl.SSLContext | None = None,
    timeout: float = 60.0,
    attempts: int = 6,
) -> Settings:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host or parsed.query or parsed.fragment:
        raise ValueError(f"{url!r} is no URL such as http://127.0.0.1:9876")
    if ca is not None and ssl_context is not None:
        raise ValueError("ca is not used beside ssl_context: load it there")
    verify: ssl.SSLContext | bool = True
    if ca is not None:
        verify = ssl.create_default_context(cafile=ca)
    elif ssl_context is not None:
        verify = ssl_context
    local = _is_local(parsed.host)
    headers = {"User-Agent": f"colonnade-python/{__version__}", "Accept-Encoding": "identity" if local else "gzip"}
    if token:
        if any(not "!" <= c <= "~" for c in token):
            raise ValueError("the token has characters that no token has, such as a newline at its end")
        if parsed.scheme == "http" and not local:
            warnings.warn(f"the token goes to {parsed.host} without encryption: use an https URL", stacklevel=3)
        headers["Authorization"] = f"Bearer {token}"
    return Settings(parsed, headers, verify, timeout, attempts, local)


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def no_answer(error: httpx.HTTPError, attempts: Attempts) -> NoAnswerError:
    """What a failure of httpx means for a request."""
    sent = not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
    if isinstance(error, httpx.TimeoutException):
        return attempts.too_late(sent=sent)
    causes = list(_causes(error))
    text = next(filter(None, map(str, causes)), type(error).__name__)
    what = "the answer broke off" if sent else "there is no connection"
    return NoAnswerError(f"{what}: {text}", sent=sent, final=any(isinstance(c, ssl.SSLCertVerificationError) for c in causes))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
