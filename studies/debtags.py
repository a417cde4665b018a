"""Tags of software packages: which are missing, which package has which tag, and tags for packages that have none.

    python studies/debtags.py                             # apt's package index of this machine; half an hour
    python studies/debtags.py --packages Packages.xz      # another package index
    python studies/debtags.py --table packages.csv        # only write a table, for the commands of nmlsdr
    python studies/debtags.py --judge review.csv --out checked.csv      # verdicts on a review list, by dependencies

People gave tags to about half of the packages of Debian ("debtags": role::program, uitoolkit::gtk, ...), and many tags
are missing.  The study reads the package index (`pip install python-debian`), fits `ResidualPropagation` to the words
of name, section and description, and measures three things:

``debtags-missing``   missing tags among the first entries of the review list.  An entry is judged by the dependencies
                      of its package: a program that depends on libgtk-3-0 shows a window of GTK.  That is evidence and
                      not truth, and no feature holds it.
``debtags-ranking``   the tags of held-out packages, beside other classifiers of the same words.
``debtags-untagged``  the tags predicted for packages that nobody tagged, judged by the dependencies, too.

No data of the index are stored: the results have its release, its SHA-256 digest and its counts.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import warnings
from dataclasses import dataclass
from pathlib import Path

import _bench  # noqa: F401  (before NumPy)
import numpy as np
from _harness import add_replace, choose_folder, save_table
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from nmlsdr import NMLSDR, MLkNN, ResidualPropagation, SemiSupervisedMLkNN
from nmlsdr.inspection import rank_suspects
from nmlsdr.tables import TableEncoder

N_TAGGED = 10_000  # tagged packages that a fit sees
N_TEST = 3000  # tagged packages that no fit sees
N_UNTAGGED = 10_000  # untagged packages that get tags
MIN_COUNT = 10  # tags that fewer of the fitted packages have are left out
LENGTHS = (100, 500, 2000)  # entries of the review list
STRENGTHS = (1.0, 10.0, 100.0)  # of logistic regression; for each measure the best of the three counts
LANGUAGES = {
    "perl": r"perl|libperl[\d.]+|perlapi-.*|lib.*-perl",
    "python": r"python[\d.]*|python3-.*|libpython.*",
    "haskell": r"libghc-.*",
    "java": r"(default|openjdk-[\d.]+)-j(re|dk).*|lib.*-java",
    "r": r"r-base-core|r-api-.*|r-cran-.*|r-bioc-.*",
    "lisp": r"emacs.*|sbcl|clisp|cl-.*|guile-.*|elpa-.*",
    "ruby": r"ruby|ruby[\d.]+|ruby-.*",
    "ocaml": r"ocaml.*|lib.*-ocaml.*",
    "php": r"php[\d.]*-?.*",
    "lua": r"lua[\d.]+.*|lua-.*|liblua.*",
    "tcl": r"tcl[\d.]*|libtcl.*",
    "ecmascript": r"nodejs|node-.*",
}
TOOLKITS = {
    "gtk": r"libgtk.*",
    "qt": r"libqt[4-6].*",
    "sdl": r"libsdl.*",
    "ncurses": r"libncurses.*|libtinfo.*",
    "tk": r"tk|tk[\d.]+|libtk.*",
    "wxwidgets": r"libwx.*",
    "fltk": r"libfltk.*",
    "glut": r"freeglut.*|libglut.*",
    "gnustep": r"gnustep.*|libgnustep.*",
    "athena": r"libxaw.*",
}
GRAPHICAL = "|".join(TOOLKITS[name] for name in ("gtk", "qt", "wxwidgets", "fltk", "gnustep", "athena"))
# Which dependency is evidence for a tag: a pattern that the whole name of a dependency matches.
EVIDENCE = {
    **{f"implemented-in::{name}": pattern for name, pattern in LANGUAGES.items()},
    **{f"devel::lang:{name}": pattern for name, pattern in LANGUAGES.items()},
    **{f"uitoolkit::{name}": pattern for name, pattern in TOOLKITS.items()},
    "implemented-in::c++": r"libstdc\+\+.*",
    "implemented-in::fortran": r"libgfortran.*",
    "interface::graphical": GRAPHICAL,
    "interface::x11": rf"libx11-.*|{GRAPHICAL}",
    "x11::application": rf"libx11-.*|{GRAPHICAL}",
    "suite::kde": r"libkf[56].*|kde-.*",
    "suite::gnome": r"libgnome.*|gnome-.*",
    "suite::xfce": r"libxfce.*|xfce4.*",
    "suite::emacs": r"emacs.*",
    "suite::openoffice": r"libreoffice.*|ure",
    "suite::apache": r"apache2.*",
    "protocol::ssl": r"libssl.*|libgnutls.*|libnss3.*",
    "works-with-format::xml": r"libxml2.*|libexpat.*|libxerces.*",
    "works-with::db": r"libpq5|libsqlite3.*|libmariadb.*|libdb5.*",
}


@dataclass(frozen=True)
class PackageIndex:
    """What the study uses of a package index."""

    columns: dict[str, list[str]]  # name, section, description: one text per package
    tags: list[list[str]]  # of each package; empty if nobody tagged it
    dependencies: list[list[str]]  # names of the packages that each one depends on
    facts: dict[str, str | int]  # release, digest and counts


def read_index(path: Path | None) -> PackageIndex:
    """Read apt's lists, or the Packages file at `path` (.gz, .xz and .bz2 too)."""
    from debian.deb822 import Packages

    text = _index_text(path)
    columns: dict[str, list[str]] = {"name": [], "section": [], "description": []}
    tags = []
    dependencies = []
    for paragraph in Packages.iter_paragraphs(text.splitlines(), use_apt_pkg=False):
        columns["name"].append(paragraph["Package"])
        columns["section"].append(paragraph.get("Section", ""))
        columns["description"].append(paragraph.get("Description", "").partition("\n")[0])
        tags.append(_tag_names(paragraph.get("Tag", "")))
        alternatives = [group for field in ("depends", "recommends") for group in paragraph.relations[field]]
        dependencies.append(sorted({relation["name"] for group in alternatives for relation in group}))
    facts: dict[str, str | int] = {
        "release": _release() if path is None else path.name,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "packages": len(tags),
        "tagged": sum(bool(names) for names in tags),
    }
    return PackageIndex(columns, tags, dependencies, facts)


