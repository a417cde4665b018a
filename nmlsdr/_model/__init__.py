"""What stands behind ``model_file.py``.

form.py       the header's canonical text, the checksum, the error
schema.py     per class: fitted attributes with dtype, shape and range; parameters with what they may be
preparing.py  imputers, encoders and ColumnTransformers, whose own notes scikit-learn makes anew
writing.py    from an estimator to header and arrays
reading.py    from a file to header and arrays, and from these to an estimator
checking.py   holds every value that was read against the schema before an estimator gets it
"""
