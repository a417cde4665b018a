"""The order of review by kind, and the displays: what they draw is what was computed."""

import warnings

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nmlsdr import NMLSDR, InputError, MLkNN, MultiLabelPropagation, ResidualPropagation
from nmlsdr.inspection import EmbeddingDisplay, _order, rank_suspects
from nmlsdr.inspection._review import KINDS

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def no_window():
    """Pictures without a display, and none left open."""
    from matplotlib import pyplot

    matplotlib.use("Agg")
    yield
    pyplot.close("all")


@pytest.fixture
def two_groups(rng):
    """60 rows in two groups, two labels; two wrong annotations (rows 3 and 40) and six unlabelled rows."""
    side = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 5)) + 6 * side[:, None]
    Y = np.column_stack([1 - side, side])
    Y[3] = [1, 1]
    Y[40] = [0, 0]
    Y[[10, 20, 29, 50, 55, 59]] = -1
    return X, Y


# ---------------------------------------------------------------- the order of review


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_kind_lists_its_annotations_once_and_in_order(data):
    n = data.draw(st.integers(1, 8))
    C = data.draw(st.integers(1, 4))
    # few distinct scores, so that ties are common
    scores = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=n * C, max_size=n * C)))
    scores = scores.reshape(n, C)
    Y = np.array(data.draw(st.lists(st.sampled_from([0, 1]), min_size=n * C, max_size=n * C))).reshape(n, C)
    labeled = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    labeled[0] = True  # a fit on nothing is refused
    lists = {kind: rank_suspects(scores, Y, kind=kind, labeled=labeled) for kind in ("all", *KINDS)}
    for kind, suspects in lists.items():
        pairs = list(zip(suspects.row.tolist(), suspects.label.tolist(), strict=True))
        expected_pairs = [
            (i, c) for i in range(n) for c in range(C) if labeled[i] and (kind == "all" or Y[i, c] == (kind == "wrong"))
        ]
        assert sorted(pairs) == expected_pairs
        ones = ((Y == 1) & labeled[:, None]).sum(axis=0)
        known_scores = scores * labeled[:, None]
        keys = [(-scores[i, c], ones[c], c, -known_scores[i].sum()) for i, c in pairs]
        assert keys == sorted(keys)  # by score; of equal ones the rarer label, then the row that is doubted most
        assert (suspects.given == Y[suspects.row, suspects.label]).all()
        assert (suspects.kind == np.where(suspects.given == 1, "wrong", "forgotten")).all()
    for kind in KINDS:
        alone = lists[kind]
        among = lists["all"]
        assert alone.rank.tolist() == list(range(1, len(alone.rank) + 1))
        mine = among.kind == kind
        assert among.rank[mine].tolist() == alone.rank.tolist()
        assert among.row[mine].tolist() == alone.row.tolist()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.sampled_from([1, 7, 1000]))
def test_the_first_are_the_beginning_of_the_whole_list_also_where_scores_are_equal(seed, n, block):
    rng = np.random.default_rng(seed)
    Y = rng.integers(-1, 2, (14, 4))
    scores = rng.choice([0.0, 0.2, 0.999, 1.0], (14, 4))
    Y[0, 0] = 0
    verdicts = rng.choice([-2, -1, -1, 0, 1, np.nan], Y.shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_order, "_BLOCK", block)
        suspects = rank_suspects(scores, Y, flip_rate=0.1, forget_rate=0.2, verdicts=verdicts, audit=seed % 3)
        for beginning, whole in zip(suspects.first(n), suspects, strict=True):
            assert beginning.dtype == whole.dtype
            assert beginning.tolist() == whole[:n].tolist()
    assert len(suspects.row) == ((Y != -1) & ((verdicts == -1) | np.isnan(verdicts))).sum()


