"""What words mean in the cells of a table: yes, no, a missing value, no label; the one place that says so."""

import re
import unicodedata

BLANKS = " \t\n\r\v\f"
"""What may surround a value: the blanks that `float` skips; `str.strip` would remove other separators too."""
_TYPESET_BLANKS = str.maketrans("\u00a0\u2007\u2009\u202f", "    ")

#: Pairs of words for yes and no, in lower case.
YES_NO = (("yes", "no"), ("y", "n"), ("true", "false"), ("ja", "nein"), ("j", "n"), ("wahr", "falsch"), ("ja", "nee"),
          ("oui", "non"), ("vrai", "faux"), ("sí", "no"), ("si", "no"), ("sì", "no"), ("sim", "não"))  # fmt: skip
CROSS = 2  # an x: in a column that holds only x and empty cells, an empty cell means 0
#: The label that a text stands for, in lower case and without blanks around it: 1, 0, -1 for unknown, or CROSS.
LABEL_WORDS = {"0": 0, "1": 1, "-1": -1, "": -1, "?": -1, "0.0": 0, "1.0": 1, "-1.0": -1, "x": CROSS}
LABEL_WORDS |= {word: label for yes, no in YES_NO for word, label in ((yes, 1), (no, 0))}

HOLES = ("", "?", "na", "n/a", "nan", "null")
"""How a missing feature is written, in upper or lower case."""

MISSING = frozenset(
    {*HOLES, "-", "--", "---", "–", "—", ".", "...", "#n/a", "#na", "n.a.", "n. a.", "nd", "n.d.", "n. d.", "k.a.",
     "k. a.", "keine angabe", "unbekannt", "unknown", "not known", "missing", "inconnu", "desconocido", "sconosciuto",
     "onbekend"}
)  # fmt: skip
"""Words, folded, that mean a missing value wherever they stand; others are found by how often they occur."""

NO_LABEL = ("none", "no", "nothing", "nil", "-", "--", "n/a", "na", "0", "keine", "keines", "nichts", "ohne", "aucun",
            "ninguno", "nessuno", "geen")  # fmt: skip
"""Words, folded, in place of a list of labels that has none."""

WORD = re.compile(r"[^\W\d_]{2,}")


def trim(text: str) -> str:
    """Return a text without surrounding blanks, with plain blanks inside, and with composed letters (NFC)."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text.translate(_TYPESET_BLANKS))
    return text.strip(BLANKS)


def fold(text: str) -> str:
    """Return a text as `trim` does, and without upper case."""
    text = trim(text)
    return text.casefold() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


def words_of(text: str) -> set[str]:
    """Return the different words of a text, folded."""
    return set(WORD.findall(fold(text)))
