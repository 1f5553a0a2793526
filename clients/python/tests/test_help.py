"""What help and completion show."""

from __future__ import annotations

import inspect

import pytest

import colonnade
from colonnade import AsyncTable, Query, Selection, Table


@pytest.mark.parametrize("table", [Table, AsyncTable])
def test_keywords_are_spelled_out(table: type[Table]) -> None:
    for method, keywords in ((table.scan, Query), (table.count, Query), (table.delete, Selection)):
        assert set(inspect.signature(method).parameters) >= keywords.__optional_keys__


def test_each_keyword_is_explained() -> None:
    assert Query.__doc__ is not None
    for name in Query.__optional_keys__:
        assert f"``{name}``" in Query.__doc__


def test_all() -> None:
    for name in colonnade.__all__:
        assert getattr(colonnade, name) is not None
    undocumented = [name for name, value in vars(Table).items() if inspect.isfunction(value) and name[0] != "_" and not value.__doc__]
    assert undocumented == ["describe"]
