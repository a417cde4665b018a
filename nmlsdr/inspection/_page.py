"""The page on which annotations are checked: one entry at a time, its row beside the nearest rows, one key a verdict.

`_entries.py` collects what is shown as plain data.  The script of the page shows them, puts columns in order, and
writes the verdicts.  `render_part` makes the part of a page that both the review page and the report have.
"""

import base64
import json
import os
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline

from .._checks.arguments import check_count
from .._errors import InputError
from .._output import write_file
from ._entries import Facts, describe_entries
from ._html import need_jinja, open_template, read_asset, readable
from ._order import AUDIT
from ._page_table import PageTable
from ._review import last_with, rank_suspects, step_with_scores
from ._row_checks import check_rows
from ._verdicts import Columns, labels_to_review

TOP = 500  # entries of the list


def script_and_style() -> tuple[str, str]:
    """The script and the style of the part."""
    parts, script, style = (read_asset("nmlsdr.inspection", f"review{end}") for end in ("_parts.js", ".js", ".css"))
    return parts + script, style


def render_part(facts: Facts) -> str:
    """Return the HTML of the lists; the data are packed, because the cells of many rows are long."""
    packed = base64.b64encode(zlib.compress(json.dumps(facts, separators=(",", ":")).encode(), 5)).decode()
    return str(open_template("nmlsdr.inspection", "review_part.html.jinja").render(packed=packed))


def render_page(facts: Facts, *, source: str, command: str = "") -> bytes:
    """Return the page on which the entries are checked; `command` are the options of the commands to run next."""
    script, style = script_and_style()
    page = open_template("nmlsdr.inspection", "review.html.jinja").render(
        file=readable(facts["file"]),
        source=readable(source),
        command=readable(command, 100_000),  # complete, or it cannot be copied
        columns=facts["columns"],
        pictures=facts["pictures"],  # both are counted and not shown
        n_rows=len(facts["rows"]),
        part=render_part(facts),
        script=script,
        style=style,
    )
    return f"{page}\n".encode()


def write_review(
    path: str | os.PathLike[str],
    estimator: Any,
    X: Any,
    y: Any,
    *,
    table: Any = None,
    ids: Sequence[Any] | None = None,
    kind: str = "all",
    top: int = TOP,
    verdicts: NDArray[np.int64] | None = None,
    audit: int = AUDIT,
    title: str = "table",
) -> None:
    """Write the page on which a person checks annotations: a single file that a browser opens without a network.

    Parameters
    ----------
    path : path
        The page to write, such as review.html.
    estimator : estimator or Pipeline
        Estimator fitted on X and y. It, or a step of the pipeline, has ``flip_scores_``.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows given to `fit`.
    y : array-like or sparse matrix of shape (n_samples, n_labels)
        The labels given to `fit`, without the verdicts. The columns of a data frame name the labels.
    table : DataFrame, array-like or sparse matrix of shape (n_samples, n_columns), default=None
        What the page shows of a row; without columns nothing but ids and labels. None: X.
    ids : sequence of length n_samples, default=None
        Names of the rows. None: rows have their number only, from 0.
    kind : {"all", "forgotten", "wrong"}, default="all"
        Which annotations are listed; see `rank_suspects`.
    top : int, default=500
        Number of annotations.
    verdicts : ndarray of shape (n_samples, n_labels), default=None
        Earlier verdicts, as `read_verdicts` returns them. These annotations are not listed; the page adds the earlier
        verdicts to the file that it writes.
    audit : int, default=5
        Number of annotations of each label that the page asks first; see `rank_suspects`.
    title : str, default="table"
        Name of the data.

    Raises
    ------
    ValueError
        If the estimator has no ``flip_scores_``, or if lengths differ.
    ImportError
        Without jinja2, which the extra nmlsdr[cli] installs.

    See Also
    --------
    read_verdicts : Read the file that the page writes.
    rank_suspects : The list as arrays.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from nmlsdr import ResidualPropagation
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2]]
    >>> y = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [-1, -1]]
    >>> model = ResidualPropagation(n_neighbors=2).fit(X, y)
    >>> folder = tempfile.TemporaryDirectory()
    >>> page = pathlib.Path(folder.name, "review.html")
    >>> write_review(page, model, X, y)
    >>> page.read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'
    >>> folder.cleanup()
    """
    need_jinja("The review page")
    step = step_with_scores(estimator)
    labels, label_names = labels_to_review(y)
    verdicts = np.full(labels.shape, -1) if verdicts is None else np.nan_to_num(verdicts, nan=-1)
    suspects = rank_suspects(step, y, kind=kind, verdicts=verdicts, audit=audit)
    cells = X if table is None else table
    columns = [str(name) for name in getattr(cells, "columns", range(np.shape(cells)[1]))]
    shown = PageTable(
        source=title,
        label_names=label_names,
        verdicts=verdicts,
        labels=labels,
        columns=columns,
        named=_name_rows(cells, labels, ids),
        read=cells.tocsr() if sparse.issparse(cells) else np.asarray(cells, dtype=getattr(cells, "dtype", object)),
        names=columns,
        plan=getattr(last_with(estimator, "plan_"), "plan_", None),
    )
    X = _transformed(estimator, step, X)
    facts = describe_entries(step, X, suspects.first(check_count(top, "top")), shown, kind=kind)
    write_file(path, render_page(facts, source=title))


def _name_rows(cells: Any, labels: NDArray[Any], ids: Sequence[Any] | None) -> Columns:
    """The columns that name the rows in a list."""
    for name, n in (("table", np.shape(cells)[0]), ("ids", len(labels) if ids is None else len(ids))):
        if n != len(labels):
            raise InputError(f"{name} needs one entry for each of the {len(labels)} rows, got {n}.")
    numbered: Columns = [("row", np.arange(len(labels))), ("check", check_rows(cells, labels))]
    return numbered if ids is None else [("id", np.array(list(map(str, ids)), dtype=object)), *numbered]


def _transformed(estimator: Any, step: Any, X: Any) -> Any:
    """The rows as the step of an estimator or a pipeline gets them."""
    if isinstance(estimator, Pipeline):
        steps = [transformer for _, transformer in estimator.steps]
        for transformer in steps[: steps.index(step)]:
            X = transformer.transform(X)
    return X.tocsr() if sparse.issparse(X) else np.asarray(X)
