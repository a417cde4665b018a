"""What stands behind `nmlsdr report`: one page about a table of data and its labels.

Its files:

    description.py  the table, and one fit: labels, embedding, components
    leaks.py    target leakage: features that predict a label on their own
    needed.py   columns without which the predictions fail
    trial.py    cross-validation of the method and of rivals: does it help on these data?
    curve.py    the picture of the learning curve
    scores.py   predictions label by label, and how many rare labels each threshold rule finds
    significance.py  which differences between methods are significant, by their folds
    rivals.py   what a user would try first: logistic regressions and a forest
    page.py     from facts to one self-contained page; the lists of annotations are those of nmlsdr.inspection
"""
