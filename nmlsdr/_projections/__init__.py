"""The linear projections of the baselines; the article's own projection is `nmlsdr.projection`.

directions.py      the result of every projection, Lanczos iterations and the sign rule
scatter.py         the generalised eigenproblems of the baselines
label_weights.py   the label weightings of MLDA (chosen in _estimators/_supervised.py)
"""
