"""Every case of `_cases.CASES` at its sizes, on one and two threads for kernels.

Run it by ``python bench/run.py``, or with pytest-benchmark's own options:

    python -m pytest bench/test_suite.py --benchmark-enable --benchmark-save=before
"""

import _cases
import pytest


def pytest_generate_tests(metafunc):
    if "size" not in metafunc.fixturenames:
        return
    parameters = []
    for name, case in _cases.CASES.items():
        for size in case.default + (case.full if metafunc.config.getoption("--full") else []):
            for n_threads in (1, 2) if case.kind == "kernel" else (2,):
                parameters.append(pytest.param(name, size, n_threads, id=f"{name} {_cases.label_of(size, n_threads)}"))
    metafunc.parametrize(("name", "size", "n_threads"), parameters)


def test_case(measure, child, name, size, n_threads):
    try:
        work = _cases.build(name, size)
    except _cases.NotHere as reason:
        pytest.skip(str(reason))
    info = measure(
        lambda: work.run(n_threads),
        n_threads=n_threads,
        amount=work.amount,
        limit=work.limit,
        case=name,
        kind=_cases.CASES[name].kind,
        size=size,
        shown=_cases.label_of(size),
    )
    if n_threads == 2:
        info["peak_bytes"] = child(name, size, n_threads)
