"""The values of cells, and the bytes of keys, as Python has them and as the API's JSON has them."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from numbers import Integral
from typing import Any, TypeAlias

Key: TypeAlias = "str | bytes"
"""A row key, a prefix or a column. In a ``str``, surrogate escapes stand for bytes that are not UTF-8."""

Time: TypeAlias = "int | datetime"
"""Microseconds since 1970, or a ``datetime`` with a zone."""


def expect(value: Any, kind: type | tuple[type, ...], say: str) -> Any:
    """The value, if it is of a type. ``say`` is what the caller should say."""
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is of type {type(value).__name__}: say {say}")
    return value


def several(values: Any, say: str) -> list[Any]:
    """Keys or names as a list. A single one would count as its characters."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{values!r} is one, and not several: say {say}")
    return list(values)


class I32(int):
    """A value of type ``i32``."""

    def __repr__(self) -> str:
        return f"I32({int(self)})"


class Byte(int):
    """A value of type ``byte``: 0 to 255."""

    def __repr__(self) -> str:
        return f"Byte({int(self)})"


class F32(float):
    """A value of type ``f32``: the float is rounded to 32 bits."""

    def __new__(cls, value: float) -> F32:
        return super().__new__(cls, struct.unpack("f", struct.pack("f", value))[0])

    def __repr__(self) -> str:
        return f"F32({float(self)})"


Value: TypeAlias = "str | int | float | bool | bytes | I32 | Byte | F32"

# Before the types that they derive from.
_TYPES: list[tuple[type, str]] = [
    (str, "string"),
    (bytes, "bytes"),
    (bool, "boolean"),
    (I32, "i32"),
    (Byte, "byte"),
    (int, "i64"),
    (F32, "f32"),
    (float, "f64"),
]


def typed(value: object) -> dict[str, Any]:
    """The fields ``type`` and ``value`` of a value."""
    if not isinstance(value, (str, int, float, bytes)) and hasattr(value, "item"):
        value = value.item()  # a scalar of NumPy
    for kind, name in _TYPES:
        if isinstance(value, kind):
            break
    else:
        if isinstance(value, (bytearray, memoryview)):
            return typed(bytes(value))
        raise TypeError(f"{value!r} is no value of a cell: it is of type {type(value).__name__}, and not str, int, float, bool or bytes")
    if isinstance(value, bytes):
        return {"type": name, "value": base64.b64encode(value).decode()}
    if isinstance(value, float):
        if value - value != 0:
            raise ValueError(f"{value!r} is no value of a cell: leave the cell out, or delete it")
        value = float(value)  # NumPy's float64 is a float of another form
    return {"type": name, "value": value}


def untyped(kind: str, value: Any) -> Value | None:
    """The value of the fields ``type`` and ``value``; ``None`` where it was stripped."""
    if value is None or kind in ("string", "i64", "f64", "boolean"):
        return value  # type: ignore[no-any-return]
    if kind == "bytes":
        return base64.b64decode(value)
    if kind == "i32":
        return I32(value)
    if kind == "byte":
        return Byte(value)
    if kind == "f32":
        return F32(value)
    raise ValueError(f"{kind!r} is a type that this client does not know")


_PACKED = {"i64": ">q", "i32": ">i", "f64": ">d", "f32": ">f", "byte": "B", "boolean": "?"}


def sortable(value: Value) -> bytes:
    """A value as filters see it."""
    fields = typed(value)
    if isinstance(value, (str, bytes)):
        return value.encode() if isinstance(value, str) else value
    return struct.pack(_PACKED[fields["type"]], fields["value"])


def encode_key(key: Key) -> str | dict[str, str]:
    """A key as JSON: a string, or in base64 where it is not UTF-8."""
    if isinstance(key, str) and key.isascii():
        return key
    raw = key_bytes(key)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}


def decode_key(key: str | Mapping[str, str]) -> str:
    if isinstance(key, str):
        return key
    return base64.b64decode(key["base64"]).decode(errors="surrogateescape")


def key_bytes(key: Key) -> bytes:
    if isinstance(key, str):
        return key.encode(errors="surrogateescape")
    if isinstance(key, (bytes, bytearray, memoryview)):
        return bytes(key)
    raise TypeError(f"{key!r} is no key: it is of type {type(key).__name__}, and not str or bytes")


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


def micros(time: Time) -> int:
    """A time in microseconds."""
    if isinstance(time, datetime):
        if time.tzinfo is None:
            raise ValueError(f"{time} has no time zone: say datetime(…, tzinfo=timezone.utc)")
        return (time - _EPOCH) // _MICROSECOND
    # A float would be time.time(), which is of seconds.
    return int(expect(time, Integral, "microseconds since 1970 as an int, or a datetime with a zone"))


def datetime_of(time: int) -> datetime:
    return _EPOCH + time * _MICROSECOND
