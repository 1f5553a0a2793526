"""Servers to test with: the real program, and a proxy in front of it that breaks connections."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

PROGRAM = os.environ.get("COLONNADE", str(Path(__file__).parents[3] / "bin/colonnade"))


class Server:
    """``colonnade serve`` with a directory of its own."""

    def __init__(self, directory: Path, *options: str) -> None:
        self._directory = directory
        self._options = options
        self._listen = "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        command = [PROGRAM, "serve", "--data", str(self._directory / "data"), "--listen", self._listen, *self._options]
        with (self._directory / "log").open("a") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("listening on "), (self._directory / "log").read_text()
        self.url = line.split()[2]
        self._listen = self.url.split("//")[1]

    def kill(self) -> None:
        """Ends it as a crash does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        assert self._end(signal.SIGTERM) == 0, (self._directory / "log").read_text()

    def _end(self, sig: signal.Signals) -> int:
        self._process.send_signal(sig)
        code = self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code


class Seen(NamedTuple):
    """A request that has come to the proxy."""

    method: str
    path: str
    key: str
    body: bytes


Step = Callable[["Exchange"], None]


class Exchange(BaseHTTPRequestHandler):
    """A request at the proxy, for a step to deal with."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer in one piece
    server: Proxy

    def do(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.server.lock:
            self.server.seen.append(Seen(self.command, self.path, self.headers.get("Idempotency-Key", ""), self.body))
            step = self.server.steps.pop(0) if self.server.steps else forward
        step(self)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do

    def ask(self) -> tuple[http.client.HTTPResponse, bytes]:
        """The answer of the server behind."""
        connection = http.client.HTTPConnection(self.server.behind.split("//")[1])
        headers = {name: value for name, value in self.headers.items() if name not in ("Host", "Connection")}
        connection.request(self.command, self.path, self.body, headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer, body

    def send(self, status: int, headers: dict[str, str], body: bytes, most: int | None = None) -> None:
        """Answers, with ``most`` bytes of the body before it breaks off."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:most])
        self.close_connection = most is not None

    def log_message(self, format: str, *args: object) -> None:
        pass


class Proxy(ThreadingHTTPServer):
    """Takes one step for each request, and forwards requests when there are no more."""

    daemon_threads = True

    def __init__(self, behind: str) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.behind = behind
        self.lock = threading.Lock()
        self.steps: list[Step] = []
        self.seen: list[Seen] = []
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def play(self, *steps: Step) -> None:
        """Sets the next steps, and forgets what has come."""
        with self.lock:
            self.steps, self.seen = list(steps), []

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a client that has gone

    def stop(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


def headers_of(answer: http.client.HTTPResponse) -> dict[str, str]:
    return {name: value for name, value in answer.getheaders() if name in ("Content-Type", "Content-Encoding")}


def forward(exchange: Exchange) -> None:
    answer, body = exchange.ask()
    exchange.send(answer.status, headers_of(answer), body)


def lose_request(exchange: Exchange) -> None:
    exchange.close_connection = True


def lose_answer(exchange: Exchange) -> None:
    exchange.ask()
    exchange.close_connection = True


def cut(most: int) -> Step:
    """Breaks the answer off after so many bytes."""

    def step(exchange: Exchange) -> None:
        answer, body = exchange.ask()
        exchange.send(answer.status, headers_of(answer), body, most)

    return step


def without_end(exchange: Exchange) -> None:
    """Leaves the last line out, in an answer that is whole to HTTP."""
    answer, body = exchange.ask()
    exchange.send(answer.status, headers_of(answer), body[: body[:-1].rindex(b"\n") + 1])


def refuse(status: int, code: str = "", **headers: str) -> Step:
    """Answers with an error in place of the server, or of a proxy without a code."""
    text = f'{{"message": "no", "result": null, "status": {status}, "error": {{"code": "{code}", "at": ""}}}}' if code else "<html>no"

    def step(exchange: Exchange) -> None:
        exchange.send(status, {name.replace("_", "-"): value for name, value in headers.items()}, text.encode())

    return step


def apply_and_refuse(status: int, code: str = "") -> Step:
    """Lets the server apply the request, and answers with an error."""

    def step(exchange: Exchange) -> None:
        exchange.ask()
        refuse(status, code)(exchange)

    return step
