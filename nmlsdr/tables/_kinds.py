"""The kinds of columns, and what is done with one column: a record that a plan has for each."""

from dataclasses import dataclass, field

#: The kinds of columns that become features, and how many numbers each cell gives (None: as many as there are levels;
#: a number has one more for each mark).
FEATURES = {
    "number": 1,
    "date": 2,
    "yes/no": 1,
    "category": None,
    "list": None,
    "words": None,
    "JSON": None,
    "vector": None,
}
#: The kinds of columns that do not.
OTHERS = ("identifier", "text", "constant", "empty", "duplicate", "like the labels", "dropped")


@dataclass(frozen=True)
class Column:
    """What is done with one column.

    Attributes
    ----------
    name, kind, reason : str
        Its name, a kind of FEATURES or OTHERS, and the facts behind it in words.
    decimal, thousands : str
        The notation of its numbers.
    factors : dict of str to float
        What numbers with each of these units are multiplied by ("": without a unit); empty: the numbers have no units.
    marks : tuple of str
        The signs of comparison and the units of the numbers that have a feature of their own.
    separator : str
        What stands between the items of a list.
    unmarked : bool
        Whether no number showed a decimal mark at the fit, as those that a file has as numbers: then the numbers of
        another table tell its own.
    month_first, year_first : bool
        Whether its dates begin with the month, or with a year of two digits.
    levels : dict of str to str
        For a category or a list: its levels, folded, and as they are shown. For yes/no: the texts that mean yes ("1")
        and no ("0"); the empty text stands for every word that means a missing value. For a date: its words for
        months. For a JSON object: the keys of its numbers. For numbers: the words behind which they are missing.
    has_missing, has_other : bool
        Whether missing values of a category, and levels that are rare, have a feature of their own.
    words : tuple of str
        The words of its texts, in alphabetical order.
    idf : tuple of float
        The inverse document frequency of each word, as `TfidfVectorizer` defines it.
    are_names : bool
        Whether its texts are names, such as those of files, which are split into their words.
    length : int
        The number of numbers of its vectors.
    is_identifier : bool
        Whether its texts name the rows, although their words become features.
    fill : tuple of float
        What takes the place of a missing value; empty: NaN.
    """

    name: str
    kind: str
    reason: str = ""
    decimal: str = "."
    thousands: str = ""
    unmarked: bool = field(default=False, compare=False)
    factors: dict[str, float] = field(default_factory=dict)
    marks: tuple[str, ...] = ()
    separator: str = ""
    month_first: bool = False
    year_first: bool = False
    levels: dict[str, str] = field(default_factory=dict)
    has_missing: bool = False
    has_other: bool = False
    words: tuple[str, ...] = ()
    idf: tuple[float, ...] = ()
    are_names: bool = False
    length: int = 0
    is_identifier: bool = False
    fill: tuple[float, ...] = ()

    @property
    def feature_names(self) -> list[str]:
        """The names of its features."""
        if self.kind in ("number", "date", "JSON"):
            parts = {"number": self.marks, "date": ("year", "month"), "JSON": [*self.levels]}[self.kind]
            return [self.name] * (self.kind == "number") + [f"{self.name} ({part})" for part in parts]
        if self.kind == "vector":
            return [f"{self.name} [{number}]" for number in range(self.length)]
        if self.kind == "words":
            return [f"{self.name}: {word}" for word in self.words]
        if self.kind in ("category", "list"):
            marks = ["(missing)"] * self.has_missing + ["(other)"] * self.has_other
            return [f"{self.name}={level}" for level in [*self.levels.values(), *marks]]
        return [self.name] if self.kind in FEATURES else []