def plain_audit(s, Y, kinds, r, h, verdicts, n_each):
    """The Notes of the docstring, entry by entry; no rate reaches 1 / (2 M), and no label is left out."""
    n, C = Y.shape
    e = 1 / (2 * np.sqrt((Y != -1).any(axis=1).sum()))
    clipped = np.clip(s, e, 1 - e)
    v = np.where(Y == 1, r, h) * clipped / (1 - clipped)
    ones = (Y == 1).sum(axis=0)
    doubt = np.where(Y == -1, 0, s).sum(axis=1)
    decided = np.argwhere((Y != -1) & (verdicts >= 0))
    at = tuple(decided.T)
    factors = reference.verdict_factors(v[at], Y[at], at[1], verdicts[at] != Y[at], C)
    key = v * factors[Y.clip(0), np.arange(C)]
    listed = [(i, c) for i in range(n) for c in range(C) if Y[i, c] in kinds and verdicts[i, c] == -1]
    listed.sort(key=lambda p: (-key[p], -s[p], ones[p[1]], p[1], -doubt[p[0]]))
    first = []
    for c in range(C):
        first += [p for p in listed if p[1] == c][: max(0, n_each - int((at[1] == c).sum()))]
    unaudited = [p for p in listed if p not in first]
    return [p for p in listed if p in first] + unaudited, len(first), v


def test_verdicts_weigh_kinds_and_labels_as_the_twin_does(rng):
    """Golden numbers of the definition, then the twin on other draws; a label without a verdict has no effect."""
    golden = np.random.default_rng(0)
    v = golden.exponential(0.5, 400)
    kind = golden.random(400) < 0.4
    label = golden.integers(0, 6, 400)
    wrong = golden.random(400) < v / (1 + v) * np.where(kind, 0.5, 1) * np.where(label == 2, 0.3, 1)
    checked = slice(0, 60)
    factors = _order.weigh_verdicts(v[checked], kind[checked], label[checked], wrong[checked], 6)
    expected = [
        [2.314321, 0.519662, 0.471971, 0.891617, 0.750283, 0.672773],
        [1.839237, 0.412985, 0.375085, 0.708586, 0.596265, 0.534666],
    ]
    np.testing.assert_allclose(factors, expected, atol=5e-7)
    for n in (1, 7, 300):
        draw = (np.exp(rng.normal(0, 3, n)), rng.random(n) < 0.3, rng.integers(0, 8, n), rng.random(n) < 0.5)
        factors = _order.weigh_verdicts(*draw, 9)
        np.testing.assert_allclose(factors, reference.verdict_factors(*draw, 9), rtol=1e-9)
        assert factors[0, 8] / factors[1, 8] == pytest.approx(factors[0, 0] / factors[1, 0])


def noisy_scores(rng, n=2000, C=5):
    """Scores of given labels, a third of which are 1, without a tie."""
    return rng.random((n, C)) ** 3, (rng.random((n, C)) < 0.3).astype(int)


def test_kinds_take_turns_if_scores_at_the_clip_fill_the_page(rng):
    """All 1s have the same largest score, and few of them can be wrong: half of the first page are missing labels."""
    s, Y = noisy_scores(rng)
    s[Y == 1] = 1.0
    options = {"flip_rate": 0.02, "forget_rate": 0.1}
    first = rank_suspects(s, Y, **options).first(400)
    assert first.kind.tolist() == ["forgotten", "wrong"] * 200
    for kind in KINDS:
        alone = rank_suspects(s, Y, kind=kind, **options).first(200)
        mine = first.kind == kind
        assert first.row[mine].tolist() == alone.row.tolist()
        assert first.rank[mine].tolist() == list(range(1, 201))
    rare = np.argsort(Y.sum(axis=0), kind="stable")
    assert first.label[first.given == 1].tolist() == [rare[0]] * 200  # of equal scores the rarest label
    options["flip_rate"] = 0.1
    s[Y == 1] = rng.random(int(Y.sum()))
    assert (rank_suspects(s, Y, **options).first(100).given == 1).mean() > 0.5
    order = rank_suspects(s, Y, **options)
    assert len(set(zip(order.row, order.label, strict=True))) == Y.size


@pytest.mark.parametrize(("value", "share", "turns"), [(1, 0.09, True), (1, 0.11, False), (0, 0.11, True)])
def test_tied_1s_come_first_if_the_rates_say_that_many_1s_are_wrong(rng, value, share, turns):
    """`share` of the given 1s is estimated to be wrong; tied 0s take turns whatever the rates say."""
    s, Y = noisy_scores(rng)
    s[value == Y] = 1.0
    Y[:, 0] = -1
    known = Y != -1
    rate = share * (Y == 1).sum() / (Y == 0).sum()
    kinds = rank_suspects(s, Y, flip_rate=rate, forget_rate=rate).first(60).kind.tolist()
    assert known.sum() == 8000
    assert kinds == (["forgotten", "wrong"] * 30 if turns else ["wrong"] * 60)


