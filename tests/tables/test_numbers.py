"""What a number is: notations, the marks of typesetting, and which notation a column is written in."""

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmlsdr._checks.words import fold
from nmlsdr._errors import InputError
from nmlsdr.tables import TableEncoder
from nmlsdr.tables._dates import dates_of, read_date
from nmlsdr.tables._number_parsing import (
    NOTATIONS,
    Notation,
    decimal_mark,
    find_notation,
    float_values,
    is_number,
    keeps_digits,
    number_problem,
    number_reader,
    own_notation,
    plain_text,
    plain_values,
    text_of,
    usual_decimal,
)
from nmlsdr.tables._shapes import shapes_of

few_examples = settings(max_examples=40, deadline=None)
pandas = pytest.importorskip("pandas")
# by what stands between thousands
POINTS = Notation(",", ".")
COMMAS = Notation(".", ",")
PLAIN = Notation(".", "")
COMMA = Notation(",", "")
TYPESET = str.maketrans("-0123456789", "−０１２３４５６７８９")


def write(value, notation, digits):
    """A number as a person writes it in a notation."""
    text = f"{value:,.{digits}f}".replace(",", "_").replace(".", notation.decimal)
    return text.replace("_", notation.thousands)


notations = st.sampled_from(NOTATIONS)
values = st.lists(st.integers(-(10**7), 10**7), min_size=1, max_size=20)


@few_examples
@given(notations, values, st.integers(0, 3), st.booleans())
def test_a_number_is_read_as_it_was_written(notation, wholes, digits, typeset):
    read = number_reader(notation)
    for whole in wholes:
        text = write(whole / 10**digits, notation, digits)
        text = text.translate(TYPESET).replace(" ", "\u202f") if typeset else text
        assert read(text) == pytest.approx(whole / 10**digits, abs=1e-12)
        assert is_number(text)


@few_examples
@given(notations, st.lists(st.integers(-(10**7), 10**7), min_size=3, max_size=20))
def test_the_notation_of_numbers_with_two_decimals_is_found(notation, wholes):
    numbers = [(whole * 100 + 12) / 100 for whole in wholes] + [1234567.12]
    texts = dict.fromkeys((write(number, notation, 2) for number in numbers), 1)
    notation_read, doubt = find_notation(texts)
    assert doubt == ""
    assert sorted(map(number_reader(notation_read), texts)) == pytest.approx(
        sorted({*map(number_reader(notation), texts)})
    )


@few_examples
@given(st.lists(st.sampled_from(["1.234", "987", "12.345", "1.5", "1234", "20000", "1,5", "1.234.567", "7"])))
def test_the_order_of_the_texts_does_not_matter(texts):
    forward = dict.fromkeys(texts, 2)
    for usual in (None, ".", ","):
        assert find_notation(forward, usual) == find_notation(dict(reversed(forward.items())), usual)


@pytest.mark.parametrize("mark", ".,")
@pytest.mark.parametrize("usual", [None, ".", ","])
def test_marks_before_three_digits_in_every_small_column(mark, usual):
    """Every set of these texts: thousands, decimals, or either, by a rule of its own."""
    other_mark = "," if mark == "." else "."
    for texts in itertools.product(
        ["12.345", ""], ["1.234", ""], ["987", ""], ["1234", ""], ["12345", ""], ["2.5", ""]
    ):
        texts = [text.replace(".", mark) for text in texts if text]
        if not any(mark in text for text in texts):
            continue
        notation, doubt = find_notation(dict.fromkeys(texts, 1), usual)
        bare = {text for text in texts if mark not in text}
        decimals = f"2{mark}5" in texts
        small_only = bare == {"987"}
        spanish = "1234" in bare and "12345" not in bare and f"1{mark}234" not in texts
        if decimals:
            expected = (mark, "", False)
        elif usual == other_mark or (usual is None and small_only):
            expected = (other_mark, mark, False)
        elif usual == mark and small_only:
            expected = (mark, "", True)  # so few that they can be decimals
        elif "12345" in bare or ("1234" in bare and not spanish) or usual == mark:
            expected = (mark, "", False)
        else:
            expected = (mark, "", True) if mark == "." else (other_mark, mark, True)
        assert (*notation, bool(doubt)) == expected, texts


