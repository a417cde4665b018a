"""The simulated cohort and the labelling rules, code by code against the table printed in the article."""

import numpy as np
import pytest

from nmlsdr.datasets import make_cohort
from nmlsdr.datasets._cohort import apply_rules, load_rules


def words(text):
    return text.split()


# Typed from the article's table, line by line, C01BA twice as printed.
HYPERTENSION_ATC = words("""
C01AA C01BA C01BA C01BC C01BD C01CA C01CB C01CX C01DA C01DX C01EB C02AB C02AC C02CA C02DB C02DC
C02DD C02K C02LC C03AA C03AX C03BA C03CA C03DA C03EA C03EB C04AD C04AE C04AX C05AA C05AD C05AE
C05AX C05BA C05BB C05BX C05CA C05CX C07AA C07AB C07AG C07B C07G C07D C07E C07X C08CA C08DA C08DB
C08GA C09AA C09BA C09BB C09CA C09DA C09DB C09XA C10AA C10AB C10AC C10AD C10AX C10BA C10BX
""")
HYPERTENSION_ICD = ["362", "401", "402", "403", "404", "405", "760"]
DIABETES_ATC = words("A10AB A10AC A10AD A10AE A10AF A10BA A10BB A10BD A10BFM A10BGM A10BH A10BX")
DIABETES_ICD = ["250", "588", "648", "775"]
CORE = ["401", "402", "403", "404", "405"]

HEALTHY = [1, 0, 0]
HYPERTENSION = [0, 1, 0]
DIABETES = [0, 0, 1]
BOTH = [0, 1, 1]
NONE = [-1, -1, -1]
TABLE = {
    **{f"ATC:{code}": "hypertension" for code in HYPERTENSION_ATC},
    **{f"ICD9:{code}": "hypertension" for code in HYPERTENSION_ICD},
    **{f"ATC:{code}": "diabetes" for code in [*DIABETES_ATC, "A10BF", "A10BG"]},
    **{f"ICD9:{code}": "diabetes" for code in DIABETES_ICD},
}


def label(*names):
    return apply_rules(np.ones((1, len(names))), names)[0].tolist()


def test_table_has_the_printed_codes():
    sets = load_rules()["code_sets"]
    assert len(HYPERTENSION_ATC) == 64
    assert set(sets["hypertension indicator"]["ATC"]) == set(HYPERTENSION_ATC)
    assert len(sets["hypertension indicator"]["ATC"]) == 63
    assert sets["hypertension indicator"]["ICD9"] == HYPERTENSION_ICD
    assert sets["diabetes indicator"] == {"ICD9": DIABETES_ICD, "ATC": DIABETES_ATC}
    assert sets["hypertension diagnosis"] == {"ICD9": CORE}
    assert sets["diabetes diagnosis"] == {"ICD9": ["250"]}


@pytest.mark.parametrize("name", sorted(TABLE))
def test_each_code_of_the_table(name):
    code = name.partition(":")[2]
    disease = TABLE[name]
    core = code in CORE or code == "250"
    # alone: the disease if it is a core diagnosis, else no label
    assert label(name) == ({"hypertension": HYPERTENSION, "diabetes": DIABETES}[disease] if core else NONE)
    # beside the core diagnosis of the same disease it changes nothing
    assert label(name, "ICD9:401" if disease == "hypertension" else "ICD9:250") == (
        HYPERTENSION if disease == "hypertension" else DIABETES
    )
    # beside the core diagnosis of the other disease: both if it is a core diagnosis, else no label
    assert label(name, "ICD9:250" if disease == "hypertension" else "ICD9:401") == (BOTH if core else NONE)
    # with both core diagnoses: both
    assert label(name, "ICD9:250", "ICD9:403") == BOTH
    # in the other coding system the same characters mean nothing
    other_system = {"ATC": "ICD9", "ICD9": "ATC"}[name.partition(":")[0]]
    assert label(f"{other_system}:{code}") == HEALTHY


