"""Texts about a search: its progress, the table of results, and recommendations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pysgrld.errors import all_of, plural
from pysgrld.reading.find_runs import ListedRun, list_runs
from pysgrld.search.outcome import SearchResult, SettingResult
from pysgrld.search.plan import Contender, SearchPlan, is_search, read_plan
from pysgrld.search.rounds import NEAR, Round, next_round, read_rounds

#: Headings of the table's last columns, after the varied options and the score.
HEADS = (
    "95 % interval",
    "above the best",
    "gain",
    "coherence",
    "found by all",
    "steady",
    "time",
    "memory",
    "dropped after",
)
#: Columns that a narrow table omits, in order of omission.
SPARE = ("memory", "95 % interval", "steady", "time", "coherence", "gain", "found by all")
#: A list of numbers of topics may have at most this number of characters. A longer list is replaced
#: by its range.
_LISTED = 20


def setting_name(row: SettingResult | Contender) -> str:
    """Return the name of a setting for use within a sentence, such as "K = 50".

    >>> called(Contender("k-50-eta-0.1", (1, 0), {"topics": 50, "eta": (0.1,)}))
    'K = 50, eta = 0.1'
    """
    parts = []
    for name, value in row.options.items():
        typed = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        parts.append(f"{'K' if name == 'topics' else name} = {typed}")
    return ", ".join(parts)


class SearchProgress(NamedTuple):
    """Progress of a search, as shown by ``sgmc runs`` and by the message about an early stop.

    Attributes
    ----------
    folder : Path
    plan : SearchPlan
    records : sequence of mapping
        Rounds that are decided, in the form of ``rounds.jsonl``.
    current_round : Round or None
        The open round, or None if the last one is decided.
    runs : tuple of ListedRun
        Runs that have begun.
    """

    folder: Path
    plan: SearchPlan
    records: Sequence[Mapping[str, Any]]
    current_round: Round | None
    runs: tuple[ListedRun, ...]

    @classmethod
    def read(cls, folder: Path, runs: Sequence[ListedRun] | None = None) -> SearchProgress:
        """Read the progress of a search from the files in its folder.

        Parameters
        ----------
        folder : Path
        runs : sequence of ListedRun, optional
            Runs of the search, if they were read already.

        Raises
        ------
        CheckpointError
            If one of the files was changed after it was written.
        """
        listed = tuple(list_runs(folder) if runs is None else runs)
        plan, records = read_plan(folder), read_rounds(folder)
        return cls(folder, plan, records, next_round(plan, records), listed)

    def listed(self) -> tuple[str, str, str]:
        """Return the numbers of topics, the state and the score, as texts for a list of runs.

        The first text has the numbers of topics tried, or their range if they are many. The state
        has the number of settings and the progress. The score is that of the best setting after the
        last decided round, with the setting's name. A dash stands for a missing entry.
        """
        contenders = self.plan.contenders
        counts = sorted({c.options["topics"] for c in contenders if "topics" in c.options})
        topics = ",".join(map(str, counts)) or "-"
        if len(topics) > _LISTED:
            topics = f"{counts[0]} to {counts[-1]}"
        state = "finished" if self.current_round is None else f"round {self.current_round.number}"
        score = "-"
        if self.records:
            leader = self.records[-1]["leader"]
            first = next((run for run in self.runs if run.path.parent.name == leader), None)
            if first and first.score is not None:
                score = f"{first.shown_score} ({leader})"
        return topics, f"{plural(len(contenders), 'setting')}, {state}", score

    def table(self) -> list[tuple[str, ...]]:
        """Return a table of the settings as texts: the column heads, then a row for each setting.

        The list is empty if no run has begun, or if the last round is decided.
        """
        current_round = self.current_round
        if not self.runs or current_round is None:
            return []
        title = next((run.kind.title for run in self.runs if run.kind is not None), "score")
        rows: list[tuple[str, ...]] = [
            ("tried", title, "iterations", f"round {current_round.number}")
        ]
        for contender in self.plan.contenders:
            runs = [run for run in self.runs if run.path.parent.name == contender.name]
            scores = [run.score for run in runs if run.score is not None]
            kind = next((run.kind for run in runs if run.kind is not None), None)
            cells = [cell for cell in current_round.cells if cell.contender == contender]
            done = sum(current_round.is_done(cell, self.folder) for cell in cells)
            if not cells:
                drop = next(r for r in self.records if contender.name not in r["goes_on"])
                state = f"dropped after {drop['epochs']:g} epochs"
            elif done == len(cells):
                state = "done"
            elif len(cells) == 1:
                state = "not done"
            else:
                state = f"{done} of {len(cells)} chains done"
            score = kind.show(sum(scores) / len(scores)) if kind and scores else "-"
            far = max((run.iteration for run in runs), default=0)
            rows.append((setting_name(contender), score, f"{far:,}", state))
        return rows


def find_search(run: Path) -> Path | None:
    """Return the folder of the search that contains a run, or None if the run is in no search.

    Parameters
    ----------
    run : Path
        Folder of a run.

    Returns
    -------
    Path or None
        Folder of the search.
    """
    folder = run.parent.parent
    return folder if is_search(folder) else None


# ---- the result


def table(result: SearchResult) -> list[tuple[str, ...]]:
    """Return the table of settings as texts, column heads first, without empty columns.

    Parameters
    ----------
    result : SearchResult

    Returns
    -------
    list[tuple[str, ...]]
        Cells of each row.
    """
    kind = result.kind
    rows: list[tuple[str, ...]] = [("tried", kind.title, *HEADS)]
    for row in result.rows:
        low, high = kind.show(row.low), kind.show(row.high)
        coherence, above = "-", "-"
        if row.coherence is not None:
            coherence = "{:.3f} ({:.2f} to {:.2f})".format(*row.coherence)
        if math.isfinite(row.above[1]):
            share, least, most = (100 * part for part in row.above)
            above = f"{share:.1f} % ({least:.1f} to {most:.1f})" if share else "the best"
        time = f"{row.seconds:.0f} s"
        if row.seconds >= 120:
            minutes = row.seconds / 60
            time = f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"
        rows.append(
            (
                setting_name(row),
                kind.show(row.score),
                f"{low} to {high}" if math.isfinite(row.low) else "-",
                above,
                "-" if row.gain is None else f"{100 * row.gain:.1f} %",
                coherence,
                "-" if row.found is None else f"{100 * row.found:.0f} %",
                "-" if row.steady is None else f"{row.steady:.1f} of 10",
                time,
                f"{row.memory / 2**20:,.0f} MB",
                "" if row.dropped is None else f"{row.dropped:g} epochs",
            )
        )
    has_values = [
        any(cell not in ("", "-") for cell in column) for column in zip(*rows[1:], strict=True)
    ]
    return [tuple(c for c, keep in zip(row, has_values, strict=True) if keep) for row in rows]


def sentences(result: SearchResult) -> list[str]:
    """Return sentences about the best and the smallest good setting, and the scores' precision.

    Parameters
    ----------
    result : SearchResult

    Returns
    -------
    list of str
        Texts of one or more sentences.
    """
    best, small = result.row(result.best), result.row(result.smallest)
    kind = result.kind
    lines = [
        f"For predicting: {setting_name(best)}, the best {kind.title}: {kind.show(best.score)} "
        f"({kind.show(best.low)} to {kind.show(best.high)})."
    ]
    # Settings without a number of topics cannot be sorted by size, so no setting is the smallest.
    if small.topics:
        near = f"within {100 * NEAR:g} % of the best"
        reading = (
            f"For reading: the same setting, {setting_name(best)}, because no smaller one is {near}"
        )
        if small.name != best.name:
            score = kind.show(small.score)
            reading = f"For reading: {setting_name(small)}, the smallest setting {near} ({score})"
        readable = result.row(result.interpretable_setting)
        if readable.found is not None and small.found is not None and readable.name != small.name:
            reading = (
                f"For reading: {setting_name(readable)} ({kind.show(readable.score)}), with "
                f"{100 * readable.found:.0f} % of the words in topics that "
                f"{all_of(readable.chains, 'chains')} found; in {setting_name(small)}, the smallest "
                f"setting {near} ({kind.show(small.score)}), only {100 * small.found:.0f} % of "
                "the words are in such topics"
            )
        elif small.found is not None:
            who = all_of(small.chains, "chains")
            remark = f"{100 * small.found:.0f} % of the words are in topics that {who} found"
            reading += f". {remark}"
            if small.name != best.name and best.found is not None:
                reading += f"; with {setting_name(best)}, {100 * best.found:.0f} %"
        lines.append(f"{reading}.")
    # Warn if the scores of chains with the same setting differ by more than `NEAR`. Smaller
    # differences between settings do not matter.
    apart = {
        setting_name(row): row.apart for row in result.rows if row.dropped is None and row.apart
    }
    worst = max(apart, key=lambda name: apart[name], default=None)
    if worst is not None and apart[worst] > NEAR:
        lines.append(
            f"Ignore differences of less than {100 * apart[worst]:.1f} % between settings, "
            f"because chains with the same setting differ as much ({worst})."
        )
    lines += _more_to_try(result)
    lines.append(
        f"The setting was chosen by its score on {plural(result.documents, 'held-out document')}, "
        "so this score is too good: to report a score, use documents that the search has not "
        "seen."
    )
    return lines


def _more_to_try(result: SearchResult) -> list[str]:
    """Advise a wider range of topic numbers if a recommended number is at an end of the range."""
    tried = sorted({row.topics for row in result.rows if "topics" in row.options})
    if not tried:
        return []
    best, small = result.row(result.best), result.row(result.smallest)
    advice = []
    command = "repeat the command of this search with -k"
    if best.topics == tried[-1]:
        numbers = [*tried, 2 * tried[-1]]
        advice.append(
            f"{setting_name(best)} is the largest number tried, and more topics may predict even "
            f"better: {command} {','.join(map(str, numbers))}."
        )
    half = tried[0] // 2
    if small.topics == tried[0] and half >= 2:
        fewer = [half, *tried]
        advice.append(
            f"{setting_name(small)} is the smallest number tried, and fewer topics may predict as well: "
            f"{command} {','.join(map(str, fewer))}."
        )
    return advice
