"""Write a museum's catalogue as museums have them, with its truth, and score predictions: a simulation.

    python tests/campaigns/museum.py write                    # 6000 objects, 155 of them twice
    python tests/campaigns/museum.py write --rows 800
    python tests/campaigns/museum.py score predicted.csv tomorrow.truth.csv

``coleccion.csv`` is in Latin-1, with semicolons, decimal commas and points between thousands, several words for a
missing value, sí/no, 200 workshops in mixed case, two columns of one name, dates in three forms, titles in Spanish or
English, the themes in one column with ``ninguno`` for none, what three annotators wrote, and a certainty that was
recorded with the themes. A fifth of the objects has themes. ``tomorrow.csv`` has new objects, no column that the
annotators wrote, the other columns in another order, and a new material. All of it is drawn at random.
"""

from __future__ import annotations

import argparse
import csv
import datetime

import numpy as np

THEMES = ("cerámica", "devoción", "guerra", "juego", "música", "navegación", "ritual", "vestido")
SHARES = (0.3, 0.22, 0.12, 0.08, 0.15, 0.1, 0.2, 0.25)
# The words of a title, in Spanish and in English; the others occur with every theme.
WORDS = (
    ("vasija", "jar"),
    ("santo", "saint"),
    ("espada", "sword"),
    ("muñeca", "doll"),
    ("flauta", "flute"),
    ("barco", "ship"),
    ("máscara", "mask"),
    ("manto", "cloak"),
)
PLAIN = (("pintada", "painted"), ("antigua", "old"), ("fragmento de", "fragment of"), ("pequeña", "small"))
MATERIALS = ("madera", "arcilla", "lana", "hierro", "piedra", "hueso", "plata")
NAMES = [
    "Inventario",
    "Título",
    "Taller",
    "Medida",
    "Medida",
    "Peso",
    "Valor",
    "Material",
    "Firmado",
    "Ingreso",
    "Revisión",
    "Foto",
    "Estado",
    "Moneda",
    "Etiquetas A",
    "Etiquetas B",
    "Etiquetas C",
    "Certeza",
    "Temas",
]
ANNOTATED = NAMES[14:]
MISSING = ("s/d", "--", "")


def comma(value: float, thousands: bool = False) -> str:
    """Return a number with a decimal comma, and points between thousands."""
    text = f"{value:,.2f}" if thousands else f"{value:.2f}"
    return text.translate(str.maketrans(",.", ".,"))


def draw(n_rows: int, rng: np.random.Generator, first: int, workshops: np.ndarray):
    """Draw objects: rows of cells without what annotators wrote, and what is true (n_rows, 8)."""
    truth = rng.random((n_rows, len(THEMES))) < SHARES
    effects = np.random.default_rng(1).normal(size=(len(THEMES), 4)) * 0.9
    measures = truth @ effects + rng.normal(size=(n_rows, 4))
    rows = []
    for i, on in enumerate(truth):
        themes = np.flatnonzero(on)
        # The workshop, the material and the title depend on one of the themes, more or less often.
        theme = rng.choice(themes) if len(themes) else -1
        workshop = rng.integers(200) if theme < 0 or rng.random() < 0.5 else 25 * theme + rng.integers(25)
        material = rng.integers(7) if theme < 0 or rng.random() < 0.5 else theme % 7
        words = [PLAIN[rng.integers(4)]] + [WORDS[k] for k in themes if rng.random() < 0.4]
        title = " ".join(pair[rng.integers(2) if k == 0 else i % 2] for k, pair in enumerate(words))
        sizes = [comma(50 + 12 * value) for value in measures[i]]
        for k, chance in enumerate((0.06, 0.1, 0.05, 0.02)):
            if rng.random() < chance:
                sizes[k] = MISSING[rng.integers(3)]
        sizes[3] = comma(np.exp(8 + measures[i, 3]), True) if sizes[3] not in MISSING else sizes[3]
        days = [datetime.date(1890, 1, 1) + datetime.timedelta(days=int(d)) for d in rng.integers(40_000, size=3)]
        dates = [days[0].strftime("%d.%m.%Y"), days[1].isoformat(), f"{days[2].day}/{days[2].month}/{days[2].year}"]
        signed = ("sí", "no", "s/d")[0 if rng.random() < 0.2 + 0.3 * on[5] else rng.choice([1, 1, 1, 1, 2])]
        spelled = [str, str.upper, str.lower, " {} ".format][rng.integers(4)](workshops[workshop])
        state = ("bueno", "regular", "malo")[rng.integers(3)]
        cells = [f"MC-{first + i:05d}", f"{title} nº {rng.integers(1, 40)}", spelled, *sizes]
        rows.append([*cells, MATERIALS[material], signed, *dates, state, "EUR"])
    return rows, truth


