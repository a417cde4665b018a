"""How often a table is rightly and wrongly said to differ from that of the fit: 19 tables, 33 kinds of change.

    python tests/campaigns/comparison.py [--rounds 8] [--record]

Each table is drawn twice: the encoder is fitted on the first half of one, and given bootstraps and later parts of the
other half, of 200 to 5000 rows, and in the first two rounds also later parts with a change in one column. A line on
another column than the changed one, or without a change, is wrong. The tables are of 19 languages and fields; years,
meters, and months go on.
"""

import argparse
import json
import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from campaigns import record
from nmlsdr.tables import TableEncoder

CHANGED = 2  # rounds
# Table: percent, mass in kg, other unit, plain number, count, price, category, yes and no, list, and its texts.
TABLES = {
    "barley (German)": ("Feuchte", "Ertrag", "Höhe cm", "pH", "Ähren", "Preis", "Ort", "Bio", "Sorten", ",", "ja nein"),
    "clinic (Spanish)": (
        "Saturación",
        "Peso",
        "Talla cm",
        "Creatinina",
        "Plaquetas",
        "Coste",
        "Sala",
        "Alta",
        "Fármacos",
        ",",
        "sí no",
    ),
    "bakery (French)": (
        "Humidité",
        "Farine",
        "Cuisson min",
        "Acidité",
        "Pains",
        "Prix",
        "Four",
        "Bio",
        "Ajouts",
        ",",
        "oui non",
    ),
    "museum (Portuguese)": (
        "Umidade",
        "Peso",
        "Altura cm",
        "Índice",
        "Visitas",
        "Valor",
        "Sala",
        "Raro",
        "Materiais",
        ",",
        "sim não",
    ),
    "leaks (English)": ("Humidity", "Load", "Pipe m", "Ratio", "Litres", "Cost", "Ward", "Open", "Tags", ".", "yes no"),
    "forest (Polish)": (
        "Wilgotność",
        "Masa",
        "Wysokość m",
        "Gęstość",
        "Liczba",
        "Cena",
        "Rejon",
        "Sucha",
        "Gatunki",
        ",",
        "tak nie",
    ),
    "bees (Estonian)": (
        "Niiskus",
        "Mesi",
        "Raam cm",
        "Happesus",
        "Mesilasi",
        "Hind",
        "Mesila",
        "Talv",
        "Taimed",
        ",",
        "jah ei",
    ),
    "harbour (Turkish)": (
        "Nem",
        "Yük",
        "Boy m",
        "Oran",
        "Sefer",
        "Ücret",
        "İskele",
        "Açık",
        "Mallar",
        ",",
        "evet hayır",
    ),
    "rivers (Dutch)": (
        "Vocht",
        "Slib",
        "Diepte cm",
        "Zuurgraad",
        "Vissen",
        "Prijs",
        "Plaats",
        "Stroom",
        "Soorten",
        ",",
        "ja nee",
    ),
    "brewery (Czech)": (
        "Vlhkost",
        "Slad",
        "Tank cm",
        "Kyselost",
        "Lahví",
        "Cena",
        "Sklep",
        "Bio",
        "Chmely",
        ",",
        "ano ne",
    ),
    "slopes (Swedish)": (
        "Fuktighet",
        "Snö",
        "Djup cm",
        "Lutning",
        "Åkare",
        "Pris",
        "Lift",
        "Öppen",
        "Skador",
        ",",
        "ja nej",
    ),
    "baths (Hungarian)": (
        "Páratartalom",
        "Iszap",
        "Mélység m",
        "Lúgosság",
        "Vendég",
        "Jegyár",
        "Medence",
        "Fedett",
        "Kezelések",
        ",",
        "igen nem",
    ),
    "ferries (Greek)": (
        "Υγρασία",
        "Φορτίο",
        "Μήκος m",
        "Δείκτης",
        "Επιβάτες",
        "Ναύλος",
        "Λιμάνι",
        "Ανοιχτό",
        "Είδη",
        ",",
        "ναι όχι",
    ),
    "clinic (Danish)": (
        "Fugt",
        "Vægt",
        "Højde cm",
        "Kreatinin",
        "Trombocytter",
        "Pris",
        "Afsnit",
        "Ryger",
        "Diagnoser",
        ",",
        "ja nej",
    ),
    "dairy (Finnish)": (
        "Kosteus",
        "Maito",
        "Syvyys cm",
        "Happamuus",
        "Lehmiä",
        "Hinta",
        "Tila",
        "Luomu",
        "Lisät",
        ",",
        "kyllä ei",
    ),
    "library (Romanian)": (
        "Umiditate",
        "Greutate",
        "Raft cm",
        "Indice",
        "Pagini",
        "Preț",
        "Sală",
        "Rar",
        "Teme",
        ",",
        "da nu",
    ),
    "trams (Croatian)": (
        "Vlaga",
        "Teret",
        "Kolosijek m",
        "Omjer",
        "Putnici",
        "Cijena",
        "Linija",
        "Otvoren",
        "Kvarovi",
        ",",
        "da ne",
    ),
    "soil (Norwegian)": (
        "Fuktighet",
        "Avling",
        "Dybde cm",
        "Surhet",
        "Meitemark",
        "Kostnad",
        "Felt",
        "Økologisk",
        "Arter",
        ",",
        "ja nei",
    ),
    "cars (Italian)": (
        "Umidità",
        "Carico",
        "Freno mm",
        "Rapporto",
        "Giri",
        "Costo",
        "Officina",
        "Usata",
        "Guasti",
        ",",
        "sì no",
    ),
}


