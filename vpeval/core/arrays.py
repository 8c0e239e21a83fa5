"""Types of arrays."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
AnyFloats = NDArray[np.floating]
Counts = NDArray[np.int64]
Counts32 = NDArray[np.int32]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Texts = NDArray[np.bytes_]
