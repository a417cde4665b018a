"""Data: the synthetic Toy set, readers of files, label noise and missing labels.

Loaders return a Bunch with data, target, test_data, test_target, feature_names, label_names and DESCR, raw
values and true labels; an unlabelled row of labels is a row of -1.
"""

from ._cohort import make_cohort
from ._noise import flip_labels, mask_labels
from ._rules import apply_rules, load_rules
from ._tables import DataFileError, read_table
from ._toy import make_toy

__all__ = [
    "DataFileError",
    "apply_rules",
    "flip_labels",
    "load_rules",
    "make_cohort",
    "make_toy",
    "mask_labels",
    "read_table",
]
