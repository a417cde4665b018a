"""What the tests of the readers share: how a refusal reads."""

import pytest

from nmlsdr.datasets import DataFileError, read_table


def refused(words, path, **how):
    """One sentence that names the file and holds these words."""
    with pytest.raises(DataFileError) as caught:
        read_table(path, **how)
    message = str(caught.value)
    for word in [path.name, *words]:
        assert word in message
    assert message.endswith(".")
    assert "\n" not in message
