"""What a study hands to the report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .tables import Table

__all__ = ["Section"]


@dataclass
class Section:
    """One study of the report.

    Attributes
    ----------
    name : str
        The study.
    title : str
    paragraphs : list of str
        What was done and what came out, before the tables.
    claims : list of (str, bool or None)
        What the article says or the project promises, and whether it holds here; None where the cells at hand cannot
        decide it.
    tables : list of Table
    figures : dict of str to (matplotlib Figure, caption)
        By file name without ending.
    raw : str
        CSV of every cell.
    settings : dict
    failures : list of str
    """

    name: str
    title: str
    paragraphs: list[str] = field(default_factory=list)
    claims: list[tuple[str, bool | None]] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    figures: dict[str, tuple[Any, str]] = field(default_factory=dict)
    raw: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
