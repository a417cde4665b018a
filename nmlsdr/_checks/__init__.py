"""Checks of input: what is accepted, converted or copied before anything is computed.

arguments.py      numbers, rows, graphs and alpha; memory layout, and sparse matrices whose indices point outside
labels.py         the label rule: what y, labeled= and masks may hold
label_arrays.py   y of any form as numbers
label_classes.py  1-D y: the class of each row
label_sets.py     y as rows of names
verdicts.py       verdicts= of people who checked labels
cells.py          nulls, labels written as words, and cells that are no numbers
words.py          the words for yes, no, a missing value and no label
"""
