"""When a request is sent again, and after how long."""

from __future__ import annotations

import logging
import random
import time

from colonnade._errors import ColonnadeError, OutcomeUnknownError, UnavailableError
from colonnade._wire import Kind, NoAnswerError

log = logging.getLogger("colonnade")

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 10.0
_LONGEST_RETRY_AFTER = 60.0

# What a failure says about the attempt.
_FINAL = "another attempt would fail alike"
_REFUSED = "nothing has happened, and another attempt may succeed"
_LOST = "it may have happened, and another attempt may succeed"


def judge(error: ColonnadeError) -> str:
    if isinstance(error, NoAnswerError):
        if error.final:
            return _FINAL
        return _LOST if error.sent else _REFUSED
    ours = error.code != ""  # else a proxy has answered, and the server may have got the request
    match error.status:
        case 429:
            return _REFUSED
        case 502 | 504:
            return _LOST
        case 503 if error.code == "read_only":  # until a restart
            return _FINAL
        case 503 | 408:
            return _REFUSED if ours else _LOST
        case 409 if error.code == "idempotency_key_in_use":
            return _REFUSED
    return _FINAL


class Attempts:
    """The attempts of one call."""

    def __init__(self, kind: Kind, most: int, timeout: float) -> None:
        self._kind = kind
        self._most = most
        self._timeout = timeout
        self._unknown = False  # an attempt may have been applied
        self.restart()

    def restart(self) -> None:
        """Begins anew, after progress."""
        self._deadline = time.monotonic() + self._timeout
        self._made = 0

    def time_left(self, *, sent: bool = False) -> float:
        """The seconds that are left. Raises ``NoAnswerError`` when there are none; ``sent`` is whether the attempt has begun."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise self.too_late(sent=sent)
        return left

    def too_late(self, *, sent: bool) -> NoAnswerError:
        return NoAnswerError(f"there was no whole answer within {self._timeout:g} s", sent=sent, final=True)

    def pause_after(self, error: ColonnadeError) -> float:
        """How long to wait before the next attempt. Raises what the call has to raise if there is none."""
        self._made += 1
        verdict = judge(error)
        lost = verdict is _LOST or (isinstance(error, NoAnswerError) and error.final and error.sent)
        if self._kind is not Kind.READ:
            settled = verdict is _FINAL and 400 <= error.status < 500  # an attempt that was applied would be answered as before
            self._unknown = lost or (self._unknown and not settled)
        again = verdict is _REFUSED or (verdict is _LOST and self._kind is not Kind.ONCE)
        pause = self._pause(error)
        if again and self._made < self._most and pause is not None:
            log.info("attempt %d has failed, another one follows in %.1f s: %s", self._made, pause, error)
            return pause
        raise self._end(error)

    def _pause(self, error: ColonnadeError) -> float | None:
        longest: float = min(_FIRST_PAUSE * 2 ** (self._made - 1), _LONGEST_PAUSE)
        pause = random.uniform(longest / 2, longest)
        if error.retry_after is not None:
            if error.retry_after > _LONGEST_RETRY_AFTER:
                return None
            pause = max(pause, error.retry_after)
        return pause if time.monotonic() + pause < self._deadline else None

    def _end(self, error: ColonnadeError) -> ColonnadeError:
        text = error.message if self._made == 1 else f"attempt {self._made}: {error.message}"
        kind: type[ColonnadeError] = type(error)
        if self._unknown:
            kind, text = OutcomeUnknownError, f"{text}; the change may be applied or not"
        elif isinstance(error, (NoAnswerError, OutcomeUnknownError)):
            kind = UnavailableError
        end = kind(text, status=error.status, code=error.code, at=error.at, retry_after=error.retry_after)
        end.__cause__ = error if isinstance(error, NoAnswerError) and error.__cause__ is None else error.__cause__
        return end
