"""agree: how far the verdicts of two people on the same annotations agree."""

import argparse

import numpy as np

from .._errors import plural, printable, shorten
from ..inspection._agreement import Agreement, Difference, compare_reviews
from ..inspection._verdicts import for_spreadsheets
from .console import Console
from .writing import write_result

_WIDTH = 40  # characters of a label's name
_MOST_LINES = 20  # differences that are printed


def agree(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr agree``."""
    paths = args.first, args.second
    reviews = compare_reviews(*paths, args.settled)
    for path, n_decided, n_unclear in zip(paths, reviews.n_decided, reviews.n_unclear, strict=True):
        print(printable(f"{path}: {plural(n_decided, 'verdict')} of yes or no, {n_unclear} unclear."))
    print(_sentence(reviews.whole))
    if len(reviews.by_label) > 1:
        print("\n".join(["", *_table(reviews.by_label)]))
    if reviews.joined is not None:
        write_result(args.out, args, console, for_spreadsheets(_columns_of_lines(*reviews.joined)), {})
    elif args.out is not None:
        write_result(args.out, args, console, for_spreadsheets(_columns(reviews.names, reviews.differences)), {})
    elif reviews.differences:
        print("\n".join(["", *_lines(reviews.differences)]))
    return 0


def _columns_of_lines(header: list[str], lines: list[list[str]]) -> list[tuple[str, np.ndarray]]:
    table = np.array(lines, dtype=object).reshape(len(lines), len(header))
    return [(name, table[:, j]) for j, name in enumerate(header)]


def _columns(names: list[str], differences: list[Difference]) -> list[tuple[str, np.ndarray]]:
    """What names each row, the label, both verdicts, and an empty column for the verdict that settles it."""
    texts = [(name, [each.names[name] for each in differences]) for name in names]
    texts += [("label", [each.label for each in differences])]
    verdicts = [
        (name, np.array([getattr(each, name) for each in differences], dtype=int)) for name in ("first", "second")
    ]
    empty = np.full(len(differences), "", dtype=object)
    return [*((name, np.array(cells, dtype=object)) for name, cells in texts), *verdicts, ("verdict", empty)]


def _lines(differences: list[Difference]) -> list[str]:
    """A line for each difference, at most so many; the check names a row only if nothing else does."""
    lines = ["Where they differ (row, label, verdict of the first and of the second):"]
    for each in differences[:_MOST_LINES]:
        names = {name: cell for name, cell in each.names.items() if name != "check" and cell} or each.names
        row = ", ".join(f"{name} {shorten(printable(cell), _WIDTH)}" for name, cell in names.items())
        words = ["no", "yes"][each.first], ["no", "yes"][each.second]
        lines.append("  ".join([row, shorten(printable(each.label), _WIDTH), *words]))
    n_more = len(differences) - _MOST_LINES
    return [*lines, f"and {n_more} more; --out FILE.csv writes all."] if n_more > 0 else lines


def _sentence(whole: Agreement) -> str:
    """What two people say together."""
    if not whole.n:
        return "No annotation has a verdict of yes or no in both files."
    kappa = whole.kappa
    words = "undefined, as both gave one verdict only" if kappa is None else f"{kappa:.3f}"
    split = f"yes and no: {whole.counts[1, 0]}, no and yes: {whole.counts[0, 1]}"
    agreed = f"{whole.n_agree} agree ({whole.n_agree / whole.n:.1%}; {split})"
    return f"Of {plural(whole.n, 'annotation')} that both decided, {agreed}. Cohen's kappa: {words}."


def _table(by_label: list[Agreement]) -> list[str]:
    """A line for each label."""
    names = [shorten(printable(each.label), _WIDTH) for each in by_label]
    width = max(len("label"), *map(len, names))
    lines = [f"{'label':<{width}}  {'both':>6}  {'agree':>6}  {'yes/no':>6}  {'no/yes':>6}  {'kappa':>6}"]
    for name, each in zip(names, by_label, strict=True):
        kappa = "-" if each.kappa is None else f"{each.kappa:.3f}"
        cells = each.n, each.n_agree, each.counts[1, 0], each.counts[0, 1], kappa
        lines.append("  ".join([f"{name:<{width}}", *(f"{cell:>6}" for cell in cells)]))
    return lines