@pytest.mark.parametrize(
    "name",
    [
        "ATC:C01AB",
        "ATC:C03",
        "ATC:C02L",
        "ATC:A10B",
        "ATC:A10BG2",
        "ATC:C07",
        "ATC:N02BE",
        "ICD9:400",
        "ICD9:406.9",
        "ICD9:V25.0",
        "ICD9:E401.9",
        "ICD9:25",
        "ICD9:2",
        "ICD9:361.0",
        "ICD9:649",
        "ATC:C09AA05",
    ],
)
def test_codes_outside_the_table_have_no_effect(name):
    assert label(name) == HEALTHY


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ATC:C02KX", NONE),
        ("ATC:C02KX01", NONE),
        ("ATC:C07BB", NONE),
        ("ATC:C07XA", NONE),
        ("ICD9:401.9", HYPERTENSION),
        ("ICD9:4019", HYPERTENSION),
        ("icd9:402.91", HYPERTENSION),
        ("ICD9:250.02", DIABETES),
        ("ICD9: 250.02", DIABETES),
        ("ICD9:362.01", NONE),
        ("ATC:c09aa", NONE),
    ],
)
def test_short_codes_match_by_prefix(name, expected):
    assert label(name) == expected


def test_a_patient_without_codes_is_healthy_and_counts_do_not_matter():
    labels = apply_rules([[0, 0], [7, 0], [0, 1]], ["ICD9:250.00", "ICD9:405"])
    assert labels.tolist() == [HEALTHY, DIABETES, HYPERTENSION]


def test_rules_name_code_sets_and_labels_that_there_are():
    rules = load_rules()
    for rule in rules["rules"]:
        assert {*rule["all_of"], *rule["none_of"]} <= {*rules["code_sets"]}
        assert {*rule["labels"]} <= {*rules["labels"]}


@pytest.fixture(scope="module", params=[0, 1, 2])
def cohort(request):
    return make_cohort(random_state=request.param)


@pytest.mark.quick_cases("0")
def test_cohort_has_the_article_s_sizes(cohort):
    assert cohort.data.shape == (6932, 455)
    assert cohort.test_data.shape == (1732, 455)
    assert sum(name.startswith("ICD9:") for name in cohort.feature_names) == 267
    assert sum(name.startswith("ATC:") for name in cohort.feature_names) == 188
    assert len(set(cohort.feature_names)) == 455
    assert ((cohort.data > 0).sum(axis=0) >= 10).all()
    target = np.vstack([cohort.target, cohort.test_target])
    for group in (HEALTHY, HYPERTENSION, DIABETES, BOTH):
        assert (target == group).all(axis=1).sum() == 2166
    assert "SIMULATED" in cohort.DESCR


@pytest.mark.quick_cases("0")
def test_rules_label_about_as_many_as_in_the_article(cohort):
    labels = cohort.rule_target
    unlabeled = (labels == -1).all(axis=1)
    have_both = (labels[:, 1] == 1) & (labels[:, 2] == 1)
    counts = [*(labels == 1).sum(axis=0), have_both.sum(), unlabeled.sum()]
    np.testing.assert_allclose(counts, [1734, 2547, 1971, 1302, 1982], rtol=0.05)
    wrong = (labels != cohort.target)[~unlabeled].mean()
    assert 0.03 < wrong < 0.1  # noisy, but no more than the 10 % flips of the Toy set


@pytest.mark.quick_cases("0")
def test_cohort_is_reproducible_and_seeds_differ(cohort):
    first = make_cohort(random_state=5, n_per_group=500)
    second = make_cohort(random_state=5, n_per_group=500)
    np.testing.assert_array_equal(first.data, second.data)
    np.testing.assert_array_equal(first.rule_target, second.rule_target)
    assert first.feature_names == second.feature_names
    assert not np.array_equal(first.target, make_cohort(random_state=6, n_per_group=500).target)


@pytest.mark.parametrize("size", [499, 600.0, True, None])
def test_bad_size_is_refused(size):
    with pytest.raises(ValueError, match="n_per_group"):
        make_cohort(n_per_group=size)