NOTE = np.array("patient stable since monday fever cough tired left knee pain better worse".split(" "))  # noqa: SIM905


def draw(name, n, seed, first=0):
    """Rows `first` to `first + n` of a table, as texts; years and meters go on from row to row."""
    import pandas

    rng = np.random.default_rng([seed, first, *name.encode()])
    *columns, mark, answers = TABLES[name]
    table_rng = np.random.default_rng([*name.encode()])  # what is the same in all its parts
    a, b, c, d, e, f = table_rng.uniform(0.7, 1.5, 6)
    text = lambda values, digits, unit="": [f"{x:.{digits}f}{unit}".replace(".", mark) for x in values]
    unit = columns[2].split()[1]
    words = [f"{columns[6][:3]}{k}" for k in range(6)]
    items = [f"{columns[8][:4].lower()}{k}" for k in range(5)]
    price = text(rng.lognormal(2 + a, 0.7, n), 2)
    frame = {
        columns[0]: text(rng.uniform(30 * a, 62 * a, n), 0, " %"),
        columns[1]: text(rng.lognormal(b, 0.6, n), 2, " kg"),
        columns[2]: text(rng.normal(170 * c, 20, n), 1, f" {unit}"),
        columns[3]: text(rng.normal(7 * d, 0.8, n), 2),
        columns[4]: [str(x) for x in rng.integers(0, int(600 * e), n)],
        columns[5]: price,
        f"{columns[5]} 2": text(rng.lognormal(4.5 + a, 0.5, n), 2),
        "t": [str(1000 + int(3 * i * f)) for i in range(first, first + n)],
        "day": [f"{1 + i % 28:02d}.{1 + i // 28 % 12:02d}.{2018 + i // 336}" for i in range(first, first + n)],
        columns[6]: rng.choice(words, n, p=table_rng.dirichlet(np.ones(6) * 4)).tolist(),
        columns[7]: rng.choice(answers.split(), n, p=[0.3, 0.7]).tolist(),
        columns[8]: ["; ".join(rng.permutation(items)[: rng.integers(1, 4)]) for _ in range(n)],
        "lab": [json.dumps({"K": int(k), "Na": int(na)}) for k, na in rng.normal([420 * c, 140], [60, 9], (n, 2))],
        "note": [" ".join(rng.choice(NOTE, 7)) for _ in range(n)],
        "gaps": [x if rng.random() < 0.6 else "" for x in text(rng.normal(20, 5, n), 1)],
    }
    return pandas.DataFrame(frame)


def number(text):
    """The number in a cell, which may have a decimal comma and a unit."""
    return float(text.split()[0].replace(",", "."))