def test_equal_scores_are_ordered_by_content_and_not_by_row(rng):
    s = rng.choice([0.0, 0.25, 1.0], (60, 4))
    Y = rng.integers(-1, 2, s.shape)
    shuffled = rng.permutation(60)
    for options in ({}, {"flip_rate": 0.1, "forget_rate": 0.2}, {"flip_rate": 0.1, "forget_rate": 0.2, "audit": 3}):
        before = rank_suspects(s, Y, **options)
        after = rank_suspects(s[shuffled], Y[shuffled], **options)
        assert before.label.tolist() == after.label.tolist()
        contents = np.column_stack([np.where(Y == -1, 0, s), Y])
        np.testing.assert_array_equal(contents[before.row], contents[shuffled][after.row])


@pytest.mark.parametrize(("forget_rate", "turns"), [(0.0002, False), (0.005, True), (0.9, False)])
def test_kinds_take_turns_if_the_rates_are_not_sure(rng, forget_rate, turns):
    """Few errors do not tell two rates apart; a ratio far from 1 is sure, and so is a list after a verdict."""
    s = rng.random((2500, 2))
    Y = (rng.random(s.shape) < 0.5).astype(int)
    options = {"flip_rate": 0.005, "forget_rate": forget_rate}
    kinds = rank_suspects(s, Y, **options).first(60).kind.tolist()
    assert (kinds == ["forgotten", "wrong"] * 30) == turns
    verdicts = np.full(Y.shape, -1)
    last = np.unravel_index(s.argmin(), s.shape)
    verdicts[last] = Y[last]
    kinds = rank_suspects(s, Y, verdicts=verdicts, audit=1, **options).first(60).kind.tolist()
    assert kinds != ["forgotten", "wrong"] * 30
    assert rank_suspects(s[:2499], Y[:2499], **options).first(60).kind.tolist() != ["forgotten", "wrong"] * 30


@pytest.mark.parametrize("n_each", [1, 5])
@pytest.mark.parametrize("kind", ["all", "wrong"])
def test_an_audit_comes_first_and_verdicts_order_the_others(rng, n_each, kind):
    for _ in range(20):
        s = rng.random((30, 4)) ** 2
        Y = rng.integers(-1, 2, (30, 4))
        verdicts = np.where(rng.random(Y.shape) < 0.1, rng.choice([-2, 0, 1], Y.shape), -1)
        verdicts[:, 3] = -1
        Y[0, 0] = 0
        verdicts[0, 0] = 1  # before the first verdict, kinds may take turns
        suspects = rank_suspects(s, Y, kind=kind, flip_rate=0.1, forget_rate=0.3, verdicts=verdicts, audit=n_each)
        kinds = (0, 1) if kind == "all" else (1,)
        expected_pairs, n_first, v = plain_audit(s, Y, kinds, 0.1, 0.3, verdicts, n_each)
        assert list(zip(suspects.row.tolist(), suspects.label.tolist(), strict=True)) == expected_pairs
        assert suspects.audit.tolist() == [True] * n_first + [False] * (len(expected_pairs) - n_first)
        np.testing.assert_allclose(suspects.score, [v[p] for p in expected_pairs], rtol=1e-12)  # without the factors


def test_after_a_fit_with_verdicts_its_scores_are_turned_to_those_against_the_labels_as_given(rng):
    """The fit's scores are against the verdicts, and a verdict counts by how doubtful the given label was."""
    Y = (rng.random((120, 3)) < 0.4).astype(int)
    X = 2 * Y + rng.normal(size=Y.shape)
    noisy_labels = np.where(rng.random(Y.shape) < 0.15, 1 - Y, Y)
    verdicts = np.where((noisy_labels != Y) & (rng.random(Y.shape) < 0.5), Y, -1)
    model = ResidualPropagation(n_neighbors=5, n_estimators=0).fit(X, noisy_labels, verdicts=verdicts)
    s = np.where(verdicts == -1, model.flip_scores_, 1 - model.flip_scores_)
    expected_pairs, *_ = plain_audit(s, noisy_labels, (0, 1), model.flip_rate_, model._forget_rate, verdicts, 2)
    suspects = rank_suspects(model, noisy_labels, verdicts=verdicts, audit=2)
    assert list(zip(suspects.row.tolist(), suspects.label.tolist(), strict=True)) == expected_pairs


