"""Behind `nmlsdr.distributed`: fits and predictions over Dask arrays, X in no single process.

    source.py      a Dask array as blocks that a task can read by itself, whatever made them
    rows.py        Rows: such blocks, checked, some of them left out; sums and images over them
    meetings.py    which blocks meet in which task, so that every two rows meet: lines of a finite plane
    neighbors.py   the search in every task, and the merge of its lists
    labels.py      batches of labels propagated over one graph
    plan.py        what a fit will cost, said before it starts
    run.py         runs tasks where Dask runs them; progress; what a lost worker held is computed again

How the rows of X are cut changes no bit: distances are canonical, and lists are merged by (squared distance, index).
"""
