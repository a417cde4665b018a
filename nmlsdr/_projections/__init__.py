"""What stands behind the linear projections: their common form, scatter matrices, and weights of the labels.

`directions` has the form of the answer, Lanczos iterations and the sign rule; `scatter` the generalised eigenproblems
of the baselines; `label_weights` the weights of the labels in weighted discriminant analysis.  The article's own
projection is `nmlsdr.projection`.
"""
