"""What can go wrong, as exceptions."""

from __future__ import annotations


class ColonnadeError(Exception):
    """A call that has failed.

    ``status`` is that of HTTP, and ``code`` the API's stable name of the failure; they are 0 and "" without an answer of a server.
    ``at`` is the place in the request, "" for none. ``retry_after`` is when to try again, in seconds, if the server has said so.
    ``rows_written`` is set by ``load``: how many rows are written, from the first on.
    """

    def __init__(self, message: str, *, status: int = 0, code: str = "", at: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.at = at
        self.retry_after = retry_after
        self.rows_written: int | None = None

    def __str__(self) -> str:
        text = self.message
        if self.code:
            text += f" ({self.status} {self.code})" if self.status else f" ({self.code})"
        if self.rows_written is not None:
            text += f"; {self.rows_written} rows are written"
        return text


class InvalidError(ColonnadeError):
    """The server does not take the request: it has to be changed."""


class AccessError(ColonnadeError):
    """The token is missing, unknown or expired, or does not allow this."""


class NotFoundError(ColonnadeError):
    """A table, a column family or a locality group is not there."""


class ExistsError(ColonnadeError):
    """A table or a column family is there already."""


class ConflictError(ColonnadeError):
    """What is there does not allow the change. Nothing has changed."""


class UnavailableError(ColonnadeError):
    """There was no answer, or one of a server that cannot do it now. A change was not applied."""


class OutcomeUnknownError(ColonnadeError):
    """A change that may be applied, as a whole, or not."""


class ServerError(ColonnadeError):
    """Stored data is damaged, or the server has a bug."""


class ProtocolError(ColonnadeError):
    """An answer that is not one of a Colonnade server."""


_OF_STATUS: dict[int, type[ColonnadeError]] = {
    400: InvalidError,
    401: AccessError,
    403: AccessError,
    404: NotFoundError,
    409: ConflictError,
    413: InvalidError,
    415: InvalidError,
    422: InvalidError,
    408: UnavailableError,
    429: UnavailableError,
    500: ServerError,
    502: UnavailableError,
    503: UnavailableError,
    504: OutcomeUnknownError,
    507: UnavailableError,
}

_OF_CODE: dict[str, type[ColonnadeError]] = {
    "table_exists": ExistsError,
    "column_family_exists": ExistsError,
    "idempotency_key_in_use": UnavailableError,
}

# Outcomes of single rows come without a status.
_OF_OUTCOME: dict[str, type[ColonnadeError]] = {
    "unknown_table": NotFoundError,
    "unknown_column_family": NotFoundError,
    "outcome_unknown": OutcomeUnknownError,
    "corruption": ServerError,
    "internal": ServerError,
}


def error_of(status: int, code: str, at: str, message: str, retry_after: float | None = None) -> ColonnadeError:
    """The exception for an error of the server, or with status 0 for an outcome of one row."""
    if status:
        kind = _OF_CODE.get(code) or _OF_STATUS.get(status, ProtocolError)
    else:
        kind = _OF_OUTCOME.get(code, InvalidError)
    return kind(message, status=status, code=code, at=at, retry_after=retry_after)