def changes(name):
    """Kind of change -> (column, what becomes of each cell), for the columns of a table."""
    percent, mass, size, plain, count, price, ward, answer, tags, mark, _ = TABLES[name]
    shown = lambda x, digits=2: f"{x:.{digits}f}".replace(".", mark)
    with_lab = lambda t, **new: json.dumps(json.loads(t) | new)
    no = TABLES[name][-1].split()[1]
    in_every_twentieth = lambda new: lambda t, i: new if i % 20 == 0 else t
    return {
        "percent as shares": (percent, lambda t, i: shown(number(t) / 100)),
        "percent as shares, with the sign": (percent, lambda t, i: shown(number(t) / 100) + " %"),
        "kilograms as grams": (mass, lambda t, i: shown(number(t) * 1000, 0) + " kg"),
        "the unit left out": (mass, lambda t, i: t.split()[0]),
        "the unit left out in a third": (size, lambda t, i: t.split()[0] if i % 3 == 0 else t),
        "inches": (size, lambda t, i: shown(number(t) / 2.54) + " " + t.split()[1]),
        "another scale": (plain, lambda t, i: shown(number(t) * 10)),
        "a tenth": (plain, lambda t, i: shown(number(t) / 10)),
        "cents": (price, lambda t, i: str(round(number(t) * 100))),
        "new signs <": (plain, lambda t, i: "<" + t if i % 10 == 0 else t),
        "new signs >": (count, lambda t, i: ">300" if int(t) > 300 else t),
        "thousands with a mark": (count, lambda t, i: f"{int(t) / 100:.3f}".replace(".", mark)),
        "emptied": (price, lambda t, i: ""),
        "half emptied": (plain, lambda t, i: "" if i % 2 else t),
        "filled with 0": (plain, lambda t, i: "0"),
        "one level": (ward, lambda t, i: ward[:3] + "0"),
        "levels written otherwise": (ward, lambda t, i: "No. " + t),
        "all answers alike": (answer, lambda t, i: TABLES[name][-1].split()[0]),
        "lists emptied": (tags, lambda t, i: "" if i % 4 else t),
        "-999 in a twentieth": (plain, in_every_twentieth("-999")),
        "9999 in a twentieth": (price, in_every_twentieth("9999999")),
        "0 in a tenth": (plain, lambda t, i: t if i % 10 else "0"),
        "a tenth emptied": (plain, lambda t, i: t if i % 10 else ""),
        "grams for kilograms in a twentieth": (mass, lambda t, i: t if i % 20 else shown(number(t) * 1000, 0) + " kg"),
        "no left empty": (answer, lambda t, i: "" if t == no else t),
        "a level left empty in one row": (ward, lambda t, i: t if i else ""),
        "an item renamed": (tags, lambda t, i: t.replace(tags[:4].lower() + "1", "nova")),
        "years of two digits": ("day", lambda t, i: f"{t[8:]}-{t[3:5]}-{t[:2]}"),
        "1900 in a twentieth": ("day", in_every_twentieth("01.01.1900")),
        "a key ten times as large": ("lab", lambda t, i: with_lab(t, Na=10 * json.loads(t)["Na"])),
        "a key left out in a third": ("lab", lambda t, i: t if i % 3 else json.dumps({"K": json.loads(t)["K"]})),
        "a word renamed": ("note", lambda t, i: t.replace("patient", "pat")),
        "swapped with its neighbour": (price, None),
    }


def changed(frame, column, change):
    """A table with one change; None swaps the column and the next one."""
    frame = frame.copy()
    if change is None:
        next_column = frame.columns[frame.columns.get_loc(column) + 1]
        frame[[column, next_column]] = frame[[next_column, column]].to_numpy()
    else:
        frame[column] = [change(text, i) for i, text in enumerate(frame[column])]
    return frame


def lines(encoder, frame):
    """What is said of a table: the lines, or the error."""
    with warnings.catch_warnings(record=True, action="always") as caught_warnings:
        try:
            encoder.transform(frame)
        except ValueError as error:
            return [str(error)]
    return [str(warning.message) for warning in caught_warnings]


def rates(rounds, names=tuple(TABLES)):
    """(found, changes, wrong lines of ordinary files, ordinary files, lines on other columns), and what was missed."""
    n_found = n_changes = n_false = n_files = n_beside = 0
    missed = {}
    wrong = []
    for name in names:
        for k in range(rounds):
            rng = np.random.default_rng([k, *name.encode()])
            n_fit, n_new = (int(x) for x in np.exp(rng.uniform(np.log(200), np.log(5000), 2)))
            with warnings.catch_warnings(action="ignore"):
                encoder = TableEncoder().fit(fit := draw(name, n_fit, k))
            later = draw(name, n_new, k, first=n_fit)
            for frame in (fit, later, fit.iloc[np.sort(rng.integers(0, n_fit, n_new))].reset_index(drop=True)):
                messages = lines(encoder, frame)
                n_files = n_files + 1
                n_false = n_false + bool(messages)
                wrong += messages
            for kind, (column, change) in changes(name).items() if k < CHANGED else ():
                messages = lines(encoder, changed(later, column, change))
                n_changes += 1
                n_found += any(repr(column) in line for line in messages)
                if not any(repr(column) in line for line in messages):
                    missed[kind] = missed.get(kind, 0) + 1
                beside = [line for line in messages if repr(column)[:-1] not in line and change is not None]
                n_beside += len(beside)
    return (n_found, n_changes, n_false, n_files, n_beside), missed, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--record", action="store_true", help="write the outcome into last_runs.json")
    args = parser.parse_args()
    (n_found, n_changes, false, n_files, beside), missed, wrong = rates(args.rounds)
    counts = {
        "changes": n_changes,
        "told": n_found,
        "lines on other columns": beside,
        "ordinary files": n_files,
        "with a line": false,
    }
    print(*wrong, missed, counts, sep="\n")
    if args.record:
        record.save(f"comparison.py --rounds {args.rounds}", counts)


if __name__ == "__main__":
    main()