def test_a_label_full_of_mistakes_is_found_by_its_audit(rng):
    """No score tells label 2 from the others: each has 60 entries with a flip score of .5, and its are wrong."""
    s = np.where(np.arange(600)[:, None] < 60, 0.5, 0.01) * np.ones(15)
    Y = np.zeros((600, 15), dtype=int)
    truth = Y.copy()
    truth[:60, 2] = 1
    verdicts = np.full(Y.shape, -1)
    for audit, largest_count in ((0, 15), (5, 60)):  # of equal entries a part
        first = rank_suspects(s, Y, flip_rate=0.1, forget_rate=0.1, audit=audit).first(75)
        verdicts[first.row, first.label] = truth[first.row, first.label]
        assert first.audit.all() == (audit > 0)
        suspects = rank_suspects(s, Y, flip_rate=0.1, forget_rate=0.1, verdicts=verdicts, audit=audit).first(60)
        assert truth[suspects.row, suspects.label].sum() <= largest_count
        verdicts[:] = -1
    assert truth[suspects.row, suspects.label].sum() == 55  # all but those of the audit
    assert not suspects.audit.any()


def test_an_audit_concerns_25_labels_with_the_most_doubtful_entries_and_250_entries():
    s = np.full((20, 100), 0.1)
    Y = np.zeros((20, 100))
    s[:, 30:80] = 0.2
    suspects = rank_suspects(s, Y, audit=5)
    assert sorted(suspects.label[suspects.audit].tolist()) == np.repeat(np.arange(30, 55), 5).tolist()
    suspects_of_25_labels = rank_suspects(s[:, :25], Y[:, :25], audit=5)
    assert suspects_of_25_labels.audit.sum() == 125
    assert rank_suspects(s[:, :25], Y[:, :25], audit=20).audit.sum() == 240  # whole labels only
    verdicts = np.full(Y.shape, -1)
    verdicts[:5, :24] = 0
    suspects = rank_suspects(s, Y, verdicts=verdicts, audit=5)  # one label is left to audit
    assert suspects.label[suspects.audit].tolist() == [30] * 5
    verdicts[:5, 30] = 0
    assert not rank_suspects(s, Y, verdicts=verdicts, audit=5).audit.any()


def test_forgotten_labels_lead_their_own_list(rng):
    """Where a third of the 1s are forgotten, the list of given 0s begins with them."""
    X = np.repeat(rng.normal(size=(12, 4)) * 10, 20, axis=0) + rng.normal(size=(240, 4))
    truth = np.repeat(np.eye(12, dtype=int), 20, axis=0)
    forgotten = (truth == 1) & (rng.random(truth.shape) < 0.35)
    given_labels = np.where(forgotten, 0, truth)
    scores = MultiLabelPropagation(8).fit(X, given_labels).flip_scores_
    suspects = rank_suspects(scores, given_labels, kind="forgotten").first(int(forgotten.sum()))
    assert forgotten[suspects.row, suspects.label].mean() > 0.9


