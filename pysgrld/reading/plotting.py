"""Helpers for all pictures: check for matplotlib, colours, axes, and file formats."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pysgrld.errors import UsageError
from pysgrld.run.output_files import open_output

#: Colours by Okabe and Ito, which colour-blind readers can distinguish.
COLOURS = ("#D55E00", "#E69F00", "#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#555555")

#: Picture formats for papers, by file suffix, with metadata for matplotlib. The value None keeps a
#: date or a version out of the file, so that the same picture always gives the same bytes.
FORMATS: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}
#: Resolution of PNG files for papers, in dots per inch.
_DPI = 300


def require_matplotlib(
    subject: str = "pictures need",
    otherwise: str = "; or write only the CSV files with --no-pictures",
) -> None:
    """Raise an error at once, rather than after hours of computation, if matplotlib is missing.

    Parameters
    ----------
    subject : str
        Start of the message: the part of the program that needs matplotlib.
    otherwise : str
        End of the message: an alternative for the user.

    Raises
    ------
    UsageError
        If matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        raise UsageError(f"{subject} matplotlib: pip install matplotlib{otherwise}")


def new_figure(width: float, height: float) -> Any:
    """Create a matplotlib figure that is not shown in a window.

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
    """Draw a light grid behind the data; remove the top and the right side of the frame.

    Parameters
    ----------
    axes : object
        Axes of matplotlib.
    """
    axes.grid(color="#e6e6e6", lw=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def write_png(path: Path, figure: Any, dpi: int = 110) -> Path:
    """Write a figure as a PNG file; the same figure always gives the same bytes.

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
    with open_output(path) as file:
        figure.savefig(file, format="png", dpi=dpi, metadata={"Software": None})
    return path


def check_format(option: str, path: str) -> None:
    """Raise an error if the suffix of a picture is not in `FORMATS`, or if matplotlib is missing.

    Parameters
    ----------
    option : str
        Option with which the user named the picture, for messages.
    path : str
        Path as the user typed it.

    Raises
    ------
    UsageError
    """
    require_matplotlib(f"{option} needs", "; or leave out the option")
    if Path(path).suffix.lower().removeprefix(".") not in FORMATS:
        raise UsageError(f"{option} {path}: give a file name that ends in .png, .pdf or .svg")


def write_picture(path: Path, figure: Any) -> Path:
    """Write a figure in the format of the file's suffix; PNG files have 300 dots per inch.

    The same figure always gives the same bytes.

    Parameters
    ----------
    path : Path
        With a suffix of `FORMATS`.
    figure : object
        A figure of matplotlib.

    Returns
    -------
    Path
        The file.
    """
    from matplotlib import rc_context

    kind = path.suffix.lower().removeprefix(".")
    with open_output(path) as file, rc_context({"svg.hashsalt": "sgmc"}):
        figure.savefig(file, format=kind, dpi=_DPI, metadata=FORMATS[kind])
    return path
