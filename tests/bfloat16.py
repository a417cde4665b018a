"""Search directions as the kernels hold them: the upper half of every float32."""

import numpy as np
import reference


def upper(values):
    return (reference.bfloat16(values).view(np.uint32) >> 16).astype(np.uint16)


def expanded(halves):
    return (halves.astype(np.uint32) << 16).view(np.float32)
