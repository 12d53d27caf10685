"""Shared parts of all pictures: the check for matplotlib, colours, axes and PNG files."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pysgrld.errors import UsageError
from pysgrld.run.files import whole_file

#: After Okabe and Ito: colour-blind readers can distinguish these colours.
COLOURS = ("#D55E00", "#E69F00", "#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#555555")


def require_matplotlib(
    subject: str = "pictures need", otherwise: str = ", or --no-pictures for the CSV files alone"
) -> None:
    """Raise an error at once if matplotlib is missing, not after hours of computation.

    Parameters
    ----------
    subject : str
        Who needs it: the beginning of the message.
    otherwise : str
        End of the message, with another choice for the user.

    Raises
    ------
    UsageError
        If matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        raise UsageError(f"{subject} matplotlib: pip install matplotlib{otherwise}")


def new_figure(width: float, height: float) -> Any:
    """Make a figure of matplotlib, in inches, that belongs to no window.

    Parameters
    ----------
    width : float
        In inches.
    height : float
        In inches.

    Returns
    -------
    object
        A figure of matplotlib.
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def show_grid(axes: Any) -> None:
    """Draw a light grid behind the data, and no frame above or to the right of it.

    Parameters
    ----------
    axes : object
        Axes of matplotlib.
    """
    axes.grid(color="#e6e6e6", lw=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def write_png(path: Path, figure: Any, dpi: int = 110) -> Path:
    """Write a figure as a PNG file; the same figure gives the same bytes.

    Parameters
    ----------
    path : Path
        The file to write.
    figure : object
        A figure of matplotlib.
    dpi : int, optional
        Dots per inch.

    Returns
    -------
    Path
        The file.
    """
    with whole_file(path) as file:
        figure.savefig(file, format="png", dpi=dpi, metadata={"Software": None})
    return path
