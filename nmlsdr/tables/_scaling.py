"""Features on one scale: columns of variance 1, and blocks of columns, such as the words of a text, with a weight."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_is_fitted, validate_data

from .._errors import InputError


@dataclass(eq=False, repr=False)
class TableScaler(TransformerMixin, BaseEstimator):
    """Give each feature the variance 1, and each block of features a given total variance.

    The words of a text and the numbers of an embedding are hundreds of features of one column. Were each of them given
    the variance 1, they would outweigh the other columns, and rare words would count most. A block is divided by one
    number instead, which keeps the proportions inside it. Sparse features stay sparse, and their means stay too.

    Parameters
    ----------
    blocks : tuple of int, default=()
        The first feature of each block and the one behind its last, one block after the other.
    weights : tuple of float, default=()
        The total variance of each block.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,), float64
        What is subtracted: the mean of each feature, or 0 for sparse features.
    scale_ : ndarray of shape (n_features,), float64
        What the features are divided by.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from nmlsdr.tables import TableScaler
    >>> X = np.array([[10.0, 3.0, 0.0], [30.0, 0.0, 4.0]])
    >>> TableScaler(blocks=(1, 3), weights=(1.0,)).fit_transform(X)
    array([[-1. ,  0.6, -0.8],
           [ 1. , -0.6,  0.8]])
    """

    blocks: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the means and the scales.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Numbers without missing values.
        y : None, default=None
            Not used.

        Returns
        -------
        self
            The fitted transformer.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32))
        variance: NDArray[np.float64]
        if issparse(X):
            _, variance = mean_variance_axis(X, axis=0)
            self.mean_ = np.zeros(X.shape[1])
        else:
            self.mean_ = X.mean(axis=0, dtype=np.float64)
            variance = X.var(axis=0, dtype=np.float64)
        scale = np.sqrt(variance.astype(np.float64))
        for block, weight in self._weighted_blocks(X.shape[1]):
            scale[block] = np.sqrt(variance[block].sum() / weight)
        # A constant feature is not divided by its rounding errors.
        largest = np.abs(self.mean_) * np.finfo(np.float64).eps * 10
        self.scale_ = np.where(scale > largest, scale, 1.0)
        return self

    def transform(self, X: Any) -> Any:
        """Return the features on one scale.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_features)
            In the form of X.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        if issparse(X):
            scaled = csr_array(X, copy=True)
            scaled.data /= self.scale_[scaled.indices]
            return scaled
        return (X - self.mean_) / self.scale_

    def _weighted_blocks(self, n_features: int) -> Iterator[tuple[slice, float]]:
        """Yield each block of features and its weight; raise if they do not fit each other or the features."""
        ends = [*self.blocks]
        if len(ends) != 2 * len(self.weights) or ends != sorted(ends) or max(ends, default=0) > n_features:
            mismatch = f"blocks={self.blocks} and weights={self.weights} with {n_features} features"
            raise InputError(f"{mismatch}; give two ascending numbers of features and one weight for each block.")
        for start, end, weight in zip(ends[::2], ends[1::2], self.weights, strict=True):
            yield slice(start, end), weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def scaler_of(blocks: tuple[tuple[int, ...], tuple[float, ...]], is_sparse: bool) -> Any:
    """Return what puts the features of a table on one scale, not fitted; ``blocks`` are those of its plan."""
    from sklearn.preprocessing import StandardScaler  # takes longer to load than many tables to read

    return TableScaler(*blocks) if blocks[0] else StandardScaler(with_mean=not is_sparse)
