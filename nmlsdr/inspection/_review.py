"""LabelReviewDisplay: the annotations that look wrong, by score."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from .._checks.arguments import check_count
from .._checks.labels import check_labels
from .._colors import COLORS
from .._errors import InputError
from ._embedding import axes_for, label_names, last_with, plain
from ._suspects import Suspects, rank_suspects


class LabelReviewDisplay:
    """Bar chart of the annotations that look most likely wrong, by score.

    Use `from_estimator` to create it.

    Parameters
    ----------
    suspects : Suspects
        Annotations in the order of `rank_suspects`.
    row_names, label_names : sequence of str
        Names of all rows and of all labels.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the bars.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    bars_ : BarContainer
        The bars.

    See Also
    --------
    rank_suspects : The list without a plot.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from nmlsdr import MultiLabelPropagation
    >>> from nmlsdr.inspection import LabelReviewDisplay
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2]]
    >>> y = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [-1, -1]]
    >>> model = MultiLabelPropagation(2, alpha_labeled=0.9).fit(X, y)
    >>> display = LabelReviewDisplay.from_estimator(model, X, y, kind="spurious")
    >>> int(display.suspects.row[0]), int(display.suspects.label[0])
    (3, 1)
    """

    def __init__(self, suspects: Suspects, *, row_names: Sequence[str], label_names: Sequence[str]) -> None:
        self.suspects = suspects
        self.row_names = row_names
        self.label_names = label_names

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, kind: str = "both", top: int = 20, ax: Any = None, **bar: Any
    ) -> "LabelReviewDisplay":
        """Rank the annotations of the rows that `estimator` was fitted on, and draw the first ones.

        Parameters
        ----------
        estimator : estimator or Pipeline
            Estimator fitted on X and y. It, or a step of the pipeline, has ``flip_scores_``.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows given to `fit`. The index of a data frame names the rows.
        y : array-like of shape (n_samples, n_labels) or (n_samples,)
            The labels given to `fit`. The columns of a data frame name the labels.
        kind : {"both", "missing", "spurious"}, default="both"
            Which annotations are ranked; see `rank_suspects`.
        top : int, default=20
            Number of annotations to draw.
        ax : matplotlib Axes, default=None
            Axes to draw on. None: those of a new figure.
        **bar
            Arguments of ``Axes.barh``.

        Returns
        -------
        LabelReviewDisplay
            The display, already drawn.

        Raises
        ------
        ValueError
            If the estimator has no ``flip_scores_`` or was fitted on other rows, if ``kind`` is unknown, or if the
            labels are invalid.
        """
        step = last_with(estimator, "flip_scores_")
        if step is None:
            raise InputError(
                f"{type(estimator).__name__} has no flip_scores_; pass a fitted ResidualPropagation or "
                "MultiLabelPropagation."
            )
        n_samples = _num_samples(X)
        scores = step.flip_scores_
        if n_samples != len(scores):
            raise InputError(
                f"X has {n_samples} rows, but the estimator was fitted on {len(scores)}; pass the rows of its fit."
            )
        labels = check_labels(y, n_samples=n_samples)
        suspects = rank_suspects(scores, y, kind=kind, flip_rate=getattr(estimator, "flip_rate_", None))
        row_names = list(map(str, X.index if hasattr(X, "iloc") else range(n_samples)))
        return cls(suspects, row_names=row_names, label_names=label_names(labels)).plot(ax, top=top, **bar)

    def plot(self, ax: Any = None, *, top: int = 20, **bar: Any) -> "LabelReviewDisplay":
        """Draw the first annotations.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None: those of a new figure, which is as high as the bars need.
        top : int, default=20
            Number of annotations to draw.
        **bar
            Arguments of ``Axes.barh``.

        Returns
        -------
        LabelReviewDisplay
            The display itself.
        """
        shown = self.suspects.first(check_count(top, "top"))
        n = len(shown.row)
        self.ax_ = ax = axes_for(ax, (6.4, 1.2 + 0.22 * max(n, 4)))
        self.figure_ = ax.figure
        spurious = shown.given == 1
        colors, hatches = np.where(spurious, COLORS[1], COLORS[0]), np.where(spurious, "", "///").tolist()
        style: dict[str, Any] = {"height": 0.75, "color": colors, "edgecolor": "white", "hatch": hatches} | bar
        self.bars_ = ax.barh(range(n), shown.score, **style)
        names = zip(shown.row, shown.label, strict=True)
        ax.set_yticks(range(n), [plain(f"{self.row_names[i]} · {self.label_names[c]}") for i, c in names])
        ax.tick_params(axis="y", labelsize="small")
        ax.set_ylim(max(n, 1) - 0.4, -0.6)  # the first on top
        ax.set_xlim(0, 1)
        ax.set_xlabel("score")
        ax.spines[["top", "right"]].set_visible(False)
        from matplotlib.patches import Patch

        handles = []
        if spurious.any():
            handles.append(Patch(facecolor=COLORS[1], label="spurious: given 1, remove?"))
        if not spurious.all():
            handles.append(Patch(facecolor=COLORS[0], hatch="///", edgecolor="white", label="missing: given 0, add?"))
        if handles:
            ax.legend(
                handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize="small"
            )
        return self
