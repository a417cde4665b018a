"""agree: how far the verdicts of two people on the same annotations agree."""

import argparse

from .._errors import plural, printable, shorten
from ..inspection._agreement import Agreement, compare_reviews
from .console import Console

_WIDTH = 40  # characters of a label's name


def agree(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr agree``."""
    paths = args.first, args.second
    reviews = compare_reviews(*paths)
    for path, n_decided, n_unclear in zip(paths, reviews.n_decided, reviews.n_unclear, strict=True):
        print(printable(f"{path}: {plural(n_decided, 'verdict')} of yes or no, {n_unclear} unclear."))
    print(_sentence(reviews.whole))
    if len(reviews.by_label) > 1:
        print("\n".join(["", *_table(reviews.by_label)]))
    return 0


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