@pytest.mark.parametrize(
    ("scores", "y", "options", "words"),
    [
        ([[0.5, 0.1]], [[1, 0]], {"kind": "x"}, 'kind must be "all", "forgotten" or "wrong", got .x.'),
        ([[0.5, 0.1]], [[1, 0]], {"flip_rate": 0.1}, "flip_rate and forget_rate belong together"),
        ([[0.5, 0.1]], [[1, 0]], {"flip_rate": 0.4, "forget_rate": 0.1}, r"flip_rate must be a number in \[0, 0.3\]"),
        ([[0.5, 0.1]], [[1, 0]], {"flip_rate": 0.1, "forget_rate": 1.1}, r"forget_rate must be a number in \[0, 1\]"),
        ([[0.5, 0.1]], [[1, 0]], {"audit": -1}, "audit must be an integer of at least 0, got -1"),
        ([[0.5, 0.1]], [[1, 0]], {"verdicts": [1, 0]}, r"verdicts must have the shape .* \(1, 2\), got \(2,\)"),
        ([[0.5]], [[1, 0]], {}, r"shape of the labels, \(1, 2\), got \(1, 1\)"),
        ([[0.5, np.nan]], [[1, 0]], {}, r"flip_scores must lie in \[0, 1\], got nan in row 0, label 1"),
        ([[0.5, 0.1], [-3, 5]], [[1, 0], [1, 0]], {}, r"flip_scores must lie in \[0, 1\], got -3 in row 1, label 0"),
        ([[0.5, np.inf]], [[1, 0]], {}, "got inf in row 0, label 1"),
        ([[1, 0], [-1, -1]], [[0.9, 0.2], [0, 0]], {}, "flip_scores holds 0, 1 and -1, y holds fractions"),
        ([{"flu"}, {"cold"}], [[0.9, 0.2], [0, 0]], {}, "flip_scores must hold numbers, got .{'flu'}, .*scores first"),
        (StandardScaler(), [[1, 0]], {}, "StandardScaler has no flip_scores_; pass a fitted ResidualPropagation"),
        (MultiLabelPropagation(), [[1, 0]], {}, "MultiLabelPropagation has no flip_scores_"),
    ],
)
def test_invalid_arguments_raise_a_clear_error(scores, y, options, words):
    with pytest.raises(InputError, match=words):
        rank_suspects(scores, y, **options)


def test_a_fitted_estimator_stands_for_its_scores_and_its_rates(two_groups):
    X, Y = two_groups
    pipeline = make_pipeline(StandardScaler(), ResidualPropagation(n_estimators=5)).fit(X, Y)
    step = pipeline[-1]
    expected = rank_suspects(step.flip_scores_, Y, flip_rate=step.flip_rate_, forget_rate=step._forget_rate)
    for model in (step, pipeline):
        for column, expected_column in zip(rank_suspects(model, Y), expected, strict=True):
            np.testing.assert_array_equal(column, expected_column)
    model_without_rates = MultiLabelPropagation().fit(X, Y)  # which has no rates
    for column, expected_column in zip(
        rank_suspects(model_without_rates, Y), rank_suspects(model_without_rates.flip_scores_, Y), strict=True
    ):
        np.testing.assert_array_equal(column, expected_column)


def test_scores_of_fractions_of_votes_are_no_labels():
    """A score |F - Y| is 1 only of a label 0 or 1; other scores 0 and 1 stay scores."""
    assert rank_suspects([[0.0, 0.0]], [[0.3, 1.0]]).score.tolist() == [0, 0]
    assert rank_suspects([[1.0, 0.0]], [[0.0, 1.0]]).score.tolist() == [1, 0]


def test_suspects_as_columns_and_as_text():
    suspects = rank_suspects([[0.9, 0.25, 0.71234]], [[1, 0, 0]])
    expected = {"row": [0, 0, 0], "label": [0, 2, 1], "given": [1, 0, 0], "score": [0.9, 0.71234, 0.25],
                "kind": ["wrong", "forgotten", "forgotten"], "rank": [1, 1, 2], "audit": [False] * 3}  # fmt: skip
    assert {name: getattr(suspects, name).tolist() for name in expected} == expected
    assert [len(values) for values in suspects] == [3] * 8
    with pytest.raises(AttributeError, match="no attribute 'rows'; they have row, label, given"):
        suspects.rows
    assert repr(suspects).splitlines()[:2] == [
        "3 of 3 annotations",
        "".join(f"{name:>12}" for name in suspects._fields),
    ]
    assert repr(suspects).splitlines()[3].split() == ["0", "2", "0", "0.712", "forgotten", "1", "1.0", "False"]
    suspect_lines = repr(rank_suspects(np.full((1, 40), 0.5), np.zeros((1, 40)))).splitlines()
    assert suspect_lines[0] == "10 of 40 annotations"
    assert len(suspect_lines) == 12


def test_scores_of_unknown_labels_do_not_matter():
    assert rank_suspects([[0.5, np.nan], [0.9, 1.0]], [[1, -1], [0, 1]]).score.tolist() == [1.0, 0.9, 0.5]


# ---------------------------------------------------------------- the embedding


