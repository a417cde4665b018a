"""Fixtures of the tests of tables."""

from table_files import decide  # noqa: F401
