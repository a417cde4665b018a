"""The article's experiments, run again: ``nmlsdr reproduce``.

A run computes cells (a study, a data set, a method and a seed each), keeps every finished cell as a file, and makes
tables, figures and a report from the files.

    command.py      where a run begins
    protocol.py     what the studies are, and one cell of them
    store.py        the finished cells of a folder
    results.py      cells as arrays, and the tables that several sections have
    benchmarks.py   the sections of the report: the Toy set (Table 1), the ten data sets, the case study
    statistics.py   comparing methods over data sets
    figures.py      the figures
    report.py       writes tables, figures and the report

The methods and measures are the package's public ones.  Private modules that are used, as a test checks:

    _article_methods   the article's methods by name, and the classes of others
    _search.estimate   how an estimate of time is written
    _resources         how its JSON files are read
    _colors            colours of the figures
    _errors, _output   error messages; files that appear whole or not at all, and versions
"""
