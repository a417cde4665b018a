"""Checks of input: what is accepted, cast and copied before anything is computed.

arguments.py   counts, numbers, rows and graphs
labels.py      the label rule: what y, labeled= and masks may hold
arrays.py      memory layout, and matrices whose indices point outside of them
"""
