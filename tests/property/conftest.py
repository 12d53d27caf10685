"""The same examples at every run, so that a commit cannot turn red by chance; others at night."""

import os

from hypothesis import settings
from trial_counts import examples

settings.register_profile("fixed", derandomize=True, database=None, max_examples=examples(100))
settings.register_profile("night", database=None)
settings.load_profile("night" if os.environ.get("SGMC_NIGHT") else "fixed")
