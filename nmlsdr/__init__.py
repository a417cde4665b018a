"""Noisy multi-label semi-supervised dimensionality reduction."""

from ._version import __version__

__all__ = ["__version__"]
