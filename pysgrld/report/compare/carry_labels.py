"""Names of topics carried from one run to another that it is compared with."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pysgrld.errors import MissingInputError
from pysgrld.reading.diagnosis import SAME
from pysgrld.reading.labels import LABELS
from pysgrld.report.compare.comparison import Comparison
from pysgrld.run import jsonio
from pysgrld.run.files import whole_file


class Carried(NamedTuple):
    """Names that a person gave to topics of the left run: which went on to the right, and which did not.

    Attributes
    ----------
    path : Path
        The file of names of the right run.
    new : dict of int to str
        Names that were written.
    kept : dict of int to str
        Names that the right run had already, and keeps.
    lost : dict of int to str
        Names of topics of the left, by their number there, without a partner of 0.7 or more.
    """

    path: Path
    new: dict[int, str]
    kept: dict[int, str]
    lost: dict[int, str]


def carry_labels(found: Comparison, *, replace: bool = False) -> Carried:
    """Write the names of the left run's topics into ``labels.json`` of the right run.

    A name goes to the one partner of its topic, where they have an overlap of 0.7 or more and less than
    half of either is on words that the other vocabulary lacks. A name that a person gave on the right
    stays, unless ``replace``.

    Raises
    ------
    MissingInputError
        If no topic of the left run has a name.
    WriteError
        If the file cannot be written.
    """
    left, right = found.left, found.right
    if not left.labels:
        raise MissingInputError(
            f'{left.path / LABELS}: no topic has a name to carry; write some there, {{"4": "sacrifice"}}'
        )
    partners = {
        topic.left[0]: topic.right[0]
        for topic in found.topics
        if topic.kind == "one to one"
        and topic.overlap >= SAME
        and max(topic.outside_left or 0.0, topic.outside_right or 0.0) < 0.5
    }
    wanted = {partners[k]: name for k, name in left.labels.items() if k in partners}
    stays = {} if replace else right.labels
    new = {k: name for k, name in sorted(wanted.items()) if k not in stays}
    path = right.path / LABELS
    if new:
        labels = {str(k): name for k, name in sorted((right.labels | new).items())}
        with whole_file(path) as file:
            file.write(jsonio.pretty(labels))
    kept = {k: stays[k] for k in sorted(wanted) if k in stays}
    lost = {k: name for k, name in left.labels.items() if k not in partners}
    return Carried(path, new, kept, lost)
