"""What stands behind `nmlsdr report`: one page for the person with the data.

    table.py    what was read: rows, labels, their frequencies and which go together
    fit.py      one fit: embedding, components, graph, the annotations that look wrong and their neighbours
    trial.py    cross-validation beside a logistic regression and ML-kNN on the features: does it help on these data?
    page.py     plain facts to one self-contained page (jinja2, every value escaped)

The first three answer with plain data: dictionaries, lists, numbers and text, which `json.dumps` takes.
"""
