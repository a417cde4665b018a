"""Data sets: the synthetic Toy set, the article's benchmarks, a simulated cohort, label noise and missing labels.

Loaders return a Bunch with data, target, test_data, test_target, feature_names, label_names and DESCR: raw feature
values and true labels. An unlabelled row is a row of -1 in the labels.
"""

from ._catalog import dataset_info, fetch_dataset, list_datasets, verify_dataset  # noqa: F401
from ._cohort import make_cohort  # noqa: F401
from ._mulan import load_mulan, paper_split  # noqa: F401
from ._toy import flip_labels, make_toy, mask_labels

# What users import; the other names are for the experiments and the command line.
__all__ = ["flip_labels", "load_mulan", "make_toy", "mask_labels"]
