"""What the reproduction's report says of a part of a study: no more than that part can decide."""

import numpy as np
import pytest

from nmlsdr.experiments import command
from nmlsdr.experiments.benchmarks import _complete, add_claims
from nmlsdr.experiments.protocol import STUDIES
from nmlsdr.experiments.results import Results, ResultTable, Section, general_notes
from nmlsdr.experiments.store import CellFolder


def some_results(n_datasets, methods=("CCA", "NMLSDR"), seeds=2):
    """Results in which NMLSDR is best everywhere."""
    study = STUDIES["benchmarks"]
    shape = (n_datasets, len(methods), 7, seeds)
    values = np.full(shape, 0.5) + 0.1 * np.arange(len(methods))[None, :, None, None] + 0.001 * np.arange(seeds)
    return Results(
        study,
        study.datasets[:n_datasets],
        tuple(methods),
        tuple(range(seeds)),
        {"metrics": values},
        np.ones((n_datasets, len(methods), seeds)),
        [],
    )


@pytest.mark.parametrize(("n_datasets", "holds"), [(2, None), (4, None), (5, True), (10, True)])
def test_few_sets_decide_nothing(n_datasets, holds):
    """Below five sets no signed-rank test reaches 5 %: the statement is neither right nor crossed out."""
    ten = some_results(n_datasets)
    section = Section("benchmarks", "", ResultTable("", "", []))
    add_claims(section, ten, _complete(ten))
    (claim,) = [pair for pair in section.claims if "Wilcoxon" in pair[0]]
    assert claim[1] is holds
    assert ("not decidable from" in claim[0]) == (holds is None)
    if holds is None:
        assert claim[0].endswith(f"not decidable from {n_datasets} sets")


@pytest.mark.parametrize(("n_far", "holds"), [(21, True), (22, False)])
def test_the_share_of_near_cells_is_compared_with_85_percent(n_far, holds):
    ten = some_results(10)
    size = np.full(ten.printed.shape, 0.02)  # the limit itself is near
    size.reshape(-1)[:n_far] = 0.021
    ten.values[:] = (ten.printed + size)[..., None]
    section = Section("benchmarks", "", ResultTable("", "", []))
    add_claims(section, ten, _complete(ten))
    (claim,) = [pair for pair in section.claims if pair[0].startswith("at least 85 %")]
    assert claim[0].endswith(f"of the article's value: {140 - n_far}, {100 * (140 - n_far) / 140:.1f} %")
    assert claim[1] is holds


def test_paragraphs_on_sets_that_were_not_run_are_left_out():
    every = general_notes("benchmarks", ["Emotions", "Medical", "Enron"])
    notes = general_notes("benchmarks", ["Birds", "Yeast"])
    assert set(notes) < set(every)
    for name in ("Emotions", "Genbase", "Medical", "Enron"):
        assert not any(name in text for text in notes)


def test_the_report_names_all_commands(tmp_path):
    folder = CellFolder(tmp_path)
    for words in ("nmlsdr reproduce toy", "nmlsdr reproduce benchmarks", "nmlsdr reproduce toy"):
        commands = command._commands(folder, words)
    assert commands == ["nmlsdr reproduce toy", "nmlsdr reproduce benchmarks"]
