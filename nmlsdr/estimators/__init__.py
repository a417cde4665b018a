"""Estimators: floor 2."""
