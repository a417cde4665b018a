"""The service of the page on deployment, with the lines that it names for models of ``nmlsdr fit``."""

import re
from pathlib import Path

import numpy as np
import pytest

from nmlsdr.model_file import load_model
from tests.commands import ran, write_csv

pandas = pytest.importorskip("pandas")
pytest.importorskip("fastapi")
pytest.importorskip("httpx")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "deploy.md"
NAMES = ["age", "bmi", "glucose", "pressure"]


def service(variant):
    """The program of the page, in which the lines of a variant replace those that begin alike."""
    text = PAGE.read_text(encoding="utf-8").partition("## A service")[2]
    program = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    for line in re.findall(r"```text\n(.*?)```", text.partition("**A model of `nmlsdr fit`**")[2], re.DOTALL)[
        variant
    ].splitlines():
        begin = re.escape(re.match(r" *\w+(?: \w+)?", line)[0])
        program, n = re.subn(rf"^{begin}\b.*$", line, program, flags=re.MULTILINE)
        assert n == 1, line
    return program


@pytest.mark.skipif(not PAGE.is_file(), reason="the documents are not beside the tests (an installed copy)")
@pytest.mark.usefixtures("default_forest")
@pytest.mark.parametrize(("variant", "raw"), [(0, False), (1, True)], ids=["numbers", "TableEncoder"])
def test_the_service_of_the_page_serves_models_of_the_command(run, tmp_path, rng, variant, raw):
    """Its answers are the predictions of the command, and a sample without a cell is refused."""
    from fastapi.testclient import TestClient

    cells = rng.normal(size=(60, 4)).round(3).astype(str).astype(object)
    labels = (cells[:, 2:].astype(float) > 0).astype(int)
    names = list(NAMES)
    if raw:
        names += ["ward"]
        cells = np.column_stack([cells, rng.choice(["east", "west"], 60)])
        cells[::7, 0] = ""
    write_csv(tmp_path / "t.csv", [*names, "diabetes", "gout"], np.column_stack([cells, labels]).tolist())
    write_csv(tmp_path / "new.csv", names, cells[:5].tolist())
    ran(run("fit", "t.csv", "--label-columns", "diabetes,gout", "--out", "model.skops"))
    ran(run("predict", "model.skops", "new.csv", "--probabilities", "--out", "p.csv"))
    expected = pandas.read_csv("p.csv")[["probability:diabetes", "probability:gout"]].to_numpy()
    assert hasattr(load_model("model.skops"), "feature_names_in_") == raw

    names_of_module = {}
    exec(compile(service(variant), str(PAGE), "exec"), names_of_module)
    client = TestClient(names_of_module["app"])
    samples = [dict(zip(names[::-1], row[::-1], strict=True)) for row in cells[:5].tolist()]
    if not raw:
        samples = [{name: float(cell) for name, cell in sample.items()} for sample in samples]
    answers = client.post("/predict", json=samples).json()
    assert [*answers[0]] == ["diabetes", "gout"]
    np.testing.assert_allclose([[*answer.values()] for answer in answers], expected, atol=1e-6)
    assert client.post("/predict", json=[{"age": samples[0]["age"]}]).status_code == 422
    assert client.post("/predict", json=[{**samples[0], "age": None}]).status_code == 422
