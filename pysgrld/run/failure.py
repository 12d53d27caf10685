"""The state of a run that has failed, kept for whoever looks for the cause.

It is no checkpoint: nothing goes on from it, and it may hold NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pysgrld.run.checkpoint_read import checkpoint_folders
from pysgrld.run.files import step_name
from pysgrld.run.tensors import Array, encode
from pysgrld.run.whole import replace_file


def keep_failure(run: Path, step: int, arrays: Mapping[str, Array]) -> str:
    """Write the arrays as they are to ``failed-step-NNNNNNNN.safetensors`` in the run.

    One of an earlier start at the same step is replaced.

    Returns
    -------
    str
        Where the state is, or why it could not be saved, and which checkpoint is good: for the
        message.
    """
    path = run / f"failed-{step_name(step)}.safetensors"
    good = next((folder.name for _, folder in checkpoint_folders(run)), "none yet")
    try:
        replace_file(path, encode(arrays), "failure")
    except OSError as error:
        saved = f"the state cannot be saved: {error.strerror or error}"
    else:
        saved = f"the state is saved in {path}"
    return f"{saved}; last good checkpoint: {good}"