def _index_text(path: Path | None) -> str:
    if path is None:
        command = ["apt-cache", "dumpavail"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    import bz2
    import gzip
    import lzma

    openers = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
    with openers.get(path.suffix, open)(path, "rt", encoding="utf-8") as file:
        return str(file.read())


def _release() -> str:
    lines = Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
    return next((line.partition("=")[2].strip('"') for line in lines if line.startswith("PRETTY_NAME=")), "unknown")


def _tag_names(field: str) -> list[str]:
    """The tags of a field: "role::program, uitoolkit::{gtk,qt}" has three."""
    names = []
    for facet, group, name in re.findall(r"([^\s,{]+::)(?:\{([^}]*)\}|([^\s,]+))", field):
        names += [facet + part.strip() for part in (group or name).split(",")]
    return names


def evidence(dependencies: list[list[str]], label_names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Which labels have a rule, shape (n_labels,), and which packages its dependency, (n_packages, n_labels)."""
    has_rule = np.array([name in EVIDENCE for name in label_names])
    confirmed = np.zeros((len(dependencies), len(label_names)), dtype=bool)
    for label, name in enumerate(label_names):
        if name in EVIDENCE:
            pattern = re.compile(EVIDENCE[name])
            confirmed[:, label] = [any(map(pattern.fullmatch, names)) for names in dependencies]
    return has_rule, confirmed


def logistic_regression(strength: float) -> OneVsRestClassifier:
    return OneVsRestClassifier(LogisticRegression(C=strength, solver="liblinear"))


def label_trees(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    """Scores of napkinXC's probabilistic label trees: of the 50 labels with the highest probability, else 0."""
    import tempfile

    from napkinxc.models import PLT
    from scipy.sparse import csr_matrix

    with tempfile.TemporaryDirectory() as folder:
        model = PLT(folder, seed=0)
        model.fit(csr_matrix(X), [np.flatnonzero(labels).tolist() for labels in y])
        predictions = model.predict_proba(csr_matrix(X_test), top_k=50)
    scores = np.zeros((X_test.shape[0], y.shape[1]))
    for row, pairs in enumerate(predictions):
        for label, probability in pairs:
            scores[row, label] = probability
    return scores


def article(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    """The pipeline of the article: NMLSDR, then the semi-supervised ML-kNN."""
    return make_pipeline(NMLSDR(), SemiSupervisedMLkNN()).fit(X, y).predict_proba(X_test)


def nearest_packages(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    """ML-kNN on the words; rows of unit length have the neighbours of the cosine."""
    return MLkNN().fit(X, y).predict_proba(X_test)


RIVALS = {"napkinXC": label_trees, "ML-kNN": nearest_packages, "NMLSDR + SemiSupervisedMLkNN": article}


def ranking_measures(truth: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Precision at 1 and at 5, micro and macro average precision, in percent."""
    order = np.argsort(-scores, axis=1, kind="stable")
    hits = np.take_along_axis(truth, order[:, :5], axis=1)
    known = truth.any(axis=0)
    return {
        "p1": 100 * hits[:, 0].mean(),
        "p5": 100 * hits.mean(),
        "micro": 100 * average_precision_score(truth.ravel(), scores.ravel()),
        "macro": 100 * average_precision_score(truth[:, known], scores[:, known], average="macro"),
    }


def missing_tags(labels, order_by_method, has_rule, confirmed) -> list[dict]:
    """How many of the first entries of each list have the dependency that is evidence for the tag."""
    absent = (labels == 0) & has_rule
    chance = confirmed.sum(axis=0, where=absent) / np.maximum(absent.sum(axis=0), 1)
    rows = []
    for method, (row, label) in order_by_method.items():
        for length in LENGTHS:
            first = np.arange(len(row)) < length
            judged = first & has_rule[label]
            rows.append(
                {
                    "method": method,
                    "length": length,
                    "judged": judged.sum(),
                    "confirmed": confirmed[row[judged], label[judged]].sum(),
                    "chance": chance[label[judged]].sum(),
                }
            )
    return rows


def cleanlab_order(labels: np.ndarray, probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The absent tags that cleanlab takes for label errors, the most doubtful first."""
    from cleanlab.multilabel_classification.filter import find_multilabel_issues_per_class

    label_lists = [np.flatnonzero(row).tolist() for row in labels]
    issues = find_multilabel_issues_per_class(label_lists, probabilities)
    row, label = np.nonzero(issues & (labels == 0))
    order = np.argsort(-probabilities[row, label], kind="stable")
    return row[order], label[order]


def list_of_probabilities(labels: np.ndarray, probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All absent tags, the most probable first."""
    row, label = np.nonzero(labels == 0)
    order = np.argsort(-probabilities[row, label], kind="stable")[: max(LENGTHS)]
    return row[order], label[order]


def measure(index: PackageIndex, n_tagged: int, n_test: int, n_untagged: int) -> dict[str, list[dict]]:
    """The rows of the three tables."""
    import pandas as pd

    rng = np.random.default_rng(0)
    tagged = np.array([bool(names) for names in index.tags])
    packages = rng.permutation(np.flatnonzero(tagged))
    train = packages[:n_tagged]
    test = packages[n_tagged : n_tagged + n_test]
    untagged = rng.permutation(np.flatnonzero(~tagged))[:n_untagged]
    counts: dict[str, int] = {}
    for package in train:
        for name in set(index.tags[package]):
            counts[name] = counts.get(name, 0) + 1
    label_names = sorted(name for name, count in counts.items() if count >= MIN_COUNT)
    truth = np.array([[name in names for name in label_names] for names in map(set, index.tags)], dtype=np.int64)
    has_rule, confirmed = evidence(index.dependencies, label_names)

    table = pd.DataFrame(index.columns)
    encoder = TableEncoder()
    X = encoder.fit_transform(table.iloc[train], truth[train])
    X_test = encoder.transform(table.iloc[test])
    y = truth[train]
    model = ResidualPropagation().fit(X, y)

    probabilities = {
        strength: cross_val_predict(
            logistic_regression(strength), X, y, cv=KFold(5, shuffle=True, random_state=0), method="predict_proba"
        )
        for strength in STRENGTHS
    }
    best = max(STRENGTHS, key=lambda strength: ranking_measures(y, probabilities[strength])["micro"])
    suspects = rank_suspects(model, y, kind="forgotten").first(max(LENGTHS))
    lists = {
        "ResidualPropagation": (suspects.row, suspects.label),
        "logistic regression, out of fold": list_of_probabilities(y, probabilities[best]),
        "cleanlab, of these probabilities": cleanlab_order(y, probabilities[best]),
    }
    missing = missing_tags(y, lists, has_rule, confirmed[train])

    logistic = [
        ranking_measures(truth[test], logistic_regression(strength).fit(X, y).predict_proba(X_test))
        for strength in STRENGTHS
    ]
    best_of_each = {key: max(values[key] for values in logistic) for key in logistic[0]}
    ranking = [
        {"method": "ResidualPropagation", **ranking_measures(truth[test], model.decision_function(X_test))},
        {"method": "logistic regression, the best strength for each measure", **best_of_each},
    ]
    ranking += [
        {"method": name, **ranking_measures(truth[test], scores(X, y, X_test))} for name, scores in RIVALS.items()
    ]

    predicted = model.predict(encoder.transform(table.iloc[untagged])).astype(bool)
    judged = predicted & has_rule
    supported = judged & confirmed[untagged]
    chance = confirmed[untagged].mean(axis=0)
    tags = [
        {
            "packages": len(untagged),
            "with_tags": predicted.any(axis=1).sum(),
            "tags": predicted.sum(),
            "judged": judged.sum(),
            "confirmed": supported.sum(),
            "chance": (judged * chance).sum(),
            "given_confirmed": 100 * (y.astype(bool) & has_rule & confirmed[train]).sum() / (y * has_rule).sum(),
        }
    ]
    return {"debtags-missing": missing, "debtags-ranking": ranking, "debtags-untagged": tags}


COLUMNS = {
    "debtags-missing": [
        ("method", "list of absent tags", "s"),
        ("length", "first entries", "d"),
        ("judged", "with a rule", "d"),
        ("confirmed", "confirmed", "d"),
        ("chance", "expected at random", ".1f"),
    ],
    "debtags-ranking": [
        ("method", "method", "s"),
        ("p1", "P@1", ".1f"),
        ("p5", "P@5", ".1f"),
        ("micro", "micro AP", ".1f"),
        ("macro", "macro AP", ".1f"),
    ],
    "debtags-untagged": [
        ("packages", "untagged packages", "d"),
        ("with_tags", "get tags", "d"),
        ("tags", "tags", "d"),
        ("judged", "with a rule", "d"),
        ("confirmed", "confirmed", "d"),
        ("chance", "expected at random", ".1f"),
        ("given_confirmed", "of given tags confirmed, %", ".0f"),
    ],
}
TITLES = {
    "debtags-missing": "Missing tags of software packages, judged by dependencies",
    "debtags-ranking": "Tags of held-out software packages",
    "debtags-untagged": "Tags for software packages that have none",
}
NOTES = {
    "debtags-missing": "An entry is confirmed if the package depends on what the rule of the tag names. At random: as "
    "many absent entries of the same tags.",
    "debtags-ranking": "All methods have the same words.",
    "debtags-untagged": "A dependency is evidence and not truth: the last column is the fraction of tags given by "
    "people that the same rules confirm.",
}


def write_table(index: PackageIndex, path: Path, n_tagged: int, n_untagged: int) -> None:
    """A random part of the index as a table for the commands: name, section, description, tags."""
    import pandas as pd

    rng = np.random.default_rng(0)
    tagged = np.array([bool(names) for names in index.tags])
    chosen = [rng.permutation(np.flatnonzero(tagged))[:n_tagged], rng.permutation(np.flatnonzero(~tagged))[:n_untagged]]
    rows = np.sort(np.concatenate(chosen))
    table = pd.DataFrame({**index.columns, "tags": [", ".join(names) for names in index.tags]}).iloc[rows]
    table.to_csv(path, index=False)
    print(f"{path}: {len(table)} packages of {index.facts['release']}, {len(chosen[0])} with tags")


def judge(index: PackageIndex, review: Path, output: Path) -> None:
    """Write verdict 1 on the entries of a review list that dependencies confirm; the others stay without a verdict."""
    import pandas as pd

    entries = pd.read_csv(review, dtype=str, keep_default_na=False)
    dependencies = dict(zip(index.columns["name"], index.dependencies, strict=True))
    label_names = sorted(set(entries["label"]))
    has_rule, confirmed = evidence([dependencies[name] for name in entries["name"]], label_names)
    label = entries["label"].map(label_names.index).to_numpy()
    is_confirmed = confirmed[np.arange(len(entries)), label]
    entries["verdict"] = np.where(is_confirmed, "1", "")
    entries.to_csv(output, index=False)
    print(f"{review}: {len(entries)} entries, {has_rule[label].sum()} with a rule, {is_confirmed.sum()} confirmed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, help="a Packages file; without it, apt's lists of this machine")
    parser.add_argument("--table", type=Path, help="write a table to this CSV file, and stop")
    parser.add_argument("--judge", type=Path, help="write verdicts on this review list to --out, and stop")
    parser.add_argument("--out", type=Path, default=Path("checked.csv"), help="the verdicts (default: %(default)s)")
    parser.add_argument("--tagged", type=int, default=N_TAGGED, help="tagged packages to fit (default: %(default)s)")
    parser.add_argument("--test", type=int, default=N_TEST, help="tagged packages to test on (default: %(default)s)")
    parser.add_argument("--untagged", type=int, default=N_UNTAGGED, help="packages to tag (default: %(default)s)")
    add_replace(parser)
    args = parser.parse_args()
    index = read_index(args.packages)
    if args.table is not None:
        write_table(index, args.table, args.tagged, args.untagged)
        return
    if args.judge is not None:
        judge(index, args.judge, args.out)
        return
    choose_folder(args.replace)
    warnings.simplefilter("ignore")  # rare tags that are never predicted, or that a fold does not have
    for name, rows in measure(index, args.tagged, args.test, args.untagged).items():
        save_table(
            name,
            title=TITLES[name],
            command="python studies/debtags.py --replace",
            columns=COLUMNS[name],
            rows=rows,
            notes=NOTES[name],
            facts=index.facts,
        )


if __name__ == "__main__":
    main()