def annotate(truth: np.ndarray, rng: np.random.Generator) -> list[list[str]]:
    """Return what three annotators wrote, their certainty, and the themes that two of them gave."""
    labelled = rng.random(len(truth)) < 0.2
    votes = np.array([truth ^ (rng.random(truth.shape) < np.where(truth, 0.12, 0.02)) for _ in range(3)])
    agreed = votes.sum(axis=0) >= 2
    cells = []
    for i in range(len(truth)):
        lists = ["/".join(np.array(THEMES)[themes[i]]) or "ninguno" for themes in (*votes, agreed)]
        cells.append([*lists[:3], comma(rng.uniform(0.5, 1)), lists[3]] if labelled[i] else [""] * 5)
    return cells


def write_rows(path: str, names: list[str], rows: list[list[str]], encoding: str = "latin-1") -> None:
    with open(path, "w", newline="", encoding=encoding) as file:
        csv.writer(file, delimiter=";").writerows([names, *rows])


def write(n_rows: int, folder: str = ".", seed: int = 0) -> None:
    """Write the four files."""
    rng = np.random.default_rng(seed)
    syllables = ["ba", "cor", "dal", "fer", "gui", "lo", "mar", "ni", "peñ", "ruiz", "sol", "tor", "vi", "zar", "és"]
    names = {"".join(rng.choice(syllables, 3)).capitalize() for _ in range(900)}
    workshops = np.array([f"{name} {rng.choice(['e Hijos', '& Co.'])}" for name in sorted(names)[:200]])
    rows, truth = draw(n_rows, rng, 0, workshops)
    rows = [[*row, *annotations] for row, annotations in zip(rows, annotate(truth, rng), strict=True)]
    twice = rng.choice(n_rows, size=n_rows * 155 // 6000, replace=False)
    order = rng.permutation([*range(n_rows), *twice])
    write_rows(f"{folder}/coleccion.csv", NAMES, [rows[i] for i in order])
    write_rows(f"{folder}/coleccion.truth.csv", list(THEMES), truth[order].astype(int).tolist(), "utf-8")

    rows, truth = draw(n_rows // 6, rng, n_rows, workshops)
    for row in rows[::20]:
        row[7] = "papel"
    columns = [13, 0, 5, 3, 4, *range(12, 5, -1), 2, 1]
    write_rows(f"{folder}/tomorrow.csv", [NAMES[j] for j in columns], [[row[j] for j in columns] for row in rows])
    write_rows(f"{folder}/tomorrow.truth.csv", list(THEMES), truth.astype(int).tolist(), "utf-8")


def read_rows(path: str, delimiter: str) -> tuple[list[str], list[list[str]]]:
    with open(path, newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file, delimiter=delimiter)
    return names, rows


def score(predicted: str, truth: str, given_themes: str | None = None) -> float:
    """Return the macro average precision of predicted scores, with `given_themes` of the objects without themes."""
    from sklearn.metrics import average_precision_score

    names, rows = read_rows(predicted, ",")
    columns = [names.index(f"probability:{theme}") for theme in THEMES]
    scores = np.array([[float(row[j]) for j in columns] for row in rows])
    target = np.array(read_rows(truth, ";")[1], dtype=int)
    if given_themes is not None:
        with open(given_themes, newline="", encoding="latin-1") as file:
            open_rows = np.array([not row[-1] for row in list(csv.reader(file, delimiter=";"))[1:]])
        scores = scores[open_rows]
        target = target[open_rows]
    return float(average_precision_score(target, scores, average="macro"))


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("write").add_argument("--rows", type=int, default=6000)
    scoring = verbs.add_parser("score")
    scoring.add_argument("predicted")
    scoring.add_argument("truth")
    scoring.add_argument("--unlabelled-in", help="score only the objects without themes in this catalogue")
    args = parser.parse_args()
    if args.verb == "write":
        write(args.rows)
    else:
        print(f"macro average precision {score(args.predicted, args.truth, args.unlabelled_in):.3f}")


if __name__ == "__main__":
    main()
