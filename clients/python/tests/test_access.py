"""Tokens and TLS."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from conftest import Connect
from servers import PROGRAM, Server

import colonnade


def create_token(directory: Path, *options: str) -> str:
    command = [PROGRAM, "token", "create", "--tokens", str(directory / "tokens.json"), *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[Server]:
    """A server with access control and TLS. ``tmp_path`` has ``admin`` and ``reader``, its tokens, and ``ca.pem``."""
    (tmp_path / "admin").write_text(create_token(tmp_path, "--scope", "admin", "--name", "admin"))
    (tmp_path / "reader").write_text(create_token(tmp_path, "--scope", "read", "--table", "web*", "--name", "reader"))
    ca = trustme.CA()
    certificate = ca.issue_cert("127.0.0.1", "localhost")
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    certificate.private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    options = ["--tokens", "tokens.json", "--tls-cert", "server.pem", "--tls-key", "server.pem"]
    server = Server(tmp_path, *[str(tmp_path / o) if o[0] != "-" else o for o in options])
    yield server
    server.stop()


def test_tokens_and_tls(secure: Server, tmp_path: Path, connect: Connect) -> None:
    ca = tmp_path / "ca.pem"
    admin = connect(secure.url, token=(tmp_path / "admin").read_text(), ca=ca)
    admin.create_table("web", families=["f"]).write("r", {"f:": 1})
    admin.create_table("other")

    context = ssl.create_default_context(cafile=str(ca))
    reader = connect(secure.url, token=(tmp_path / "reader").read_text(), ssl_context=context)
    assert [row.key for row in reader.table("web").scan()] == ["r"]
    assert [t.name for t in reader.tables()] == ["web"]
    for table, code in (("web", "insufficient_scope"), ("other", "insufficient_scope")):
        with pytest.raises(colonnade.AccessError) as error:
            reader.table(table).write("r", {"f:": 1})
        assert (error.value.status, error.value.code) == (403, code)
    with pytest.raises(colonnade.AccessError) as error:
        connect(secure.url, ca=ca).table("web").count()
    assert (error.value.status, error.value.code) == (401, "missing_token")


def test_a_certificate_that_is_not_trusted(secure: Server, connect: Connect, pauses: list[float]) -> None:
    with pytest.raises(colonnade.UnavailableError, match="certificate verify failed"):
        connect(secure.url).ready()
    assert pauses == []  # another attempt would fail alike
    with pytest.raises(ValueError, match="beside"):
        connect(secure.url, ca="x", ssl_context=ssl.create_default_context())
