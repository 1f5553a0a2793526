"""A client of Colonnade, a wide-column table service. The tour is in README.md."""

from colonnade import filters
from colonnade._aggregates import Function, Group, GroupBy, Groups, by_column, by_delimiter, by_prefix
from colonnade._async.client import AsyncClient, connect_async
from colonnade._async.scan import AsyncScan
from colonnade._async.table import AsyncTable
from colonnade._changes import (
    Exists,
    Mutation,
    Mutations,
    Rule,
    append,
    delete_cells,
    delete_column,
    delete_family,
    exists,
    increment,
    missing,
    set_cell,
)
from colonnade._errors import (
    AccessError,
    ColonnadeError,
    ConflictError,
    ExistsError,
    InvalidError,
    NotFoundError,
    OutcomeUnknownError,
    ProtocolError,
    ServerError,
    UnavailableError,
)
from colonnade._query import Op, Query, Range, RowQuery, Selection
from colonnade._rows import Cell, Cells, Page, Row, Rows, Stats
from colonnade._schema import Advice, Advised, Family, Level, Load, LocalityGroup, Move, Partition, TableInfo
from colonnade._settings import Options, __version__
from colonnade._sync.client import Client, connect
from colonnade._sync.scan import Scan
from colonnade._sync.table import Table
from colonnade._values import F32, I32, Byte, Key, Time, Value
from colonnade.filters import Filter

__all__ = [
    "AccessError",
    "Advice",
    "Advised",
    "AsyncClient",
    "AsyncScan",
    "AsyncTable",
    "Byte",
    "Cell",
    "Cells",
    "Client",
    "ColonnadeError",
    "ConflictError",
    "Exists",
    "ExistsError",
    "F32",
    "Family",
    "Filter",
    "Function",
    "Group",
    "GroupBy",
    "Groups",
    "I32",
    "InvalidError",
    "Key",
    "Level",
    "Load",
    "LocalityGroup",
    "Move",
    "Mutation",
    "Mutations",
    "NotFoundError",
    "Op",
    "Options",
    "OutcomeUnknownError",
    "Page",
    "Partition",
    "ProtocolError",
    "Query",
    "Range",
    "Row",
    "RowQuery",
    "Rows",
    "Rule",
    "Scan",
    "Selection",
    "ServerError",
    "Stats",
    "Table",
    "TableInfo",
    "Time",
    "UnavailableError",
    "Value",
    "__version__",
    "append",
    "by_column",
    "by_delimiter",
    "by_prefix",
    "connect",
    "connect_async",
    "delete_cells",
    "delete_column",
    "delete_family",
    "exists",
    "filters",
    "increment",
    "missing",
    "set_cell",
]