@pytest.mark.parametrize("n", [21, 22])
def test_many_numbers_with_three_digits_are_no_decimals_even_beside_decimals(n):
    texts = dict.fromkeys([f"{i}.125" for i in range(1, n + 1)] + ["987"], 1)
    notation, doubt = find_notation(texts, ".")
    assert (notation == POINTS, bool(doubt)) == ((True, False) if n == 22 else (False, True))


def test_what_a_person_says_is_not_doubted():
    texts = {"12.345": 3, "1.234": 1}
    assert find_notation(texts, decimal=".") == (PLAIN, "")
    assert find_notation(texts, thousands=".") == (POINTS, "")
    assert find_notation(texts, ",", thousands="")[0] == COMMA or find_notation(texts, thousands="")[0] == PLAIN


def test_what_is_said_chooses_among_notations_that_read_all_cells():
    assert find_notation({"7": 1}, ",")[0] == COMMA
    assert find_notation({"7": 1}, ",", decimal=".")[0] == PLAIN
    assert find_notation({"7": 1}, thousands=".")[0] == POINTS
    assert find_notation({"1 234": 1, "7": 1}, ",")[0] == Notation(",", " ")
    assert find_notation({"1000": 1, "12.345": 1})[1] != ""  # as in Spain, from 1000 on
    assert find_notation({"1000": 1, "1.234": 1}) == (PLAIN, "")
    assert find_notation({"10000": 1, "12.345": 1}) == (PLAIN, "")
    assert find_notation({"1.234.567": 1, "12.345": 1}) == (POINTS, "")
    assert "'12.345'" in find_notation({"11.111": 2}, every=lambda: ["98.765", "12.345"])[1]  # no shape is shown
    for usual, advice in ((".", "write the numbers without points"), (None, "give --thousands .")):
        assert find_notation({"12.345": 1, "37.500": 1} | ({"987": 1} if usual else {}), usual)[1].endswith(advice)


def test_the_mark_of_numbers_whose_column_shows_none_is_that_of_their_only_reading():
    for numbers, notation in ((["1,5", "12,345"], COMMA), (["12,345"], PLAIN), (["1,5", "2.5"], PLAIN)):
        assert own_notation(numbers, PLAIN) == notation


def test_a_whole_float_is_written_without_a_point():
    assert [text_of(value) for value in (2.0, -1.5, 1e15)] == ["2", "-1.5", "1000000000000000.0"]
    assert [keeps_digits(numbers) for numbers in ([1, 10**15 - 1], [1, 10**15], [-(10**15), 1], [])] == [1, 0, 0, 1]


CELLS = ["1", "-2.5", "", " 7", "1.234", "-12.345", "007", "1e3", "nan", "inf", "1e999", "1_0", "٣", "x", "-", "9" * 16]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*CELLS, "9" * 15, "+.5", "5.", "NA", "\t", "1.234.567", "1 2"]), max_size=4))
def test_numbers_as_programs_write_them(texts):
    """Each text is read as Python reads it, or none is; what may be an id or have another reading is not plain."""
    form = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e\d+)?", re.ASCII)
    number = lambda text: form.fullmatch(text) is not None and abs(float(text)) < 1e300
    stripped = [text.strip() for text in texts]
    values = float_values(texts)
    if all(text == "" or number(text.strip()) for text in texts):
        np.testing.assert_equal(values, [float(text or "nan") for text in texts])
    else:
        assert values is None
    problems = [number_problem(text) for text in texts]
    assert [problem is None for problem in problems] == [number(text) for text in stripped]
    assert [p is not None and "is missing" in p for p in problems] == [t in ("", "NA", "nan") for t in stripped]
    filled = [text for text in stripped if text]
    pointed = [text for text in filled if "." in text]
    dubious = pointed != [] and all(re.fullmatch(r"-?[1-9]\d{0,2}(\.\d{3})+", text) for text in pointed)
    if filled and not dubious and all(number(text) and text not in ("007", "9" * 16) for text in filled):
        np.testing.assert_equal(plain_values(texts), [float(text or "nan") for text in stripped])
    else:
        assert plain_values(texts) is None


