"""EmbeddingDisplay: the rows in two components, by their labels."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from .._checks.arguments import check_count
from .._checks.label_arrays import check_mask
from .._checks.labels import check_labels
from .._colors import COLORS, GREY, MARKERS
from .._errors import InputError, import_extra
from ._review import last_with

# With more points than this they overlap, and a browser or a printer needs seconds.
_MAX_POINTS = 5000
_LARGEST_GROUPS = 6
# Groups that are drawn behind the others, small and grey.
_BACKGROUND = {"unlabelled": "#cccccc", "not given": GREY, "other labels": "#666666"}


@dataclass(eq=False, repr=False)
class EmbeddingDisplay:
    """Plot of the rows in two components of an embedding, coloured by their labels.

    Use `from_estimator` to create it.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2) or (n_samples, 1)
        Positions of the rows. With one component, random positions on the other axis keep the points apart.
    groups : sequence of (str, ndarray of shape (n_samples,), bool)
        Name and rows of each colour, drawn in this order. Rows in no group are not drawn.
    axis_names : sequence of str, default=("component 1", "component 2")
        Names of the two axes.
    suspects : ndarray of shape (n_samples,), bool, default=None
        True for the rows to mark with a ring.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the plot.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    scatters_ : list of PathCollection
        The points, one collection for each group.
    rings_ : PathCollection or None
        The rings around the suspects; None if there are none.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from nmlsdr import NMLSDR
    >>> from nmlsdr.inspection import EmbeddingDisplay
    >>> X = [[0.0, 1.0], [0.1, 0.0], [0.2, 1.0], [5.0, 0.0], [5.1, 1.0], [5.2, 0.0]]
    >>> y = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [-1, -1]]
    >>> display = EmbeddingDisplay.from_estimator(NMLSDR(1, n_neighbors=2).fit(X, y), X, y)
    >>> [name for name, _ in display.groups]
    ['label 0', 'label 1', 'unlabelled']
    """

    points: NDArray[Any]
    groups: Sequence[tuple[str, NDArray[np.bool_]]]
    _: KW_ONLY
    axis_names: Sequence[str] = ("component 1", "component 2")
    suspects: NDArray[np.bool_] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        color_by: int | str | None = None,
        suspects: ArrayLike | None = None,
        ax: Any = None,
        **scatter: Any,
    ) -> "EmbeddingDisplay":
        """Transform the rows of X and draw them in their first two components; of more than 5000 rows a random sample.

        Parameters
        ----------
        estimator : estimator or Pipeline
            Fitted estimator with ``transform``. If the last step of a pipeline is a classifier, the steps before it
            transform the rows.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to draw; finite numbers.
        y : array-like of shape (n_samples, n_labels) or (n_samples,), default=None
            Labels of these rows; unlabelled rows are grey. None: all rows have one colour.
        color_by : int or str, default=None
            Label that decides the colour, by its number, or by its name if y is a data frame: given, not given, or
            unlabelled, which includes rows where this label is unknown. None: one colour for each of the six most
            frequent sets of given labels, and one for all others; unknown entries count as not given.
        suspects : array-like of shape (n_samples,), bool, default=None
            Rows to mark with a ring, such as ``label_flips_.any(axis=1)``.
        ax : matplotlib Axes, default=None
            Axes to draw on. None: those of a new figure.
        **scatter
            Arguments of ``Axes.scatter``, such as ``s=20``.

        Returns
        -------
        EmbeddingDisplay
            The display, already drawn.

        Raises
        ------
        ValueError
            If the estimator does not transform, if a label does not exist, or if labels or suspects are invalid.
        """
        points = _embed(estimator, X)
        ratio = getattr(last_with(estimator, "dependence_ratio_"), "dependence_ratio_", None)
        shares = ["", ""] if ratio is None else [f" ({share:.0%} of the dependence)" for share in ratio[:2]]
        names = [f"component {c}{share}" for c, share in enumerate(shares, start=1)]
        if y is not None:
            groups = _groups(check_labels(y, n_samples=len(points)), color_by)
        elif color_by is None:
            groups = [("rows", np.ones(len(points), dtype=bool))]
        else:
            raise InputError("color_by needs the labels; pass y too.")
        rings = None if suspects is None else check_mask(suspects, len(points), name="suspects")
        return cls(points[:, :2], groups, axis_names=names, suspects=rings).plot(ax, **scatter)

    def plot(self, ax: Any = None, **scatter: Any) -> "EmbeddingDisplay":
        """Draw the rows.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None: those of a new figure.
        **scatter
            Arguments of ``Axes.scatter``, such as ``s=20``.

        Returns
        -------
        EmbeddingDisplay
            The display itself.
        """
        if ax is None:
            pyplot = import_extra("matplotlib.pyplot", "A display", "cli").pyplot
            ax = pyplot.subplots(figsize=(6.4, 4.8), layout="constrained")[1]
        self.ax_ = ax
        self.figure_ = ax.figure
        points = two_axes(self.points)
        drawn = drawn_rows(len(points), _MAX_POINTS, self.suspects)
        style: dict[str, Any] = {"s": 14, "alpha": 0.7, "linewidths": 0} | scatter
        self.scatters_ = []
        looks = zip(cycle(COLORS), cycle(MARKERS))
        for name, rows in self.groups:
            color, marker = (_BACKGROUND[name], ".") if name in _BACKGROUND else next(looks)
            look = {"color": color, "marker": marker, "zorder": 1 if name in _BACKGROUND else 2} | style
            self.scatters_.append(ax.scatter(*points[rows & drawn].T, label=plain(f"{name} ({rows.sum()})"), **look))
        self.rings_ = self._draw_rings(points, 4 * float(np.max(style["s"])))
        self._name_axes()
        if not drawn.all():
            ax.set_title(f"{int(drawn.sum())} of {len(points)} rows", fontsize="medium")
        if len(self.groups) > 1 or self.rings_ is not None:
            # To the right of the axes, because points fill every corner of them.
            ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize="small", borderaxespad=0)
        return self

    def _draw_rings(self, points: NDArray[np.float64], size: float) -> Any:
        """Draw a ring around each suspect; None if there are no suspects."""
        if self.suspects is None or not self.suspects.any():
            return None
        return self.ax_.scatter(
            *points[self.suspects].T,
            s=size,
            facecolors="none",
            edgecolors=self.ax_.xaxis.label.get_color(),
            linewidths=1.0,
            zorder=3,
            label=f"suspect ({int(self.suspects.sum())})",
        )

    def _name_axes(self) -> None:
        """Write the names of the components at the axes; the second axis of a single component has no scale."""
        self.ax_.set_xlabel(self.axis_names[0])
        if np.shape(self.points)[1] == 1:
            self.ax_.set_yticks([])
            self.ax_.set_ylabel("(spread only to separate the points)")
        else:
            self.ax_.set_ylabel(self.axis_names[1])


# ---------------------------------------------------------------- what is drawn


def _embed(estimator: Any, X: Any) -> NDArray[Any]:
    whole = estimator
    if isinstance(estimator, Pipeline) and len(estimator.steps) > 1 and not hasattr(estimator, "transform"):
        whole = estimator[:-1]
    if not hasattr(whole, "transform"):
        raise InputError(f"{type(estimator).__name__} has no transform; pass a projection or a pipeline with one.")
    return np.asarray(whole.transform(X))


Groups = list[tuple[str, NDArray[np.bool_]]]


def _groups(labels: Any, color_by: int | str | None) -> Groups:
    """One label's rows, or the most frequent sets of labels; the unlabelled rows last."""
    known = labels.classes if labels.names is None and labels.single else labels.names
    names = [f"label {c}" for c in range(labels.Y.shape[1])] if known is None else [str(name) for name in known]
    if color_by is None:
        labeled = labels.labeled
        groups = _groups_by_label_sets(labels, names)
    else:
        c = _label_number(color_by, names)
        positive = labels.Y[:, c] > 0.5
        labeled = labels.known[:, c]
        groups = [(names[c], labeled & positive), ("not given", labeled & ~positive)]
    groups.append(("unlabelled", ~labeled))
    return [(name, rows) for name, rows in groups if rows.any()]


