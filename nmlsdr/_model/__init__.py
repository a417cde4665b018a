"""What stands behind ``model_file.py``.

schema.py    per class: its fitted attributes with dtype, shape and range; the values that parameters may have; the
             checks of values: shapes, dtypes, ranges, names, trees
archive.py   the skops file: its members and types are checked before skops reads it
large_arrays.py  large arrays go to the file and come from it without a second copy of them
writing.py   from a fitted estimator to what the file keeps of it
reading.py   from the content of a file to a fitted estimator, every value of which is checked
fitted_rows.py  hashes of the rows of a fit and of their ids, by which `nmlsdr evaluate` recognises them
answers.py   a few rows and the model's answers to them: a model that answers differently later is refused
"""
