"""Each example runs, and prints what it should."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from servers import Server

EXAMPLES = Path(__file__).parents[1] / "examples"

WANT = {
    "time_series": [
        "144 measurements on Monday",
        "last: cellar/2025-11-11T23 12.7",
        "cellar/2025-11-10 9.15 10.3",
        "cellar/2025-11-11 11.55 12.7",
    ],
    "feature_store": [
        "user-2 {'clicks:rate': 0.25, 'clicks:week': 5}",
        "user-1 {'clicks:week': 9}",
        "{'user-1': 3, 'user-2': 5}",
    ],
    "inbox": [
        "['third', 'second']",
        "one: True two: False",
        "two: True",
        "page: ['third', 'second']",
        "page: ['first']",
    ],
    "web_table": [
        "['org.example.shop/cart', 'org.example.www/']",
        "{'https://news.example.com/': 'an example'}",
        *(f"https://www.example.org/ as of crawl {crawl}" for crawl in (5, 4, 3)),
    ],
    "graph": [
        "ada follows ['bob', 'cy']",
        "they follow ['dan', 'eve']",
        "bob follows dan: True",
        "most followed: cy",
    ],
}


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_example(name: str, server: Server) -> None:
    run = subprocess.run([sys.executable, EXAMPLES / f"{name}.py", server.url], capture_output=True, text=True)
    assert run.stderr == ""
    assert run.stdout.splitlines() == WANT[name]
