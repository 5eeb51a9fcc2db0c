"""Prefect's server behind the guard of hosts and origins: the application that `flows.pages.servers` starts.

Prefect asks for the password itself, but it has no list of hosts. And it begins its transactions on SQLite so that one
that reads first, and writes after another one has written, is turned away at once as "database is locked", whatever the
time that it may wait. Here each waits for its turn from its beginning.
"""

from contextlib import AbstractAsyncContextManager
from typing import Any

from prefect.server.api.server import create_app
from prefect.server.database.configurations import AioSqliteConfiguration
from starlette.types import ASGIApp

from flows.pages.guard import Guard

_begin = AioSqliteConfiguration.begin_transaction


def create() -> ASGIApp:
    """The application, with the settings of the environment."""
    AioSqliteConfiguration.begin_transaction = _begin_at_once  # type: ignore[method-assign, assignment]
    return Guard(create_app(final=True))


def _begin_at_once(
    database: AioSqliteConfiguration, session: Any, with_for_update: bool = False
) -> AbstractAsyncContextManager[Any]:
    """BEGIN IMMEDIATE, as Prefect does itself where it knows that it will write."""
    return _begin(database, session, with_for_update=True)
