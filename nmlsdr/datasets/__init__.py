"""Data sets: floor 3."""
