"""Search directions as the kernels hold them: the upper half of every float32."""

import numpy as np

from nmlsdr import _reference


def upper(values):
    return (_reference.bfloat16(values).view(np.uint32) >> 16).astype(np.uint16)


def expanded(halves):
    return (halves.astype(np.uint32) << 16).view(np.float32)