@few_examples
@given(st.text("0123456789.,' -", max_size=9))
def test_a_mark_with_one_reading_is_that_of_every_notation_that_reads_the_text(text):
    marks = {notation.decimal for notation in NOTATIONS if number_reader(notation)(text) is not None}
    if len(marks) == 1 and {*text} & {*".,"}:
        assert decimal_mark(text) == marks.pop()
    elif len(marks) == 2:
        assert decimal_mark(text) is None


def test_the_usual_decimal_mark_is_that_of_most_cells():
    assert [decimal_mark(text) for text in ("1.234.567", "1,234,567", "1.234", "1,234")] == [",", ".", None, None]
    assert usual_decimal([{"1.234": 5, "7": 1}]) is None
    assert usual_decimal([{"1.5": 2}, {"1,5": 1, "1.234,5": 2}]) == ","
    assert usual_decimal([{"1.5": 2}, {"1,5": 2}]) == "."


@pytest.mark.parametrize(
    "text", ["5²", "1_000", "½", "1–2", "12 34", "−", "", "1e999", "0x10", "nan", "inf", "+48 123 456"]
)
def test_what_is_no_number(text):
    assert not is_number(text)


def test_every_character_folds_once_and_composed_texts_are_equal():
    for code in itertools.chain(range(0x3100), range(0xF900, 0x10000), range(0x10400, 0x10500)):
        folded = fold(chr(code))
        assert fold(folded) == folded, hex(code)
    assert fold("Cafe\u0301 ") == fold("CAF\u00c9") == "café"
    assert fold("\u00a0San\u202fJosé") == "san josé"


# ---------------------------------------------------------------- in a table


def encode(*texts):
    encoder = TableEncoder()
    return encoder.fit_transform(pandas.DataFrame({"a": list(texts)}))[:, 0].tolist(), encoder.plan_.columns[0]


def test_points_between_thousands_are_read_and_said():
    numbers, column = encode("987", "12.345", "1.200", "7")
    assert numbers == [987, 12345, 1200, 7]
    assert column.reason == "decimal commas; points between thousands"


def test_typographic_minus_signs_blanks_and_digits_are_numbers():
    numbers, column = encode("−5", "3", "－２", "1\u2009250", "–7", "2\u202f000", "+4")
    assert numbers == [-5, 3, -2, 1250, -7, 2000, 4]
    assert column.kind == "number"


def test_levels_that_unicode_writes_in_two_ways_are_one():
    words = ["Jos\u00e9", "Jose\u0301", "Ana", "jose\u0301\u00a0"] * 5
    table = pandas.DataFrame({"name": words, "a": np.arange(20) / 3})
    encoder = TableEncoder().fit(table)
    assert encoder.get_feature_names_out().tolist() == ["name=Ana", "name=José", "a"]
    assert encoder.transform(table)[:, 1].tolist() == [1, 1, 0, 1] * 5
    assert math.isclose(encoder.transform(table)[:, :2].sum(), 20)


# ---------------------------------------------------------------- other scripts and countries


def test_the_digits_of_every_script_are_those_of_a_keyboard():
    """Every one of Unicode's first plane, beside what Python's int says; the length of a text never changes."""
    for code in range(0x10000):
        character = chr(code)
        plain = plain_text(character)
        assert len(plain) == 1
        if character.isdecimal():
            assert plain == str(int(character))
            assert number_reader(PLAIN)(f"1{character}") == 10 + int(character)


