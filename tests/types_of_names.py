"""The types that a checker sees of what ``import pysgrld`` gives: run by mypy alone."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import pysgrld
from pysgrld import LDA, SAM, DeepLDA, DPMixture

X = np.eye(4, dtype=int)

assert_type(pysgrld.__version__, str)
assert_type(LDA(2).fit(X), LDA)
assert_type(DeepLDA((2, 1)).partial_fit(X), DeepLDA)
assert_type(DPMixture().fit(["a text"]), DPMixture)
assert_type(SAM.load("run").score(X), float)
assert_type(LDA(2).fit_transform(X), NDArray[np.float64])
assert_type(LDA(2).components_, NDArray[np.float32])
assert_type(LDA(2).perplexity_, float)
assert_type(DPMixture().components_, NDArray[np.float64])
