"""The article's experiments, run again, and what came after: ``nmlsdr reproduce``.

A run computes cells (a study, a data set, a method and a seed each), keeps every finished cell as a file, and makes
tables, figures and a report from the files.  ``command`` is where a run begins; ``protocol`` says what the studies are.
Only public names of the package are used for what is measured.
"""
