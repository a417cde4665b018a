"""write_review: the review page from a fitted estimator and the arrays or frame it was fitted on."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline

from .._checks.arguments import check_count
from .._checks.cells import is_null
from .._errors import InputError
from .._output import replace_file
from ._embedding import last_with
from ._html import need_jinja
from ._images import thumbnails
from ._page import Table, describe_entries, render_page, split_kinds
from ._review import rank_suspects
from ._verdicts import Columns, labels_to_review

TOP = 250  # entries of each list


def write_review(
    path: str | os.PathLike[str],
    estimator: Any,
    X: Any,
    y: Any,
    *,
    table: Any = None,
    show: Sequence[str] | None = None,
    image: str | None = None,
    folder: str | os.PathLike[str] = ".",
    ids: Sequence[Any] | None = None,
    kind: str = "apart",
    top: int = TOP,
    verdicts: NDArray[np.int64] | None = None,
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
        The labels given to `fit`. The columns of a data frame name the labels.
    table : DataFrame or array-like of shape (n_samples, n_columns), default=None
        What the page shows of a row. None: X.
    show : sequence of str, default=None
        Names of the columns that are shown; () for none. None: all.
    image : str, default=None
        Column of `table` with paths of pictures (PNG, JPEG, GIF or WebP) below `folder`; they become part of the
        page.
    folder : path, default="."
        Folder of the pictures.
    ids : sequence of length n_samples, default=None
        Names of the rows. None: rows have their number only, from 0.
    kind : {"apart", "both", "missing", "spurious", "unknown"}, default="apart"
        Which annotations are listed; see `rank_suspects`.
    top : int, default=250
        Number of annotations of each list.
    verdicts : ndarray of shape (n_samples, n_labels), default=None
        Earlier verdicts, as `read_verdicts` returns them. These annotations are not listed; the page adds the earlier
        verdicts to the file that it writes.
    title : str, default="table"
        Name of the data.

    Raises
    ------
    ValueError
        If the estimator has no ``flip_scores_``, if a column does not exist, or if lengths differ.
    ImportError
        Without jinja2, which the extra nmlsdr[cli] installs.

    See Also
    --------
    read_verdicts : Read the file that the page writes.
    apply_verdicts : Correct y by it.

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
    step = last_with(estimator, "flip_scores_")
    if step is None:
        raise InputError(f"{type(estimator).__name__} has no flip_scores_; pass a fitted ResidualPropagation.")
    target, label_names = labels_to_review(y)
    n_rows = len(target)
    reviewed = None if verdicts is None else np.asarray(verdicts) >= 0
    rate = getattr(step, "flip_rate_", None)
    found = rank_suspects(step.flip_scores_, y, kind=kind, flip_rate=rate, reviewed=reviewed)
    lists = {name: part.first(check_count(top, "top")) for name, part in split_kinds(found, kind).items()}
    frame, names = _columns(X if table is None else table)
    n_shown, n_ids = frame.shape[0], n_rows if ids is None else len(ids)
    if n_shown != n_rows or n_ids != n_rows:
        raise InputError(f"table and ids need one entry for each of the {n_rows} rows, got {n_shown} and {n_ids}.")
    places = {name: j for j, name in enumerate(names)}
    missing = [name for name in [*(show or ()), *([image] if image else [])] if name not in places]
    if missing:
        raise InputError(f"there is no column {missing[0]!r}; the columns are {', '.join(names[:20])}.")

    def cells(rows: NDArray[np.intp], columns: Sequence[str]) -> list[list[str]]:
        block = frame[rows][:, [places[name] for name in columns]]
        return [_texts(column) for column in (block.toarray() if sparse.issparse(block) else block).T]

    def pictures(rows: Sequence[int]) -> list[tuple[str, str]]:
        paths = cells(np.array(rows, dtype=np.intp), [str(image)])[0] if len(rows) else []
        return thumbnails(os.fspath(folder), paths)

    columns = [name for name in names if name != image] if show is None else list(show)
    Z, features = _transformed(estimator, step, X)
    facts = describe_entries(
        Table(
            target,
            label_names,
            Z,
            row_namer(None if ids is None else list(map(str, ids)), "id"),
            columns=columns,
            cells=cells,
            pulls=ridge_parts(step, features, _feature_columns(estimator, names), columns),
            always=show or (),
            pictures=pictures if image else None,
            before=verdicts,
            given=target,
        ),
        lists,
        source=title,
    )
    with replace_file(path) as file:
        file.write(render_page(facts, source=title).encode())


def row_namer(ids: Sequence[str] | None, name: str) -> Callable[[NDArray[np.intp]], Columns]:
    """Return a function from row numbers to the columns of a list that name these rows."""
    texts = None if ids is None else np.array(ids, dtype=object)
    return lambda rows: ([] if texts is None else [(name, texts[rows])]) + [("row", rows)]


def ridge_parts(
    method: Any, X: Any, feature_columns: Sequence[str] | None, columns: Sequence[str]
) -> Callable[[int, int], NDArray[np.float64]] | None:
    """Return a function from a row and a label to the part of each column in the regression for this label.

    Parameters
    ----------
    method : estimator
        With ``coef_`` and ``mean_``; otherwise there is no function.
    X : array of shape (n_samples, n_features)
        The rows that the method was fitted on.
    feature_columns : sequence of str, or None
        The column of each feature; None if that is not known.
    columns : sequence of str
        The columns to which a part is given: the sum over their features of coefficient times deviation from the
        mean.  For standardised features this is the coefficient times the standardised value.
    """
    if feature_columns is None or not hasattr(method, "coef_") or len(feature_columns) != X.shape[1]:
        return None
    places = {name: j for j, name in enumerate(columns)}
    column = np.array([places.get(name, len(columns)) for name in feature_columns])

    def parts(i: int, c: int) -> NDArray[np.float64]:
        row = X[[i]]
        x = row.toarray() if sparse.issparse(row) else row
        weights = method.coef_[c] * (x[0] - method.mean_)
        return np.asarray(np.bincount(column, weights, minlength=len(columns) + 1)[:-1], dtype=np.float64)

    return parts


def _transformed(estimator: Any, step: Any, X: Any) -> tuple[Any, Any]:
    """The rows in which neighbours are searched, and the features that the step was fitted on."""
    steps = [s for _, s in estimator.steps] if isinstance(estimator, Pipeline) else [step]
    for before in steps[: steps.index(step)]:
        X = before.transform(X)
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    return getattr(step, "embedding_", X), X


def _feature_columns(estimator: Any, names: list[str]) -> list[str]:
    """The column of each feature: those of the plan of a TableEncoder, or the columns themselves."""
    encoder = last_with(estimator, "plan_")
    return names if encoder is None else [c.name for c in encoder.plan_.used for _ in c.feature_names]


def _columns(table: Any) -> tuple[Any, list[str]]:
    """The cells as an array of two dimensions, and the names of the columns."""
    names = getattr(table, "columns", None)
    array = table.tocsr() if sparse.issparse(table) else np.asarray(table, dtype=None if names is None else object)
    if array.ndim != 2:
        raise InputError(f"table must be 2-D, got {array.ndim} dimensions.")
    return array, [str(name) for name in (names if names is not None else range(array.shape[1]))]


def _texts(column: NDArray[Any]) -> list[str]:
    """The cells of one column; numbers have at most six digits."""
    cells = column.tolist()
    return [f"{v:.6g}" if isinstance(v, float) and v == v else "" if is_null(v) else str(v) for v in cells]
