"""Mulan data sets, an ARFF file and an XML file that says which attributes are labels, and the article's splits."""

import os
from collections.abc import Sequence

import numpy as np

from .. import tables
from ..tables import MAX_FEATURES, DataFileError, Path_
from ._bunch import Bunch
from ._catalog import dataset_info, find_file


def load_mulan(
    arff: Path_,
    xml: Path_,
    *,
    drop: Sequence[str] = (),
    n_rows: int | None = None,
    max_bytes: int | None = None,
    max_features: int = MAX_FEATURES,
) -> Bunch:
    """Read one multi-label data set in Mulan's format, raw values.

    Nominal attributes whose values are numbers are read as these numbers. {YES,NO} and {TRUE,FALSE} are read as 1/0,
    in whichever order they are declared. There is no one-hot coding. In a sparse row, an omitted value is the first
    declared value, or 0.

    Parameters
    ----------
    arff : path
        ARFF file in UTF-8, dense or sparse, plain or gzipped; the content shows which, not the name.
    xml : path
        XML file with one ``<label name="...">`` for each label, nested or not. Labels are found by name.
    drop : sequence of str, default=()
        Attributes to leave out, such as row names. Other attributes of text raise an error.
    n_rows : int, default=None
        Number of rows to read, from the first. None: all rows.
    max_bytes : int, default=None
        Largest size in bytes that a file may unpack to or declare; an error is raised above it. None: 4 GiB, and for
        a packed file at most 64 times its own size or 32 MiB, whichever is more. Real tables seldom exceed this, but
        zip bombs do.
    max_features : int, default=10**6
        Largest number of attributes or labels; an error is raised above it.

    Returns
    -------
    Bunch
        data : ndarray or csr_array of shape (n_samples, n_features), float64
            Features; dense from a dense file, CSR from a sparse one.
        target : ndarray of shape (n_samples, n_labels), int64
            Labels 0/1, in the order of columns of the ARFF file. The order in the XML file differs for some data
            sets.
        feature_names, label_names : list of str
            Names of features and labels, in the order of the columns.
        DESCR : str
            Description of what was read.

    Raises
    ------
    DataFileError
        A ValueError that names file and line. Reasons are: a value that is missing, not finite, not declared or not a
        number, a row of another length, a repeated sparse index, a label that is found twice or not at all, an XML
        file with a DOCTYPE, and a file above the limits.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> arff, xml = pathlib.Path(folder.name, "a.arff"), pathlib.Path(folder.name, "a.xml")
    >>> _ = arff.write_text("@relation r\\n@attribute x numeric\\n@attribute y {0,1}\\n@data\\n2.5,1\\n")
    >>> _ = xml.write_text('<labels><label name="y"/></labels>')
    >>> birds = load_mulan(arff, xml)
    >>> birds.data, birds.target
    (array([[2.5]]), array([[1]]))
    >>> folder.cleanup()
    """
    labels = tables.read_labels(xml, max_bytes=max_bytes, max_labels=max_features)
    form = tables.Form(max_bytes=max_bytes, max_features=max_features)
    with tables.library_errors(arff), tables.Lines(arff, form) as lines:
        source = tables.ArffFile(lines, form, n_rows=n_rows)
        split = tables.split_columns(source, tables.Roles(drop=drop), labels)
        data, target = tables.plain_contents(source.read(split), split, complete=True)
    shape = data.shape
    if 0 in shape:
        raise DataFileError(f"{os.fspath(arff)}: it holds {shape[0]} rows of {shape[1]} features; get the file again.")
    return Bunch(
        data=data,
        target=target,
        feature_names=split.features,
        label_names=split.labels,
        DESCR=f"{shape[0]} samples, {shape[1]} features and {len(labels)} labels, read from {os.fspath(arff)}.",
    )


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
    if (train.feature_names, train.label_names) != (test.feature_names, test.label_names):
        raise DataFileError(f"{test_file}: its attributes are not those of {train_file}; get both files again.")
    X, test_X = (part.data.toarray() if hasattr(part.data, "toarray") else part.data for part in (train, test))
    features = np.flatnonzero((X[:1] != X).any(axis=0))
    labels = np.flatnonzero(train.target.any(axis=0))
    remarks = ", train and test swapped" * bool(rules.get("swap")) + "".join(f", without {name}" for name in drop)
    remarks += f", the first {rules['n_train']} rows of train" if "n_train" in rules else ""
    return Bunch(
        data=X[:, features],
        target=train.target[:, labels],
        test_data=test_X[:, features],
        test_target=test.target[:, labels],
        feature_names=[train.feature_names[j] for j in features],
        label_names=[train.label_names[j] for j in labels],
        DESCR=f"{info['name']} ({info['subject']}): {X.shape[0]} train and {test_X.shape[0]} test rows, {features.size}"
        f" features and {labels.size} labels, from the official files{remarks}. See {info['home']}.",
    )
