"""The code of README.md runs, and its tables name what there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from servers import Server

import colonnade

README = Path(__file__).parents[1] / "README.md"


def test_readme(own_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    blocks = list(re.finditer(r"^```python\n(.*?)^```", README.read_text(), re.M | re.S))
    assert len(blocks) == 17
    for block in blocks:
        line = README.read_text().count("\n", 0, block.start()) + 1
        code = "\n" * line + block[1].replace("http://127.0.0.1:9876", own_server.url)
        exec(compile(code, README, "exec"), names)
    out = capsys.readouterr().out
    for printed in ("Example 1256", "it is mine", "org.example/async", "404 unknown_column_family items[0].cells[0].column_key"):
        assert printed in out
    assert names["df"].index.name == "row_key"
    assert names["first"].key == "net.example/0000"
    names["db"].close()


def test_names_of_the_readme() -> None:
    errors = re.findall(r"`([A-Z]\w+Error)`", README.read_text())
    assert len(errors) > 8
    methods = re.findall(r"`(?:web|db)\.(\w+)\(", README.read_text())
    for name in errors:
        assert hasattr(colonnade, name)
    for name in methods:
        assert hasattr(colonnade.Table, name) or hasattr(colonnade.Client, name)
