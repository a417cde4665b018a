"""Data: the synthetic Toy set, the article's benchmarks, readers of files and raw tables, label noise and missing
labels.

Loaders return a Bunch with data, target, test_data, test_target, feature_names, label_names and DESCR: raw feature
values and true labels. An unlabelled row is a row of -1 in the labels.
"""

from ._catalog import fetch_dataset
from ._cohort import make_cohort
from ._encoder import TableEncoder
from ._files import DataFileError
from ._mulan import load_mulan
from ._noise import flip_labels, mask_labels
from ._paper import paper_split
from ._tables import read_table
from ._toy import make_toy

__all__ = [
    "DataFileError",
    "TableEncoder",
    "fetch_dataset",
    "flip_labels",
    "load_mulan",
    "make_cohort",
    "make_toy",
    "mask_labels",
    "paper_split",
    "read_table",
]
