"""Numbers with units and signs: how a text is split, which units are converted, and what is no unit."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import constants

from nmlsdr._resources import load_json
from nmlsdr.tables import TableEncoder
from nmlsdr.tables._column_units import MOST_UNITS, WITHOUT, find_units, read_quantities, with_new_units
from nmlsdr.tables._number_parsing import NOTATIONS, Notation
from nmlsdr.tables._quantities import forms_of, split_number
from nmlsdr.tables._shapes import shapes_of
from nmlsdr.tables._units import measures, unit_of

TABLE = load_json("nmlsdr.tables", "units.json")
UNITS = [unit for units in TABLE["dimensions"].values() for unit in units]


def reader(notation, factors, marks):
    """A function from one text to its number and marks; None for another text."""

    def read(text):
        (values,) = read_quantities([text], forms_of([text], shapes_of([text])), notation, factors, marks).tolist()
        return None if np.isnan(values[0]) else values

    return read


few_examples = settings(max_examples=60, deadline=None)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("12,5 kg", ("12,5", "", "kg")),
        ("12kg", ("12", "", "kg")),
        ("12 KG.", ("12", "", "kg")),
        ("850\u202fg", ("850", "", "g")),
        ("−5 °C", ("-5", "", "°c")),
        ("7 lat", ("7", "", "lat")),
        ("72 %", ("72", "", "%")),
        ("5/9", ("5", "", "/9")),
        ("5 / 9", ("5", "", "/9")),
        ("$1,234.50", ("1,234.50", "", "$")),
        ("-$5", ("-5", "", "$")),
        ("$-5", ("-5", "", "$")),
        ("EUR 12,50", ("12,50", "", "eur")),
        ("%72", ("72", "", "%")),
        ("￥1,234", ("1,234", "", "¥")),
        ("7㎏", ("7", "", "kg")),
        ("٧٠٫٥ كجم", ("70.5", "", "كجم")),
        ("12 500 zł", ("12 500", "", "zł")),
        ("<0.5", ("0.5", "<", "")),
        ("< 0,5 mg/l", ("0,5", "<", "mg/l")),
        ("≥ 100", ("100", ">", "")),
        ("~12", ("12", "~", "")),
        ("85+", ("85", ">", "")),
        ("4.5 x10^9/l", ("4.5", "", "x10^9/l")),
        ("25 kg/m2", ("25", "", "kg/m2")),
        ("3 m²", ("3", "", "m²")),
        ("1.5e3 g", ("1.5e3", "", "g")),
        ("-3", ("-3", "", "")),
        ("(5)", ("-5", "", "")),
        ("1.250,50-", ("-1.250,50", "", "")),
        ("($5.20)", ("-5.20", "", "$")),
        ("aprox. 68", ("68", "~", "")),
        ("Ca 68 kg", ("68", "~", "kg")),
        ("8-10", ("8", "between", "")),
        ("7 a 9 anos", ("7", "between", "anos")),
        ("10–20 km", ("10", "between", "km")),
        ("5 to 10", ("5", "between", "")),
        ("1 ano e 7 meses", ("1", "", "ano")),
        ("1h30min", ("1", "", "h")),
        ("5 ft, 7 in", ("5", "", "ft")),
    ],
)
def test_a_text_is_split_into_number_sign_and_unit(text, parts):
    assert split_number(text)[:3] == parts


@pytest.mark.parametrize(
    "text",
    [
        "L-01",
        "E66",
        "E66.0",
        "P12 kg",
        "007 kg",
        "00123 A",
        "12:30",
        "12:30 h",
        "12h30",
        "8 am",
        "9 p.m.",
        "03-05",
        "3-05 kg",
        "3-5-7",
        "$5-7",
        "5 of 10",
        "~3-5",
        "1.2.3",
        "1.2.3 b",
        "v1.2",
        "12/05/2020",
        "5/2020",
        "12.5.2020",
        "12-05-2020",
        "2020-05-12",
        "12 May",
        "3 maja",
        "12. März 2020",
        "0048 601",
        "601-234-567",
        "(22) 123",
        "2de03e83",
        "120x80",
        "12 x 34 cm",
        "(-5)",
        "(5",
        "5--",
        "(3-5)",
        "5 kg 3",
        "5 m 3 kg",
        "3 cm 5 m",
        "5 kg 3-4 g",
        "1 1/2",
        "kg",
        "",
        "-",
        "<",
        "$",
        "< kg",
        "--5 kg",
        "-$-5",
        "1,2,3 kg",
        "9" * 99 + " kg",
    ],
)
def test_a_code_a_time_a_range_or_a_date_has_no_unit(text):
    assert split_number(text) is None


@few_examples
@given(
    st.sampled_from(NOTATIONS),
    st.integers(-(10**6), 10**6),
    st.sampled_from(UNITS),
    st.sampled_from(["", " ", "\u00a0"]),
)
def test_every_unit_of_the_table_follows_a_number_in_every_notation(notation, whole, unit, blank):
    number = f"{whole / 100:,.2f}".translate(str.maketrans({",": notation.thousands, ".": notation.decimal}))
    read = reader(notation, {unit_of(unit): 2.0}, ())
    assert read(f"{number}{blank}{unit}") == [pytest.approx(whole / 50)]


@few_examples
@given(st.text(max_size=12))
def test_any_text_is_split_or_not(text):
    parts = split_number(text)
    assert parts is None or (
        parts.sign in ("", "<", ">", "~") and split_number(parts.number)[:3] == (parts.number, "", "")
    )


def units_of(*texts):
    return find_units(Counter(map(split_number, texts)).items())


def values(*texts):
    units = units_of(*texts)
    read = reader(Notation(".", ""), units.factors, units.marks)
    return [list(read(text)) for text in texts], units


def test_units_of_one_dimension_are_converted_to_the_most_frequent():
    read, units = values("12.5 kg", "850 g", "3 kg")
    assert np.allclose(read, [[12.5], [0.85], [3]])
    assert units.note == "unit 'kg' (2), 'g' (1), converted to 'kg'"
    assert np.allclose(
        values("6 mies.", "2 lata", "7 lat", "1 rok", "5 lat", "18 miesięcy", "3 miesiące")[0],
        [[0.5], [2], [7], [1], [5], [1.5], [0.25]],
    )
    assert np.allclose(values("5/9", "4/10", "7/9")[0], [[5], [3.6], [7]])
    assert np.allclose(values("90 mg/dl", "1.1 g/l", "100 mg/dl")[0], [[90], [110], [100]])
    assert np.allclose(values("12 kg", "13 kg", "5 dag")[0], [[12], [13], [0.05]])  # no days
    assert np.allclose(values("12 €", "€13", "EUR 5", "7 Euro")[0], [[12], [13], [5], [7]])


def test_a_unit_that_the_fit_did_not_see_is_converted_by_those_that_it_saw():
    """Whichever of these comes first: 2000 mg are .002 kg, or 2 g."""
    assert with_new_units({"g": 0.001, "kg": 1.0}, ["mg"]) == pytest.approx({"mg": 1e-6, "g": 0.001, "kg": 1.0})
    assert with_new_units({"kg": 1000.0, "g": 1.0}, ["mg"]) == pytest.approx({"mg": 1e-3, "kg": 1000.0, "g": 1.0})
    fitted = [f"{i} g" for i in range(100, 190)] + [f"{i / 10} kg" for i in range(10, 200)]
    encoder = TableEncoder().fit(np.array(fitted, dtype=object)[:, None])
    with pytest.warns(UserWarning, match="'mg' in 50% of the cells"):
        grams, milligrams = encoder.transform(np.array([["150 g"], ["150000 mg"]], dtype=object))[:, 0]
    assert grams == pytest.approx(0.15)
    assert milligrams == pytest.approx(0.15)


def test_units_of_different_dimensions_stay_beside_the_number():
    read, units = values("5 m", "3 min", "7 m", "2")
    assert units.marks == ("m", "min", WITHOUT)
    assert read == [[5, 1, 0, 0], [3, 0, 1, 0], [7, 1, 0, 0], [2, 0, 0, 1]]
    for texts in (["5 m", "3 lat"], ["5 M", "3 m"], ["5 M", "3 kM"], ["5 m", "3 min"], ["1 $", "1 €"]):
        assert len(units_of(*texts).marks) == 2, texts


def test_bare_numbers_count_as_the_only_unit_and_are_marked_beside_several():
    read, units = values("12 kg", "7", "9 KG")
    assert (read, units.marks) == ([[12], [7], [9]], ())
    assert units.note == "unit 'kg' (2); 1 without a unit are read as 'kg'"
    assert units.doubt == "1 without a unit are read as 'kg'"
    read, units = values("12 kg", "12 kg.", "7", "900 g")
    assert np.allclose(read, [[12, 0], [12, 0], [7, 1], [0.9, 0]])
    assert units.marks == (WITHOUT,)


def test_a_sign_of_comparison_has_a_feature_of_its_own():
    read, units = values("<0.5", "1.5", ">9", "85+")
    assert units.marks == ("<", ">")
    assert read == [[0.5, 1, 0], [1.5, 0, 0], [9, 0, 1], [85, 0, 1]]
    assert values("<5 mg", "7 mg")[0] == [[5, 1], [7, 0]]


def test_a_sum_beside_a_unit_of_another_dimension_is_no_number_of_the_column():
    """Its two units, kept beside the number, would say that it has both."""
    sums = [(split_number("1 year 7 months"), 1)]
    assert find_units(sums) is not None
    assert find_units([*sums, (split_number("5 kg"), 9)]) is None


def test_the_mark_of_a_footnote_is_left_out():
    units = find_units([(split_number("5*"), 2), (split_number("<7"), 3)])
    assert units.factors == {"*": 1.0, "": 1.0}
    assert units.marks == ("<",)
    assert units.note.startswith("the mark '*' (2) behind numbers is left out; the sign '<' of 3")


def test_a_unit_that_is_not_known_is_never_its_bare_number():
    read = reader(Notation(".", ""), {"": 1.0, "kg": 1.0}, ())
    assert (read("5 kg"), read("5")) == ([5.0], [5.0])
    assert (read("5 g"), read("5 %"), read("5 lat")) == (None, None, None)
    read = reader(Notation(".", ""), {}, ())
    assert (read("5"), read("5 kg"), read("<5")) == ([5.0], None, [5.0])
    read = reader(Notation(".", ""), {"kg": 1.0, "g": 0.001}, ())
    assert read("5") is None


@pytest.mark.parametrize("n", [MOST_UNITS, MOST_UNITS + 1])
def test_at_most_four_units(n):
    assert (units_of(*[f"1 {unit}" for unit in "abcdefgh"[:n]]) is None) == (n > MOST_UNITS)
    assert units_of("1 ng", "1 µg", "1 mg", "1 mcg", "1 ug", "1 g") is not None  # four, in more spellings
    assert units_of("1 ng", "1 µg", "1 mg", "1 g", "1 kg") is None


@few_examples
@given(st.lists(st.sampled_from(["5 kg", "3 g", "2", "<4 g", "1 lat", "7 m", "7 min"]), min_size=1, unique=True))
def test_the_order_of_the_texts_does_not_matter(texts):
    assert units_of(*texts) == units_of(*reversed(texts))


def test_the_table_is_sound():
    for unit in UNITS:
        assert measures(unit_of(unit)), unit
    assert measures("m") == {"length": 1}
    assert measures("M") == {}
    assert set(measures("min")) == {"time"}
    assert not {*map(str.casefold, TABLE["not_units"])} & {*UNITS}


# ---------------------------------------------------------------- one meaning for each name

PREFIXES = {"n": constants.nano, "µ": constants.micro, "u": constants.micro, "m": constants.milli, "c": constants.centi,
            "d": constants.deci, "h": constants.hecto, "k": constants.kilo, "M": constants.mega}  # fmt: skip
BASES = {"g", "m", "l", "mol", "IU", "V", "W", "J", "Pa", "bar", "Hz", "B", "cal", "Wh", "s"}
RATIOS = {  # of units that no prefix makes of each other
    ("oz", "kg"): constants.ounce,
    ("lb", "kg"): constants.pound,
    ("in", "m"): constants.inch,
    ("ft", "m"): constants.foot,
    ("yd", "m"): constants.yard,
    ("mi", "m"): constants.mile,
    ("ha", "m2"): constants.hectare,
    ("km2", "m2"): constants.kilo**2,
    ("cm2", "m2"): constants.centi**2,
    ("cm3", "m3"): constants.centi**3,
    ("mmHg", "Pa"): constants.mmHg,
    ("cal", "J"): constants.calorie,
    ("Wh", "J"): constants.hour,
    ("min", "s"): constants.minute,
    ("h", "s"): constants.hour,
    ("d", "s"): constants.day,
    ("wk", "s"): constants.week,
    ("y", "s"): constants.Julian_year,
}


def test_factors_are_those_of_scipy():
    """Prefixes, and units by their names; currencies and pieces are not converted."""
    prefixed = 0
    for sizes in TABLE["dimensions"].values():
        for base in BASES & sizes.keys():
            for prefix, power in PREFIXES.items():
                unit = prefix + base
                if unit in sizes:
                    assert sizes[unit] == pytest.approx(power * sizes[base], rel=1e-6), unit
                    prefixed += 1
    assert prefixed > 40
    factors = {unit: factor for units in TABLE["dimensions"].values() for unit, factor in units.items()}
    for (unit, base), ratio in RATIOS.items():
        assert factors[unit] / factors[base] == pytest.approx(ratio, rel=1e-6), unit
    currencies = [units for name, units in TABLE["dimensions"].items() if not name.isascii() or not name.islower()]
    for units in (*currencies, TABLE["dimensions"]["pieces"], TABLE["dimensions"]["order"]):
        assert {*units.values()} == {1}


def test_each_name_has_one_meaning():
    """`dag` is ten grams beside kilograms and a day beside weeks; alone it is only a name."""
    names = Counter(name for units in TABLE["dimensions"].values() for name in units)
    assert {name for name, n in names.items() if n > 1} == {"dag"}
    for name in ("j", "година", "години"):  # Jahr and jour; the hour of Ukrainian and the year of Bulgarian
        assert measures(unit_of(name)) == {}
    assert measures("Ft").keys() == {"Ft"}
    assert measures("ft").keys() == {"length"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("KG", "kg"),
        ("Kg", "kg"),
        ("ML", "ml"),
        ("mL", "ml"),
        ("dL", "dl"),
        ("Min", "min"),
        ("\u03bcg", "µg"),
        ("\u00b5g", "µg"),
        ("μήνας", "μήνας"),
        ("EUR", "eur"),
        ("Tage.", "tage"),
        ("mg/dL", "mg/dl"),
        ("CAL", "cal"),
    ],
)
def test_units_in_capitals_are_those_of_the_table(written, meant):
    assert measures(unit_of(written)) == measures(meant) != {}


@pytest.mark.parametrize("written", ["Mg", "Mm", "Mbar", "Mmol", "kG", "Mg/ha"])
def test_a_million_is_no_thousandth(written):
    assert measures(unit_of(written)) == {}
    assert measures(unit_of("Cal")) == measures("kcal")


@pytest.mark.parametrize(
    ("written", "sign"),
    [
        ("<", "<"),
        ("<=", "<"),
        ("=<", "<"),
        ("≤", "<"),
        ("≦", "<"),
        (">", ">"),
        (">=", ">"),
        ("=>", ">"),
        ("≥", ">"),
        ("≧", ">"),
        ("~", "~"),
        ("≈", "~"),
    ],
)
def test_every_spelling_of_a_sign(written, sign):
    assert split_number(f"{written}5")[:3] == split_number(f"{written} 5")[:3] == ("5", sign, "")


def test_days_of_months_are_told_from_fractions():
    assert "days of months" in units_of("5/9", "12/9", "30/9", "7/10").doubt
    assert units_of("5/9", "7/9", "8/9").doubt == units_of("3/8", "5/16").doubt == ""


def test_units_of_different_languages_are_not_converted():
    assert "kept beside" in units_of("15 j", "1 mois", "10 j").note
    assert "kept beside" in units_of("6 години", "1 день").note
    assert "kept beside" in units_of("3.2 Mg/ha", "3200 kg/ha").note


@pytest.mark.parametrize("text", ["(abc)", "abc-", "(<5)", "<5-"])
def test_parentheses_and_a_minus_behind_make_a_plain_number_negative_and_nothing_else(text):
    assert split_number(text) is None