def test_the_embedding_is_that_of_the_estimator(two_groups):
    X, Y = two_groups
    model = make_pipeline(StandardScaler(), NMLSDR(2, n_neighbors=5)).fit(X, Y)
    display = EmbeddingDisplay.from_estimator(model, X, Y)
    drawn = np.vstack([np.asarray(s.get_offsets()) for s in display.scatters_])
    expected_embedding = model.transform(X)
    assert drawn[np.lexsort(drawn.T)] == pytest.approx(expected_embedding[np.lexsort(expected_embedding.T)])
    names = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert names == ["label 0 + label 1 (1)", "label 0 (26)", "label 1 (26)", "no label (1)", "unlabelled (6)"]
    assert "of the dependence)" in display.ax_.get_xlabel()
    assert display.figure_ is display.ax_.figure


def test_a_classifier_at_the_end_is_left_out(two_groups):
    X, Y = two_groups
    model = make_pipeline(NMLSDR(1, n_neighbors=5), MLkNN(5)).fit(X, Y)
    display = EmbeddingDisplay.from_estimator(model, X, Y)
    assert display.points.shape == (60, 1)
    assert "separate the points" in display.ax_.get_ylabel()


@pytest.mark.parametrize("color_by", [1, "cold"])
def test_the_colours_of_one_label_show_where_it_was_given(two_groups, color_by):
    pandas = pytest.importorskip("pandas")
    X, Y = two_groups
    frame = pandas.DataFrame(Y, columns=["flu", "cold"])
    display = EmbeddingDisplay.from_estimator(NMLSDR(n_neighbors=5).fit(X, frame), X, frame, color_by=color_by)
    assert [(name, int(rows.sum())) for name, rows in display.groups] == [
        ("cold", 27),
        ("not given", 27),
        ("unlabelled", 6),
    ]


def test_suspects_are_ringed_and_never_thinned_away(two_groups, monkeypatch):
    X, Y = two_groups
    monkeypatch.setattr("nmlsdr.inspection._embedding._MAX_POINTS", 10)
    model = NMLSDR(2, n_neighbors=5).fit(X, Y)
    display = EmbeddingDisplay.from_estimator(model, X, Y, suspects=np.isin(np.arange(60), [3, 40]))
    assert np.asarray(display.rings_.get_offsets()) == pytest.approx(model.transform(X)[[3, 40]])
    drawn = sum(len(s.get_offsets()) for s in display.scatters_)
    assert 10 <= drawn <= 12
    assert display.ax_.get_title() == f"{drawn} of 60 rows"
    again = display.plot()
    assert sum(len(s.get_offsets()) for s in again.scatters_) == drawn


def test_axes_of_the_caller_are_drawn_on(two_groups):
    from matplotlib.figure import Figure

    X, Y = two_groups
    ax = Figure().add_subplot()
    model = NMLSDR(2, n_neighbors=5).fit(X, Y)
    assert EmbeddingDisplay.from_estimator(model, X, ax=ax, s=3).ax_ is ax
    assert ax.get_legend() is None  # one colour needs no legend


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"color_by": 2}, "color_by=2 is above 1"),
        ({"color_by": "flu"}, "color_by='flu' is no label; the labels are label 0, label 1"),
        ({"suspects": [3, 40]}, "suspects must be a boolean array"),
        ({"suspects": [True]}, r"suspects must be a boolean array of shape \(60,\), got shape \(1,\)"),
    ],
)
def test_an_impossible_plot_raises_a_clear_error(two_groups, options, words):
    X, Y = two_groups
    model = NMLSDR(2, n_neighbors=5).fit(X, Y)
    with pytest.raises(InputError, match=words):
        EmbeddingDisplay.from_estimator(model, X, Y, **options)


def test_an_estimator_without_transform_raises_a_clear_error(two_groups):
    X, Y = two_groups
    with pytest.raises(InputError, match="MLkNN has no transform"):
        EmbeddingDisplay.from_estimator(MLkNN(5).fit(X, Y), X, Y)


def test_names_are_drawn_as_they_are(two_groups):
    """No formula between dollars, and no name that a leading _ hides from the legend."""
    pandas = pytest.importorskip("pandas")
    X, Y = two_groups
    frame = pandas.DataFrame(Y, columns=[r"$\frac{$", "_hidden"])
    display = EmbeddingDisplay.from_estimator(NMLSDR(2, n_neighbors=5).fit(X, frame), X, frame)
    with warnings.catch_warnings(action="error"):
        display.figure_.canvas.draw()
    assert any("_hidden" in t.get_text() for t in display.ax_.get_legend().get_texts())