def _label_number(color_by: int | str, names: list[str]) -> int:
    """The number of the label with this number or name."""
    if isinstance(color_by, str) and color_by not in names:
        raise InputError(f"color_by={color_by!r} is no label; the labels are {', '.join(names[:20])}.")
    c = names.index(color_by) if isinstance(color_by, str) else check_count(color_by, "color_by", least=0)
    if c >= len(names):
        raise InputError(f"color_by={c} is above {len(names) - 1}, the last of the {len(names)} labels.")
    return c


def _groups_by_label_sets(labels: Any, names: list[str]) -> Groups:
    """The rows of each of the most frequent sets of labels, and those of all other sets."""
    positive = labels.Y[labels.labeled] > 0.5
    sets, set_numbers, counts = np.unique(positive, axis=0, return_inverse=True, return_counts=True)
    code = np.full(len(labels.labeled), -1)
    code[labels.labeled] = set_numbers.ravel()
    common = np.argsort(-counts, kind="stable")
    # Sets in the order of their first label, so that the legend reads like the columns.
    shown = sorted(common[:_LARGEST_GROUPS], key=lambda s: tuple(~sets[s]))
    groups = [(" + ".join(names[c] for c in np.flatnonzero(sets[s]).tolist()) or "no label", code == s) for s in shown]
    return [*groups, ("other labels", np.isin(code, common[_LARGEST_GROUPS:]))]


# ---------------------------------------------------------------- what the pictures share


def plain(text: str) -> str:
    """Text that matplotlib draws as it is: no formula between dollars, no entry that a leading _ hides."""
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def two_axes(points: NDArray[Any]) -> NDArray[np.float64]:
    """The points; those of one component get a second axis, evenly spread in [0, 1), that only separates them."""
    points = np.asarray(points, dtype=np.float64)
    if points.shape[1] > 1:
        return points
    # Multiples of the golden ratio, modulo 1, look random.
    return np.column_stack([points, np.modf(np.arange(1, len(points) + 1) * 0.6180339887498949)[0]])


def drawn_rows(n_samples: int, max_points: int, always: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Which rows to draw: all, or a random part of size `max_points` and the rows `always`."""
    drawn = np.ones(n_samples, dtype=bool)
    drawn[np.random.default_rng(0).permutation(n_samples)[max_points:]] = False
    return drawn if always is None else drawn | always
