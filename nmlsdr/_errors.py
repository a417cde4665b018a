"""The error that says that what was given is wrong, and text that is safe to show."""

__all__ = ["InputError", "printable"]


class InputError(ValueError):
    """What was given cannot be used; the text is one sentence that says what, and what to do.

    Every check of the package raises it, and nothing else does: any other ValueError is a bug of the package, and the
    command line treats the two differently. Names from files stand in such sentences, so the text is `printable`.
    """

    def __init__(self, text: object = "") -> None:
        super().__init__(printable(str(text)))


def printable(text: str) -> str:
    """Return a text with everything that is not seen escaped: what moves the cursor, changes colours or hides.

    Examples
    --------
    >>> printable("flu\\x1b[2J")
    'flu\\\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
