"""Programs that take our neighbours get what their own exact search finds: the snippets of docs/give_neighbours.md.

Each test skips without its program; nox -s optional installs umap-learn, openTSNE, scanpy, imbalanced-learn,
mlflow-skinny, and cleanlab with the package datasets.
"""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, HDBSCAN
from sklearn.metrics.pairwise import haversine_distances
from sklearn.neighbors import LocalOutlierFactor

from nmlsdr import ExactNeighborsTransformer

PAGE = Path(__file__).resolve().parents[2] / "docs" / "give_neighbours.md"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # of the other programs
    pytest.mark.skipif(not PAGE.is_file(), reason="the documents are not beside the tests (an installed copy)"),
]


def run(word, *packages):
    """The names after the page's first snippet and the one that holds a word; a skip without its packages."""
    for package in packages:
        pytest.importorskip(package)
    snippets = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (snippet_of_word,) = [snippet for snippet in snippets[1:] if word in snippet]
    names = {}
    for snippet in (snippets[0], "from sklearn.pipeline import make_pipeline\n", snippet_of_word):
        exec(compile(snippet, PAGE.name, "exec"), names)
    return names


def test_local_outlier_factor_finds_the_outliers_of_its_own_search():
    names = run("LocalOutlierFactor(")
    expected = LocalOutlierFactor(n_neighbors=20, contamination=0.02).fit_predict(names["X"])
    assert (expected == -1).any()
    np.testing.assert_array_equal(names["outliers"], expected)


def test_dbscan_finds_the_clusters_of_its_own_search():
    names = run("DBSCAN(")
    expected = DBSCAN(eps=2.2, min_samples=6).fit_predict(names["X"])
    assert expected.max() == 1  # two clusters
    np.testing.assert_array_equal(names["clusters"], expected)


def test_the_largest_inner_products_are_nearest():
    run("longer")  # which asserts it


def test_smote_makes_the_rows_of_its_own_search():
    names = run("SMOTE(", "imblearn")
    expected = names["SMOTE"](k_neighbors=5, random_state=0).fit_resample(names["X"], names["y"])
    np.testing.assert_array_equal(names["more_X"], expected[0])
    np.testing.assert_array_equal(names["more_y"], expected[1])


def test_scanpy_has_the_weights_of_its_exact_search():
    names = run("scanpy.pp", "anndata", "scanpy")
    exact_cells = names["anndata"].AnnData(names["X"])
    names["scanpy"].pp.neighbors(exact_cells, n_neighbors=15, use_rep="X")
    connectivities = names["cells"].obsp["connectivities"]
    expected = exact_cells.obsp["connectivities"]
    assert expected.nnz > 5000
    np.testing.assert_allclose(connectivities.toarray(), expected.toarray(), atol=1e-5)


def test_umap_has_the_weights_of_its_exact_search():
    names = run("umap.UMAP", "umap")
    umap = names["umap"]
    X = names["X"]
    reducer = names["reducer"]
    expected = umap.UMAP(n_neighbors=15, random_state=0).fit(X).graph_
    np.testing.assert_allclose(reducer.graph_.toarray(), expected.toarray(), atol=1e-5)
    distances, numbers = names["graph"].kneighbors(X, 15)
    without = umap.UMAP(n_neighbors=15, precomputed_knn=(numbers, distances), random_state=0).fit(X).graph_
    assert abs(without - expected).max() > 0.2  # as the page says


def test_opentsne_has_the_affinities_of_its_exact_search():
    names = run("KNNIndex", "openTSNE")
    expected = names["PerplexityBasedNN"](names["X"], perplexity=30, method="exact")
    assert abs(names["affinities"].P - expected.P).max() < 1e-16
    new = names["X"][:5] + 0.1
    affinities = names["affinities"].to_new(new, perplexity=5)
    assert abs(affinities - expected.to_new(new, perplexity=5)).max() < 1e-12
    assert names["picture"].shape == (500, 2)


def test_datalab_finds_the_issues_of_its_own_search():
    names = run("Datalab(", "cleanlab", "datasets")
    exact_lab = names["Datalab"]({"y": names["y"]}, label_name="y", verbosity=0)
    exact_lab.find_issues(features=names["X"])
    issues = names["lab"].get_issues()
    expected = exact_lab.get_issues()
    common = [column for column in issues.columns if column in expected.columns]
    assert {"outlier_score", "near_duplicate_score"} <= {*common}
    for column in common:
        np.testing.assert_allclose(issues[column].astype(float), expected[column].astype(float), atol=1e-9)


def test_great_circles():
    names = run("sphere")
    places = np.column_stack([names["latitude"], names["longitude"]])
    expected = 6371 * haversine_distances(places)
    np.fill_diagonal(expected, np.inf)
    np.testing.assert_array_equal(names["numbers"].ravel(), expected.argmin(axis=1))
    np.testing.assert_allclose(names["kilometres"].ravel(), expected.min(axis=1))


def test_programs_that_need_more_than_the_nearest_rows():
    """As the page says: the clusters of a graph of the nearest rows are others."""
    X = run("LocalOutlierFactor(")["X"]
    graph = ExactNeighborsTransformer(6).fit_transform(X)
    counts = []
    for model, rows in ((DBSCAN(eps=2.2, min_samples=6), X), (DBSCAN(2.2, min_samples=6, metric="precomputed"), graph)):
        counts.append(model.fit_predict(rows).max() + 1)
    assert counts == [2, 6]
    with pytest.raises(ValueError, match=r"symmetric|connected"):
        HDBSCAN(metric="precomputed", copy=True).fit(graph)


def test_mlflow_saves_and_loads_a_model_in_its_default_format(tmp_path):
    """As the documentation of `nmlsdr.model_file` says."""
    mlflow = pytest.importorskip("mlflow.sklearn")
    pytest.importorskip("skops")
    from nmlsdr import MultiLabelPropagation
    from nmlsdr.model_file import TRUSTED_TYPES

    X = np.random.default_rng(0).standard_normal((60, 4))
    model = MultiLabelPropagation().fit(X, (X[:, :2] > 0).astype(int))
    with warnings.catch_warnings(action="ignore"):
        mlflow.save_model(model, tmp_path / "model", skops_trusted_types=TRUSTED_TYPES)
        back = mlflow.load_model(str(tmp_path / "model"))
    assert (tmp_path / "model" / "model.skops").is_file()
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
