"""The article's train and test sets (section 4.5), from Mulan's original files."""

import numpy as np
from sklearn.utils import Bunch

from ._catalog import dataset_info, find_file
from ._files import DataFileError, Path_
from ._mulan import load_mulan

DESCRIPTION = """\
{name} ({subject}), {train} train and {test} test rows, {attributes} features, {labels} labels: the split of
Mikalsen et al., "Noisy multi-label semi-supervised dimensionality reduction", section 4.5.
Raw values and true labels.  From the official files{swap}{first}{drop}; attributes that are constant on train and
labels without a positive on train are dropped.  See {home}.
"""


def paper_split(name: str, data_home: Path_ | None = None) -> Bunch:
    """Return the training and test set that the article uses of one of the nine Mulan data sets, raw values.

    The following rules, in this order, give the article's numbers of rows, attributes and labels exactly for all
    nine:

    1. The official training and test files are used. Those of Medical are swapped. Of Tmc2007 the first 3000 training
       rows are used.
    2. The attribute ``protein`` of Genbase, a row name, is left out.
    3. Attributes that are constant on the training rows are left out.
    4. Labels that no training row has are left out, also from the test rows.
    5. Nominal attributes are read as their numeric codes, {YES,NO} as 1/0, without one-hot coding.
    6. The values are not standardised. The article standardises them by the mean and standard deviation of the
       training rows.

    Parameters
    ----------
    name : str
        Birds, Corel, Emotions, Enron, Genbase, Medical, Scene, Tmc2007 or Yeast, in upper or lower case, or the name
        of its folder (corel16k001, tmc2007-500).
    data_home : path, default=None
        Folder that contains one folder for each data set. None: the environment variable NMLSDR_DATA if it is set,
        otherwise ~/nmlsdr_data. Files may be plain or gzipped.

    Returns
    -------
    Bunch
        data, test_data : ndarray of shape (n_rows, n_features), float64
            Features; dense also if the files are sparse.
        target, test_target : ndarray of shape (n_rows, n_labels), int64
            Labels 0/1, in the order of columns of the ARFF files.
        feature_names, label_names : list of str
            Names of features and labels, in the order of the columns.
        DESCR : str
            Description of what was read.

    Raises
    ------
    DataFileError
        If the name is unknown, or a file is missing (the message says which, and where to put it) or cannot be read.

    See Also
    --------
    fetch_dataset : Download the files.
    make_toy : The tenth data set of the article's benchmark.

    Notes
    -----
    The article does not say which 3000 training rows of Tmc2007 it drew. Its 7077 test rows are all of them.

    Examples
    --------
    >>> from nmlsdr.datasets import paper_split
    >>> emotions = paper_split("emotions")  # doctest: +SKIP
    >>> emotions.data.shape, emotions.test_data.shape  # doctest: +SKIP
    ((391, 72), (202, 72))
    """
    info = dataset_info(name)
    rules = info["rules"]
    roles = ("test", "train") if rules.get("swap") else ("train", "test")
    train_file, test_file, xml = (find_file(name, role, data_home) for role in (*roles, "labels"))
    drop = rules.get("drop", [])
    train = load_mulan(train_file, xml, drop=drop, n_rows=rules.get("n_train"))
    test = load_mulan(test_file, xml, drop=drop)
    for key in ("feature_names", "label_names"):
        if train[key] != test[key]:
            raise DataFileError(f"{test_file}: its attributes are not those of {train_file}; get both files again.")
    X, test_X = (part.data.toarray() if hasattr(part.data, "toarray") else part.data for part in (train, test))
    features = np.flatnonzero((X[:1] != X).any(axis=0))
    labels = np.flatnonzero(train.target.any(axis=0))
    return Bunch(
        data=X[:, features],
        target=train.target[:, labels],
        test_data=test_X[:, features],
        test_target=test.target[:, labels],
        feature_names=[train.feature_names[j] for j in features],
        label_names=[train.label_names[j] for j in labels],
        DESCR=DESCRIPTION.format(
            name=info["name"],
            subject=info["subject"],
            home=info["home"],
            train=X.shape[0],
            test=test_X.shape[0],
            attributes=features.size,
            labels=labels.size,
            swap=", train and test swapped" if rules.get("swap") else "",
            first=f", the first {rules['n_train']} rows of train" if "n_train" in rules else "",
            drop=f", without {', '.join(drop)}" if drop else "",
        ),
    )