# ---------------------------------------------------------------- the list


@pytest.mark.parametrize("partly", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_score_is_the_odds_times_the_rate_of_the_mistake(partly, kind, rng):
    """The formula of the docstring, entry by entry; M counts known entries, l the rows with one."""
    s = rng.choice([0.0, 0.01, 0.3, 0.6, 0.995, 1.0], (40, 3))
    Y = rng.integers(-1 if partly else 0, 2, (40, 3))
    Y[30:] = -1
    known = Y != -1
    l = int((Y != -1).any(axis=1).sum())
    M = int(known.sum())
    e = 1 / (2 * np.sqrt(l))
    for r, h in ((0.1, 0.02), (0.0, 0.3), (0.2, 0.0)):
        suspects = rank_suspects(s, Y, kind=kind, flip_rate=r, forget_rate=h)
        clipped = np.minimum(np.maximum(s, e), 1 - e)
        score = np.where(Y == 1, max(r, 1 / (2 * M)), max(h, 1 / (2 * M))) * clipped / (1 - clipped)
        pairs = [(i, c) for i in range(40) for c in range(3) if known[i, c] and Y[i, c] == (kind == "wrong")]
        ones = ((Y == 1) & known).sum(axis=0)
        listed = list(zip(suspects.row.tolist(), suspects.label.tolist(), strict=True))
        assert sorted(listed) == pairs
        keys = [(-score[p], -s[p], ones[p[1]], p[1], -(s * known)[p[0]].sum()) for p in listed]
        assert keys == sorted(keys)
        np.testing.assert_allclose(suspects.score, [score[p] for p in listed], rtol=1e-12)


def test_what_happens_more_often_comes_first():
    scores = np.zeros((100, 3))
    y = np.tile([1, 0, 0], (100, 1))
    scores[0] = 0.9, 0.9, 0.7
    assert rank_suspects(scores, y, flip_rate=0.2, forget_rate=0.1).first(3).label.tolist() == [0, 1, 2]
    assert rank_suspects(scores, y, flip_rate=0.1, forget_rate=0.2).first(3).label.tolist() == [1, 0, 2]
    assert rank_suspects(scores, y, flip_rate=0.01, forget_rate=0.2).first(3).label.tolist() == [1, 2, 0]


def test_classes_are_listed_by_their_scores():
    """A wrong class is a wrong 1 and a forgotten one."""
    suspects = rank_suspects([[0.9, 0.2], [0.3, 0.6]], ["a", "b"], flip_rate=0.0, forget_rate=0.0)
    assert suspects.score.tolist() == [0.9, 0.6, 0.3, 0.2]


def test_the_colour_of_a_label_leaves_rows_grey_whose_label_is_unknown(rng):
    X = rng.normal(size=(6, 3))
    Y = np.array([[1, 1], [0, 1], [1, 0], [0, -1], [1, -1], [-1, -1]])
    display = EmbeddingDisplay.from_estimator(NMLSDR(1, n_neighbors=3).fit(X, Y), X, Y, color_by=1)
    assert [(name, np.flatnonzero(rows).tolist()) for name, rows in display.groups] == [
        ("label 1", [0, 1]),
        ("not given", [2]),
        ("unlabelled", [3, 4, 5]),
    ]


def test_suspects_are_columns_and_those_of_other_labels_are_refused(rng):
    X = rng.standard_normal((60, 4))
    every = (X[:, :2] > 0).astype(int)
    y = every.copy()
    y[30:] = -1
    model = ResidualPropagation().fit(X, y)
    suspects = rank_suspects(model, y)
    assert len(suspects.first(7).row) == 7
    with pytest.raises(TypeError, match=r"first\(n\) gives the first n"):
        suspects[:7]
    with pytest.raises(ValueError, match="y has 60 labelled rows, the fit had 30; give the y of the fit"):
        rank_suspects(model, every)
    with pytest.raises(ValueError, match="give the fitted estimator first"):
        rank_suspects(y, model)
