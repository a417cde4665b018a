"""What stands behind ``model_file.py``.

schema.py    per class: fitted attributes with dtype, shape and range; what parameters may be
archive.py   the skops file: which members and types it may have, before skops reads it
writing.py   from a fitted estimator to what the file keeps of it
reading.py   from the content of a file to a fitted estimator, every value of which is checked
checking.py  the checks of values: shapes that agree, dtypes, ranges, what belongs together, trees
samples.py   a few rows and the answers to them, by which a model that answers differently is known
"""
