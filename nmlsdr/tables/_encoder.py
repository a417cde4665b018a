"""A raw table as the first step of a pipeline."""

import contextlib
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from .._checks.arguments import check_choice, refuse_text
from .._checks.cells import column_names, refuse_lazy
from .._checks.labels import check_labels
from .._checks.words import check_answers
from .._errors import InputError, level_outside, plural, some_of
from .._refit import new_fit
from ._columns import Cells, Numbers
from ._number_parsing import keeps_digits
from ._objects import typed_column
from ._plan import Plan
from ._planner import Choices, ColumnOptions, Planner
from ._problems import Problem, problems_in_words
from ._scaling import scaler_of


@dataclass(eq=False, repr=False, kw_only=True)
class TableEncoder(ColumnOptions, TransformerMixin, BaseEstimator):
    """Turn a table with texts, dates and missing values into numbers.

    What is done with each column is decided from its cells. These columns are left out: an identifier, a constant, a
    copy of another column, and a column that was filled in together with the labels. Numbers may have decimal commas
    and marks between thousands. A word that is frequent among numbers is a missing value; missing values are replaced
    by the median. Dates become the year and the month, yes and no become 1 and 0, categories one column for each
    level, and lists one column for each item. Texts become the TF-IDF weights of their words, and the features are
    sparse then. Units of numbers are converted, and signs of comparison get a column of their own. The command line
    does the same.

    Parameters
    ----------
    missing : sequence of str, default=None
        More words that mean a missing value. The usual ones, such as "n/a", are known, and words that are frequent
        among the numbers or dates of a column are found; `fit` warns of the latter.
    drop : sequence of str, default=()
        Names of columns to leave out.
    one_hot : sequence of str, default=()
        Names of columns that are categories, such as numeric codes. Other columns are decided from their cells.
    decimal : {".", ","}, default=None
        Decimal mark of numbers. None: found for each column.
    thousands : {"", ".", ",", " ", "'"}, default=None
        Mark between thousands, such as in 1,000. "": there is none. None: found for each column.
    keep_case : bool, default=False
        Whether texts that differ only in case or surrounding blanks are different categories.
    yes, no : str, default=None
        Words that mean yes and no; give both. The usual words of many languages are known.
    impute : {"median", "mean"}, default="median"
        Statistic of a column that replaces its missing numbers.
    standardize : bool, default=False
        Whether the features are put on one scale, as the command line does: each feature gets the variance 1. The words
        of a text and the numbers of a vector are hundreds of features of one column, and share a variance; beside
        texts so do the levels of a category and the items of a list. No other scaler should follow then.

    Attributes
    ----------
    plan_ : object
        What is done with each column: ``plan_.columns`` has the name, the kind and the reason for each.
    scaler_ : TableScaler, StandardScaler or None
        What puts the features on one scale; None without ``standardize``.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape (n_features_in_,), str
        Names of the columns, if the table has names.

    See Also
    --------
    sklearn.preprocessing.OneHotEncoder : For columns that are known to be categories.

    Examples
    --------
    >>> import pandas as pd
    >>> from nmlsdr.tables import TableEncoder
    >>> table = pd.DataFrame({"size": ["1,5", "n/a", "2,5"], "wood": ["oak", "Oak ", "ash"]})
    >>> encoder = TableEncoder().fit(table)
    >>> [(column.name, column.kind) for column in encoder.plan_.columns]
    [('size', 'number'), ('wood', 'category')]
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'wood=ash', 'wood=Oak']
    >>> encoder.transform(table)
    array([[1.5, 0. , 1. ],
           [2. , 0. , 1. ],
           [2.5, 1. , 0. ]])
    """

    impute: str = "median"
    standardize: bool = False

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Decide what is done with each column.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Numbers, texts, dates, and missing values.
        y : array-like of shape (n_samples,) or (n_samples, n_labels), default=None
            Labels in any form that the estimators take. A column that is filled only where labels are known, or that
            holds the names of their columns, is not used.

        Returns
        -------
        self
            The fitted transformer.
        """
        self._fit(X, y)
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> Any:
        """Decide what is done with each column, and return the features.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Numbers, texts, dates, and missing values.
        y : array-like of shape (n_samples,) or (n_samples, n_labels), default=None
            Labels, as for `fit`.

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_features_out)
            The features; CSR if a column of texts is among them.
        """
        return self._scaled(self._fit(X, y))

    def _fit(self, X: Any, y: Any) -> Any:
        """Decide what is done with each column, and return the features before they are put on one scale.

        `transform` would encode the table once more, and compare it with itself.
        """
        with new_fit(self):
            self._check_parameters()
            columns = self._columns(X, reset=True)
            names = [str(name) for name in getattr(self, "feature_names_in_", range(len(columns)))]
            self._check_column_names(names)
            named = dict(zip(names, columns, strict=True))
            choices = Choices(**{field.name: getattr(self, field.name) for field in fields(ColumnOptions)})
            used = {name: cells for name, cells in named.items() if name not in self.drop}
            planner = Planner(used, len(columns[0]), choices, _labeled(y), getattr(y, "columns", ()))
            plan = planner.plan()
            if doubts := planner.doubts():
                warnings.warn(doubts, UserWarning, stacklevel=level_outside())
            place = {column.name: column for column in plan.columns}
            plan = Plan(tuple(place[name] for name in names), plan.missing, plan.keep_case)
            features = plan.encode(named, len(columns[0]), problems := list[Problem]())
            if problems:
                raise InputError(problems_in_words(problems, "row", in_python=True))
            plan = plan.filled(features, self.impute)
            self.plan_ = replace(plan, profiles=plan.profiles_of(named, features))
            features = self.plan_.fill_in(features)
            self.scaler_ = scaler_of(plan.blocks, issparse(features)).fit(features) if self.standardize else None
            return features

    def transform(self, X: ArrayLike) -> Any:
        """Return the features of a table with the same columns.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            A category that `fit` has not seen gives zeros. Columns with names are found by these, in any order; those
            that become no features are not needed, and others are not looked at.

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_features_out)
            The features; CSR if a column of texts is among them.

        Raises
        ------
        ValueError
            If more than 1 % of the cells of a column of numbers or dates hold other texts; the message names up to ten
            of them. Up to 1 % are read as missing values, and a warning names them.
        """
        check_is_fitted(self)
        named = self._columns_by_name(X)
        n_rows: int = len(next(iter(named.values()))) if named else getattr(X, "shape", (0,))[0]
        features, errors, lines = self.plan_.encode_new(named, n_rows, [], (), {})
        if errors:
            raise InputError(problems_in_words(errors, "row", in_python=True))
        for line in lines:
            warnings.warn(f"In X, {line}.", UserWarning, stacklevel=level_outside())
        return self._scaled(features)

    def _scaled(self, features: Any) -> Any:
        scaler = getattr(self, "scaler_", None)
        return features if scaler is None else scaler.transform(features)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features: ``ward=east`` for a level of a category, ``note: cough`` for a word.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns; they must be those of `fit`.

        Returns
        -------
        ndarray of str
            The names.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.array(self.plan_.feature_names, dtype=object)

    def _check_parameters(self) -> None:
        check_choice(self.impute, "impute", "median", "mean")
        check_choice(self.standardize, "standardize", False, True)
        for name, marks in (("decimal", (".", ",")), ("thousands", ("", ".", ",", " ", "'"))):
            if getattr(self, name) is not None:
                check_choice(getattr(self, name), name, *marks)
        check_answers(self.yes, self.no)
        for name in ("missing", "drop", "one_hot"):
            refuse_text(getattr(self, name), name)

    def _check_column_names(self, names: Sequence[str]) -> None:
        unknown = [name for name in (*self.drop, *self.one_hot) if name not in names]
        if unknown:
            raise InputError(f"There is no column {unknown[0]!r}; drop and one_hot name columns of X.")

    def _columns_by_name(self, X: Any) -> dict[str, Cells]:
        """Return the columns of new rows: those that become features, if X and the table of the fit have names."""
        _refuse_lazy(X)
        names = column_names(X) if _is_frame(X) and 0 not in X.shape else None
        if names is None or not hasattr(self, "feature_names_in_"):
            return dict(zip(self.plan_.names, self._columns(X, reset=False), strict=True))
        needed = [column.name for column in self.plan_.used]
        _check_names(needed, Counter(names.tolist()))
        return dict(zip(needed, _cells_of(X[needed]), strict=True)) if needed else {}

    def _columns(self, X: Any, *, reset: bool) -> list[Cells]:
        """Return the columns, after scikit-learn's checks of shape and names."""
        _refuse_lazy(X)
        if _is_frame(X) and 0 not in X.shape:  # whose columns have types of their own
            validate_data(self, X, skip_check_array=True, reset=reset)
            return _cells_of(X)
        return _cells_of(validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", reset=reset))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def encoder_of(plan: Plan, impute: str, named: bool = True) -> TableEncoder:
    """Return the fitted encoder of a plan; `named` if its table has names of columns."""
    encoder = TableEncoder(impute=impute)
    encoder.plan_ = plan
    encoder.scaler_ = None
    encoder.n_features_in_ = len(plan.columns)
    if named:
        encoder.feature_names_in_ = np.array(plan.names, dtype=object)
    return encoder


def _refuse_lazy(X: Any) -> None:
    refuse_lazy(X, "X")
    if hasattr(X, "__dask_graph__"):
        raise InputError("TableEncoder takes tables in memory, got one of Dask; pass X.compute().")


def _check_names(needed: Sequence[str], counts: Mapping[str, int]) -> None:
    """Raise if a needed column is missing, or if two columns have its name."""
    if repeated := [name for name in needed if counts[name] > 1]:
        raise InputError(f"X has {counts[repeated[0]]} columns called {repeated[0]!r}; give each a name of its own.")
    if absent := [name for name in needed if name not in counts]:
        lack = f"X lacks {plural(len(absent), 'column')} of the {len(needed)} that the fit used"
        raise InputError(f"{lack}: {some_of(absent)}; pass a table with these names.")


def _is_frame(X: Any) -> bool:
    """Whether a table is a data frame of pandas or polars."""
    return hasattr(X, "iloc") or (hasattr(X, "schema") and hasattr(X, "get_columns"))


def _cells_of(X: Any) -> list[Cells]:
    """Return the columns of a data frame or an array."""
    if not _is_frame(X):
        columns = [X[:, j] for j in range(X.shape[1])]
    else:
        columns = X.get_columns() if hasattr(X, "get_columns") else [X.iloc[:, j] for j in range(X.shape[1])]
    cells_of_columns = [_cells(column) for column in columns]
    if any(isinstance(cells, Numbers) and np.isinf(cells.values).any() for cells in cells_of_columns):
        raise InputError("X contains infinity; replace it by a number, or by NaN for a missing value.")
    return cells_of_columns


def _cells(column: Any) -> Cells:
    """Return a column of an array or data frame."""
    values = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if values.dtype.kind == "c":
        raise InputError("X contains complex numbers; give the real and the imaginary part as two columns.")
    has_lists = values.ndim > 1  # as the type Array of polars gives them, all of one length
    is_whole = values.dtype.kind in "iu" and len(values) > 0
    if not has_lists and (values.dtype.kind == "f" or (is_whole and keeps_digits([values.min(), values.max()]))):
        return Numbers(values.astype(np.float64))
    return typed_column(values.tolist() if values.dtype.kind in "UT" else list(values))


def _labeled(y: Any) -> NDArray[np.bool_] | None:
    """Return which rows have labels; None if that cannot be known from y."""
    with contextlib.suppress(TypeError, ValueError):
        return np.asarray(check_labels(y).labeled)
    return None
