"""A fit reads from top to bottom: how often rows change place on their way through it, and how few classes it has."""

import ast
import inspect
import itertools
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from estimator_cases import ESTIMATORS, draw

import nmlsdr
from nmlsdr import ExactNeighborsTransformer, _estimators

ROOM = str(Path(_estimators.__file__).parent)
DASK = (
    "NMLSDR",
    "MDDM",
    "MultiLabelCCA",
    "SSMLDR",
    "MultiLabelPropagation",
    "MLkNN",
    "SemiSupervisedMLkNN",
    "ResidualPropagation",
)


def places_of_rows(fit, n_features):
    """The (file, class) of each function of the room that has the rows as an argument, in the order of the visits.

    The rows are every array with as many columns as X: all of them, the labelled ones, or shrunken ones. A visit begins
    with a call, and again when a function that it has called returns.
    """
    visited = []
    stack = []

    def has_rows(frame):
        names = frame.f_code.co_varnames[: frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount]
        values = [frame.f_locals[name] for name in names if name in frame.f_locals]
        parts = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
        return any(np.ndim(part) == 2 and part.shape[1] == n_features for part in parts if hasattr(part, "shape"))

    def visit(frame):
        kind, _, _ = frame.f_code.co_qualname.split(".<locals>")[0].rpartition(".")
        visited.append((frame.f_code.co_filename, kind))

    def profile(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(ROOM) and has_rows(frame):
            stack.append(frame)
            visit(frame)
        elif event == "return" and stack and stack[-1] is frame:
            stack.pop()
            if stack:
                visit(stack[-1])

    sys.setprofile(profile)
    try:
        fit()
    finally:
        sys.setprofile(None)
    return visited


@pytest.mark.parametrize(("name", "largest_count"), [("NMLSDR", 14), ("ResidualPropagation", 20)])
def test_rows_change_class_or_file_a_few_times(name, largest_count):
    X, Y = draw(n=60)
    model = getattr(nmlsdr, name)(n_neighbors=5)
    visited = places_of_rows(lambda: model.fit(X, Y), X.shape[1])
    changes = sum(place != next_place for place, next_place in itertools.pairwise(visited))
    assert largest_count / 2 < changes <= largest_count, visited


def own_classes(kind):
    """The classes of this package among the ancestors of a class, itself included, without the one of parameters."""
    ours = [base for base in kind.__mro__ if base.__module__.startswith("nmlsdr.")]
    ours = [base for base in ours if base.__name__ != "PropagationParameters"]
    return [base for base in ours if not base.__module__.endswith("_sklearn_bases")]


@pytest.mark.parametrize("kind", [*ESTIMATORS.values(), ExactNeighborsTransformer], ids=lambda kind: kind.__name__)
def test_an_estimator_has_at_most_four_classes_of_ours(kind):
    assert len(own_classes(kind)) <= 4


@pytest.mark.parametrize("name", DASK)
def test_so_has_one_for_dask_which_overrides_at_most_five_steps(name):
    pytest.importorskip("dask")
    kind = getattr(nmlsdr.dask, name)
    assert len(own_classes(kind)) <= 4
    dask_methods = {"to_local", "set_fit_request", "_sklearn_auto_wrap_output_keys"}
    steps = vars(kind._steps).items()
    methods = {each for each, value in steps if isinstance(value, (staticmethod, types.FunctionType))}
    methods |= {each for each, value in vars(kind).items() if callable(value) and each not in {*dask_methods, "_steps"}}
    assert 4 <= len(methods) <= 5, methods


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fit_stands_in_the_class_itself_and_calls_no_other_fit(name):
    kind = ESTIMATORS[name]
    tree = ast.parse("class _:\n" + inspect.getsource(vars(kind)["fit"]))
    body = tree.body[0].body[0].body[1:]  # without the docstring
    assert 3 <= body[-1].end_lineno - body[0].lineno + 1 <= 30
    called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not {each for each in called if each.startswith(("_fit", "_read", "_keep", "_learn"))}
