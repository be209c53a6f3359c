"""The store in SQLite, through apsw: one file that many processes share, or a database in memory."""

from .store import SqliteStore

__all__ = ["SqliteStore"]
