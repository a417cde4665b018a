"""Gradient boosting as a careful person would use it: the mean of a model for each fold, stopped by the rows left out.

Each function returns scores of the queries, and out-of-fold scores of the rows, as the learners of beyond.py do.  How
many trees count is one number for all labels and folds: that with the least log loss of the rows that were left out.
"""

from functools import partial

import numpy as np
from sklearn.model_selection import KFold

FOLDS = 4


def _mean_of_folds(fit, X, Y, queries):
    """``fit(train rows, their labels, test rows, theirs)`` gives the loss by number of trees, and a predictor."""
    out_of_fold, predictors, losses = np.empty(Y.shape), [], []
    folds = [*KFold(FOLDS, shuffle=True, random_state=0).split(X)]
    for train, test in folds:
        loss, predict = fit(X[train], Y[train], X[test], Y[test])
        losses.append(loss * len(test))
        predictors.append(predict)
    n_trees = int(np.sum(losses, axis=0).argmin()) + 1
    for (_, test), predict in zip(folds, predictors, strict=True):
        out_of_fold[test] = predict(X[test], n_trees)
    return np.mean([predict(queries, n_trees) for predict in predictors], axis=0), out_of_fold


def _beside_constants(Y, varies, predict):
    """A predictor of all labels from one of those that vary; the others have their only value."""

    def whole(rows, n_trees):
        found = np.tile(Y.mean(axis=0), (len(rows), 1))
        found[:, varies] = predict(rows, n_trees)
        return found

    return whole


def _catboost(settings, X, Y, held_out, truth):
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(
        loss_function="MultiLogloss",
        depth=4,
        learning_rate=0.07,
        l2_leaf_reg=10,
        rsm=0.4,
        thread_count=1,
        random_seed=0,
        verbose=False,
        allow_writing_files=False,
        use_best_model=False,
        **settings,
    )
    varies = np.flatnonzero(Y.std(axis=0) > 0)  # it refuses labels of one value
    model.fit(X, Y[:, varies], eval_set=(held_out, truth[:, varies]))
    loss = np.array(model.get_evals_result()["validation"]["MultiLogloss"])
    return loss, _beside_constants(Y, varies, lambda rows, n: model.predict_proba(rows, ntree_end=n))


def _lightgbm(X, Y, held_out, truth, n_trees=300):
    import lightgbm

    settings = {
        "objective": "binary",
        "num_leaves": 7,
        "learning_rate": 0.04,
        "min_data_in_leaf": 10,
        "feature_fraction": 0.4,
        "bagging_fraction": 0.7,
        "bagging_freq": 1,
        "lambda_l2": 3,
        "num_threads": 1,
        "seed": 0,
        "verbose": -1,
    }
    varies, models, loss = np.flatnonzero(Y.std(axis=0) > 0), [], np.zeros(n_trees)
    for c in varies:
        data, curve = lightgbm.Dataset(X, Y[:, c]), {}
        valid = lightgbm.Dataset(held_out, truth[:, c], reference=data)
        record = lightgbm.record_evaluation(curve)
        models.append(lightgbm.train(settings, data, n_trees, valid_sets=[valid], callbacks=[record]))
        loss += np.array(curve["valid_0"]["binary_logloss"])
    predict = lambda rows, n: np.column_stack([model.predict(rows, num_iteration=n) for model in models])  # noqa: E731
    return loss, _beside_constants(Y, varies, predict)


BOOSTED = {
    "CatBoost": partial(_mean_of_folds, partial(_catboost, {"iterations": 150})),
    "CatBoost-one": partial(_mean_of_folds, partial(_catboost, {"iterations": 350, "leaf_estimation_iterations": 1})),
    "LightGBM": partial(_mean_of_folds, _lightgbm),
}
