"""The asynchronous client with trio in place of asyncio."""

from __future__ import annotations

import pytest
from servers import Proxy, cut, lose_answer

from colonnade import Table, increment

pytestmark = pytest.mark.parametrize("connect", ["trio"], indirect=True)


def test_trio(broken: Table, proxy: Proxy) -> None:
    proxy.play(lose_answer)
    assert broken.read_modify_write("n", increment("f:n"))["f:n"] == 1
    assert broken.load((f"{n:03}", {"f:n": n}) for n in range(200)) == 200
    proxy.play(cut(1000), cut(2000))
    assert len(list(broken.scan())) == 201
    assert broken.scan().to_arrow().num_rows == 201
    with broken.scan() as rows:
        assert next(rows).key == "000"
