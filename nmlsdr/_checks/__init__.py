"""Checks of input: what is accepted, converted or copied before anything is computed.

arguments.py   numbers, rows, graphs and alpha; memory layout, and sparse matrices whose indices point outside of them
labels.py      the label rule: what y, labeled= and masks may hold
cells.py       nulls, words for yes and no, and cells that are no numbers
"""
