"""Texts by their shapes: what is decided for a shape holds for each of its texts."""

import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmlsdr._checks.words import trim
from nmlsdr.tables._column_units import read_quantities
from nmlsdr.tables._columns import Texts
from nmlsdr.tables._dates import dates_of, read_date
from nmlsdr.tables._number_parsing import NOTATIONS, is_number, number_reader
from nmlsdr.tables._quantities import BETWEEN, forms_of, split_number
from nmlsdr.tables._shapes import coded, rows_of, shapes_of

few_examples = settings(max_examples=150, deadline=None)
LIKE_NUMBERS = st.text(alphabet="0123456789.,' eE+-/:<$%kgm2²x^10T\u00a0−１", max_size=14)
WRITTEN = st.sampled_from(
    [
        "1.234,5",
        "0012",
        "1e400",
        "1e99",
        "9" * 250 + "e99",
        "1" * 320,
        "25 kg/m2",
        "25 kg/m3",
        "5/9",
        "5/2020",
        "1e-5 g",
        "02/01/2020",
        "2020-02-30",
        "31.12.99 10:20",
        "-$5",
        "$-5",
        "85+",
        "１２,5",
        "4.5 x10^9/l",
        "",
        "a\nb",
        "0",
        "00",
        "8-10",
        "(5)",
        "5-",
        "7 a 9 kg",
        "10-8",
        "1 ano e 7 meses",
        "2h 5min",
        "1h 5min",
        "ca. 5 kg",
    ]
)
TEXTS = st.lists(LIKE_NUMBERS | WRITTEN | st.text(max_size=6), max_size=12)


@few_examples
@given(TEXTS)
def test_a_text_is_a_number_or_a_date_exactly_if_its_shape_is(texts):
    shapes = shapes_of(texts)
    for text, code in zip(texts, shapes.codes, strict=True):
        shape = shapes.different[code]
        assert re.sub("[0-9]", "1", shape) == re.sub("[0-9]", "1", text)
        assert is_number(shape) == is_number(text)
        for notation in NOTATIONS:
            assert (number_reader(notation)(shape) is None) == (number_reader(notation)(text) is None)


@few_examples
@given(TEXTS)
@example(["25 kg/m2", "25 kg/m4", "5/9", "7/10"])
@example(["3-5 m2", "7-9 m2", "0-0E^2", "0-0EE2"])
def test_texts_are_read_together_as_one_by_one(texts):
    texts = [trim(text) for text in texts]
    forms = forms_of(texts, shapes_of(texts))
    parts = [split_number(text) for text in texts]
    for text, code, quantity in zip(texts, forms.codes, parts, strict=True):
        form = forms.parts[code]
        assert (form is None) == (quantity is None), text
        assert quantity is None or (form.sign, form.unit, form.place) == (quantity.sign, quantity.unit, quantity.place)
    units = {part.unit: 2.0 for quantity in parts if quantity is not None for part in quantity.all}
    for notation in NOTATIONS:
        values_read = read_quantities(texts, forms, notation, units, ("<", "kg"))
        for values, quantity in zip(values_read.tolist(), parts, strict=True):
            numbers = [None] if quantity is None else [number_reader(notation)(part.number) for part in quantity.all]
            number = None if None in numbers else sum(numbers)
            if number is not None and quantity.sign == BETWEEN:
                number = number / 2 if numbers[0] < numbers[1] else None
            expected = [np.nan] * 3 if number is None else [2 * number, quantity.sign == "<", quantity.unit == "kg"]
            assert np.array_equal(values, expected, equal_nan=True)


@few_examples
@given(TEXTS, st.booleans())
def test_dates_are_read_together_as_one_by_one(texts, month_first):
    dates = dates_of(texts, shapes_of(texts)).values(month_first)
    for text, values in zip(texts, dates.tolist(), strict=True):
        assert np.array_equal(values, read_date(text, month_first) or (np.nan, np.nan), equal_nan=True)


@pytest.mark.parametrize("blank", [" ", "\t", "\r", "\v", "\f", "\n", "\u00a0"])
def test_each_blank_is_trimmed_at_both_ends(blank):
    assert Texts.of(["a b", f"{blank}c", f"d{blank}"], [0, 1, 2]).trimmed.different == ["a b", "c", "d"]
    assert (same := Texts.of(["a b", "", "c"], [0, 1, 2])).trimmed is same


def test_equal_things_have_one_code_and_rows_are_found_by_it():
    different, codes = coded(["b", "a", "b", "c"])
    assert (different, codes.tolist()) == (["b", "a", "c"], [0, 1, 0, 2])
    assert [(code, rows.tolist()) for code, rows in rows_of(codes, [2, 0, 7])] == [(0, [0, 2]), (2, [3])]
    assert not list(rows_of(codes, []))
