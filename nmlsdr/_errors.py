"""The error that says that what was given is wrong."""

__all__ = ["InputError"]


class InputError(ValueError):
    """What was given cannot be used; the text is one sentence that says what, and what to do.

    Every check of the package raises it, and nothing else does: any other ValueError is a bug of the package, and the
    command line treats the two differently.
    """