def test_arabic_marks_between_thousands_are_read_like_commas():
    """The raw texts, which `every` returns, have U+066C where their shapes have a comma."""
    arabic = str.maketrans("0123456789,", "٠١٢٣٤٥٦٧٨٩٬")
    texts = ["12,345", "987", "1,234"]
    notation, doubt = find_notation(dict.fromkeys(texts, 1), every=lambda: [text.translate(arabic) for text in texts])
    assert (notation, doubt) == (COMMAS, "")
    numbers, _ = encode(*(text.translate(arabic) for text in texts * 3))
    assert numbers == [12345, 987, 1234] * 3


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["12.345", "987", "1.234"], [12.345, 987, 1.234]),  # these points would stand between thousands
        (["12.345 kg", "987 kg", "1.234 kg"], [12.345, 987, 1.234]),
        (["-12.345", "2.500", "1.234"], [-12.345, 2.5, 1.234]),
        (["12,345", "987", "1,234"], [12345, 987, 1234]),
        (["1,234.500", "987.250", "12"], [1234.5, 987.25, 12]),
    ],
)
@pytest.mark.parametrize("other_texts", [["1", "2", "4"], ["1,5", "2,5", "0,7"], ["1.5", "2.5", "0.7"]])
def test_the_arabic_decimal_mark_is_always_one(texts, values, other_texts):
    """Whatever mark the other columns of the table have; digits of a keyboard do not change the mark either."""
    for characters in ("0123456789.,", ".,"):
        arabic = str.maketrans(characters, "٠١٢٣٤٥٦٧٨٩٫٬"[-len(characters) :])
        frame = pandas.DataFrame({"v": [text.translate(arabic) for text in texts] * 3, "w": other_texts * 3})
        encoder = TableEncoder().fit(frame)
        assert encoder.plan_.columns[0].kind == "number"
        np.testing.assert_array_equal(encoder.transform(frame)[:, 0], values * 3)


def test_few_arabic_marks_among_commas_are_named():
    """A point that stands between thousands would make 70500 of 70.5."""
    texts = ["3,25", "4,5", "1.234,5"] * 9
    encoder = TableEncoder().fit(pandas.DataFrame({"v": texts}))
    for cells in ([*texts, "٧٠٫٥٠٠"], [*texts, "70٫500"]):
        for use in (TableEncoder().fit, encoder.transform):
            with pytest.raises(InputError, match="with another decimal mark"):
                use(pandas.DataFrame({"v": cells}))
    assert TableEncoder(decimal=",").fit(pandas.DataFrame({"v": ["70٫500"] * 3})).plan_.columns[0].kind != "number"


def test_a_whole_number_of_more_than_15_digits_is_a_text_in_every_notation():
    """A float would lose its last digits; texts of so many digits are ids."""
    for digits in range(1, 24):
        for text in ("9" * digits, f"{10 ** (digits - 1)}", f"-{'1' * digits}.5", f"{10 ** (digits - 1):,}"):
            shape = shapes_of([text]).different[0]
            assert is_number(text) == is_number(shape) == (digits <= 15)


@few_examples
@given(st.integers(100_000, 10**12), st.integers(0, 99))
def test_numbers_are_grouped_as_in_india_too(whole, cents):
    text = f"{whole % 1000:03d}"
    thousands = whole // 1000
    while thousands:
        thousands, pair = divmod(thousands, 100)
        text = f"{pair:02d},{text}" if thousands else f"{pair},{text}"
    for written, value in ((text, whole), (f"-{text}.{cents:02d}", -(whole + cents / 100))):
        assert number_reader(Notation(".", ","))(written) == pytest.approx(value, rel=1e-15)
        assert decimal_mark(written) == "."
        assert is_number(written)
    assert find_notation({text: 1, "1,00,000": 1})[0].thousands == ","
    for wrong in (f"{text}0", text.replace(",", ".")):  # with points nobody writes so
        assert number_reader(Notation(".", ","))(wrong) is None
        assert number_reader(Notation(",", "."))(wrong) is None or text.count(",") == 1


@pytest.mark.parametrize(
    "text",
    ["2. 7. 1999", "2.7.1999.", "1999年7月2日", "1999년 7월 2일", "١٩٩٩/٧/٢", "1999年07月02日 9:30", "२-७-१९९९"],
)
def test_dates_of_other_countries(text):
    assert read_date(text) == read_date("1999-07-02")
    assert dates_of([text], shapes_of([text])).values(False).tolist() == [list(read_date(text))]
    for wrong in (f"x{text}", *(text.replace(seven, f"1{seven}") for seven in "7٧७" if seven in text)):
        assert read_date(wrong) is None
