"""The exact neighbour search behind `nmlsdr.graph`."""
