"""Experiments of the article: floor 3."""
