"""Data sets: the synthetic Toy set, the article's benchmarks, a simulated cohort, label noise and missing labels.

Loaders return a Bunch with data, target, test_data, test_target, feature_names, label_names and DESCR: raw feature
values and true labels. An unlabelled row is a row of -1 in the labels.
"""

from ._catalog import dataset_info, fetch_dataset, list_datasets, verify_dataset
from ._cohort import make_cohort
from ._mulan import load_mulan, paper_split
from ._toy import flip_labels, make_toy, mask_labels

__all__ = [
    "dataset_info",
    "fetch_dataset",
    "flip_labels",
    "list_datasets",
    "load_mulan",
    "make_cohort",
    "make_toy",
    "mask_labels",
    "paper_split",
    "verify_dataset",
]
