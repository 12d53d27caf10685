"""Progress output: a bar on terminals, plain lines in log files, JSON lines with ``--json-log``.

All output goes to standard error. A failed write never stops a run.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from pysgrld.errors import Severity, leave_in_order, plural
from pysgrld.models.options import option_text
from pysgrld.options.common import format_value
from pysgrld.options.paths import is_folder, resolve_path

from .options import finite
from .terminal import shown, shown_in_json

if TYPE_CHECKING:
    from pathlib import Path

    from pysgrld.corpus.reading import ReadingProgress
    from pysgrld.evaluate import Score
    from pysgrld.run import RunDirectory
    from pysgrld.train.events import Position

#: During the first `FIRST` seconds, lines in a log file are at least this number of seconds apart.
SOON = 5.0
#: After the first `FIRST` seconds, lines in a log file are at least this number of seconds apart.
LATER = 30.0
#: Number of seconds at the start of a task in which lines are more frequent.
FIRST = 60.0


#: Maximum number of topics that are listed when Gibbs refinement begins after training.
SHOWN = 10


class Screen(logging.Handler):
    """Printer of a command's progress reports and of the library's log messages.

    It implements `pysgrld.train.events.Reporter`, and is a context manager.

    Parameters
    ----------
    quiet : bool
        Print only errors and warnings.
    verbose : bool
        Also print details.
    json_log : bool
        Print one JSON object per line instead of text.
    stamped : bool
        Begin each line with the time in UTC, unless the output goes to a terminal.
    limit : float, optional
        Seconds from now until a time limit, for the display of the remaining time.
    """

    def __init__(
        self,
        *,
        quiet: bool = False,
        verbose: bool = False,
        json_log: bool = False,
        stamped: bool = False,
        limit: float | None = None,
    ) -> None:
        super().__init__()
        self.quiet, self.verbose, self.json_log, self.limit = quiet, verbose, json_log, limit
        try:
            is_terminal = sys.stderr.isatty()
        # Standard error is None if the parent process closed it.
        except (AttributeError, ValueError, OSError):
            is_terminal = False
        self.terminal = is_terminal and not json_log and not quiet
        self.stamped = stamped and not is_terminal
        self.began = self.last = time.monotonic()
        self._first: tuple[float, int] | None = (
            # Time of the first report on reading a corpus, and the number of bytes read by then.
            # None before this report.
            None
        )
        self._bar: Any = None
        self._what: tuple[str, int | None] = "", None

    def __enter__(self) -> Self:
        # From this line on, Ctrl-C raises an exception, so that open files are closed.
        leave_in_order()
        logger = logging.getLogger("pysgrld")
        logger.addHandler(self)
        logger.setLevel(logging.INFO if self.verbose else logging.WARNING)
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        logging.getLogger("pysgrld").removeHandler(self)

    # ---- methods that the library calls

    def emit(self, record: logging.LogRecord) -> None:
        """Print a log record from the library."""
        is_warning = record.levelno >= logging.WARNING
        self.note(record.getMessage(), Severity.WARNING if is_warning else Severity.DETAIL)

    def note(self, line: str, severity: Severity = Severity.NOTE, /) -> None:
        """Print a message, unless the screen is too quiet for the message's severity."""
        if severity is Severity.WARNING:
            self._line(severity, line, f"warning: {line}", always=True)
        elif severity is Severity.NOTE or self.verbose:
            self._line(severity, line)

    def warn(self, line: str) -> None:
        """Print a warning."""
        self.note(line, Severity.WARNING)

    def detail(self, line: str) -> None:
        """Print a detail if the screen is verbose."""
        self.note(line, Severity.DETAIL)

    def address(self, line: str) -> None:
        """Print a web page's address even on a quiet screen, because the user needs the address."""
        self._line("address", line, always=True)

    def reading(self, progress: ReadingProgress) -> None:
        """Show the progress of reading a corpus."""
        done = plural(progress.documents, "document")
        if self.terminal:
            self._draw("reading", progress.bytes_read, progress.bytes_total, done)
        elif self._due():
            share = ""
            if progress.bytes_total:
                share = f", {100 * progress.bytes_read / progress.bytes_total:.0f} %"
                share += self._time_left(progress.bytes_read, progress.bytes_total)
            self._line("reading", f"reading: {done}{share}", **progress._asdict())

    def started(self, run: RunDirectory, line: str) -> None:
        """Print a description of a run, the run's folder, and a line about how training starts."""
        self.described(run)
        self._line("started", f"{run.path}: {line}", run=str(run.path))
        self.began = self.last = time.monotonic()

    def described(self, run: RunDirectory) -> None:
        """Print a run's corpus, model and sampler."""
        from pysgrld.models.table import find_model

        self.described_corpus(run)
        options, corpus = run.config["options"], run.config["corpus"]
        widths = find_model(options["model"]).options_class.from_values(options).widths
        # The number of topics is not printed if the model itself determines this number.
        topics = ""
        if len(widths) == 1:
            topics = f" with {plural(widths[0], 'topic')}"
        elif widths:
            topics = f" with {'-'.join(map(str, widths))} topics"
        minibatch = options["minibatch"]
        whole = minibatch == corpus["training_documents"]
        self._line(
            "model",
            f"model {options['model']}{topics}, sampler {options['algo']}, "
            f"{'all documents' if whole else plural(minibatch, 'document')} in each iteration",
        )
        for name, value in sorted(options.items()) if self.verbose else ():
            if value is not None:
                self.detail(option_text(name, format_value(name, value)))

    def described_corpus(self, run: RunDirectory) -> None:
        """Print the name and size of a run's corpus."""
        self._close()
        corpus = run.config["corpus"]
        held = corpus["held_out"]
        self._line(
            "corpus",
            f"{corpus['name']}: {plural(corpus['training_documents'], 'training document')}, "
            + (f"{held:,} held out, " if held else "")
            + f"{plural(corpus['words'], 'word')}, {plural(corpus['training_tokens'], 'token')}",
        )

    def moved(self, position: Position) -> None:
        """Show the current iteration of training."""
        if not self.terminal and not self._due():
            return
        p = position
        state = speed(p.tokens_per_second)
        if p.unit == "iteration":
            state += f", step {p.step_size:.3g}"
        if math.isfinite(p.score):
            from pysgrld.models.table import find_score

            score = find_score(p.kind)
            state += f", {score.title} {score.show(p.score)}"
        if self.terminal:
            title = {"iteration": "training"}.get(p.unit, f"{p.unit}s")
            self._draw(title, p.iteration, p.iterations or None, state + self._left())
            return
        total = f" of {p.iterations:,}" if p.iterations else ""
        line = f"{p.unit} {p.iteration:,}{total}, epoch {p.epoch:.1f}, {state}"
        # The remaining time of replicates is not estimated, because their `train_seconds` include
        # the Gibbs sweeps.
        if p.iterations and p.iteration and p.unit != "replicate":
            remaining = (p.iterations - p.iteration) * p.train_seconds / p.iteration
            line += f", {_clock(remaining)} left"
        fields: dict[str, Any] = p._asdict() | {p.kind: p.score}
        self._line("position", line + self._left(), **fields)

    def refining(self, run: RunDirectory, line: str) -> None:
        """Print the topics found by training, and the line that announces Gibbs refinement."""
        if not self.quiet and (topics := _first_topics(run.path)):
            for text in topics:
                self._line("topics", text)
        self._line(
            "refining", f"{line} (adds intervals; Ctrl-C ends it and keeps the topics above)"
        )

    def evaluated(self, record: Mapping[str, Any]) -> None:
        """Print an evaluation, given as a record (line) of ``metrics.jsonl``."""
        self.last = time.monotonic()
        self._line("evaluation", evaluation_line(record), **record)
        share = 100 * record["wait_seconds"] / max(record["train_seconds"], 1e-9)
        self.detail(f"time spent waiting for documents: {share:.1f} % of the training time")

    def finished(self, run: RunDirectory, line: str) -> None:
        """Print the result of a finished run, and commands that show its topics."""
        self._close()
        self._line("finished", line, run=str(run.path))
        if self.json_log:
            return
        name = self.shortest_name(run.path)
        from pysgrld.evaluate.convergence import FEWEST

        timed = run.config["options"].get("time") is not None
        commands = ["sgmc topics", *["sgmc topics --over-time"] * timed, "sgmc report --open"]
        commands += ["sgmc eval"] if is_folder(run.path / "holdout") else []
        n_samples = max(len(run.samples.steps(top_words=slim)) for slim in (False, True))
        commands += ["sgmc diagnose"] if n_samples >= FEWEST else []
        if not self.quiet and (remark := _on_use(run.path)):
            self._line("note", remark)
        self._line("next", f"results are in {run.path}; look at them with:")
        for command in commands:
            self._line("next", f"  {command} {name}".rstrip())

    @staticmethod
    def shortest_name(path: Path) -> str:
        """Return the shortest argument that names a run in a command; empty for the latest run."""
        from pysgrld.errors import SgmcError
        from pysgrld.run import latest_run

        with contextlib.suppress(SgmcError, OSError):
            if resolve_path(latest_run()) == resolve_path(path):
                return ""
        return str(path)

    # ---- progress of other long tasks

    @contextlib.contextmanager
    def counting(self, title: str, total: int) -> Iterator[Any]:
        """Yield a function that shows how many of ``total`` units are finished."""

        def tell(done: int) -> None:
            if self.terminal:
                self._draw(title, done, total, "")
            elif self._due():
                self._line("progress", f"{title}: {done:,} of {total:,}", done=done, total=total)

        try:
            yield tell
        finally:
            self._close()

    @contextlib.contextmanager
    def steps(self) -> Iterator[Any]:
        """Yield a function that shows the current step of a command, and its finished units."""
        with contextlib.ExitStack() as stack:
            counters: dict[str, Any] = {}

            def tell(title: str, done: int, total: int) -> None:
                if title not in counters:
                    stack.close()
                    counters[title] = stack.enter_context(self.counting(title, total))
                counters[title](done)

            yield tell

    # ---- output

    def _line(
        self, event: str, line: str, said: str | None = None, *, always: bool = False, **fields: Any
    ) -> None:
        if self.quiet and not always:
            return
        if event in ("corpus", "started", "finished"):
            self._close()
        try:
            if self.json_log:
                text = json_line(event, line, **fields)
            else:
                text = shown(said or line)
                if self.stamped:
                    text = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {text}"
            if self._bar is not None:
                self._bar.clear()
            print(text, file=sys.stderr, flush=True)  # noqa: T201
        except Exception:  # The run continues even if standard error is closed.
            return
        with contextlib.suppress(Exception):
            if self._bar is not None:
                self._bar.refresh()

    def _due(self) -> bool:
        now = time.monotonic()
        if now - self.last < (SOON if now - self.began < FIRST else LATER):
            return False
        self.last = now
        return True

    def _time_left(self, read: int, total: int) -> str:
        """Return a text with the remaining reading time, estimated from the speed so far."""
        now = time.monotonic()
        # If fewer bytes are read than before, reading of another corpus has begun.
        if self._first is None or read < self._first[1]:
            self._first = now, read
        since, before = self._first
        if read == before:
            return ""
        return f", {_clock((total - read) * (now - since) / (read - before))} left"

    def _left(self) -> str:
        if self.limit is None:
            return ""
        remaining = max(0.0, self.limit - (time.monotonic() - self.began))
        return f", limit in {_clock(remaining)}"

    def _draw(self, title: str, done: int, total: int | None, state: str) -> None:
        """Draw the progress bar; if drawing fails, print plain lines from then on."""
        try:
            if self._bar is None or self._what != (title, total):
                from tqdm import tqdm

                self._close()
                shape = (
                    # A progress bar in this format fits into 80 columns.
                    "{desc} {percentage:.0f} %|{bar}| {remaining} left{postfix}"
                )
                if total is None:
                    shape = "{desc} {n:,}, {elapsed}{postfix}"
                self._bar = tqdm(
                    total=total,
                    # Units of work that were finished before the bar started do not count for the
                    # speed.
                    initial=done,
                    desc=title,
                    bar_format=shape,
                    leave=False,
                    mininterval=0.2,
                    file=sys.stderr,
                    dynamic_ncols=True,
                )
                self._what = title, total
            self._bar.set_postfix_str(state, refresh=False)
            self._bar.update(done - self._bar.n)
        except Exception:
            self.terminal = False
            self._bar = None

    def _close(self) -> None:
        with contextlib.suppress(Exception):
            if self._bar is not None:
                self._bar.close()
        self._bar = None


def _first_topics(path: Path) -> list[str]:
    """Return a table of a run's largest topics; it has no lines if the run cannot be read."""
    from pysgrld.errors import SgmcError

    with contextlib.suppress(SgmcError, OSError, MemoryError):
        from pysgrld.reading.results import Results
        from pysgrld.reading.topics import topics_of

        results = Results(path, 1)
        topics = topics_of(results, 8, intervals=False, coherences=False)
        lines = [f"topic   share  {results.word_order.title}"]
        for topic in topics[:SHOWN]:
            share = "" if topic.weight is None else f"{100 * topic.weight:.1f} %"
            lines.append(f"{topic.id:>5}  {share:>6}  {' '.join(w.word for w in topic.words)}")
        if len(topics) > SHOWN:
            lines.append(f"and {plural(len(topics) - SHOWN, 'smaller topic')}")
        return lines
    return []


def _on_use(path: Path) -> str | None:
    """Return the remark on a finished run's inactive topics, or None if no remark is needed."""
    from pysgrld.errors import SgmcError

    with contextlib.suppress(SgmcError, OSError, MemoryError):
        from pysgrld.reading.results import Results
        from pysgrld.reading.use import remark_at_the_end

        return remark_at_the_end(Results(path, 1))
    return None


def json_line(event: str, line: str, **fields: Any) -> str:
    """Format an event as a JSON object with time, name, text and other fields."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    record = {"time": now, "event": event, "line": line, **fields}
    return shown_in_json(json.dumps(finite(record), ensure_ascii=False, default=str))


def evaluation_line(record: Mapping[str, Any]) -> str:
    """Format an evaluation as text, with the scores of the model and of unigrams."""
    line = f"iteration {record['iteration']:,}, epoch {record['epoch']:.1f}: "
    score = score_in(record)
    error = record.get(score.error)
    mean = "-" if record[score.name] is None else score.show(record[score.name], error)
    point, unigram = (
        "-" if record[name] is None else score.show_rounded(record[name], error)
        for name in (score.point, score.unigram)
    )
    if unigram == "-":
        line += f"{speed(record['tokens_per_second'])}, nothing held out"
    elif mean == "-":
        line += f"point {score.title} {point} (unigram {unigram})"
    else:
        line += f"{score.title} {mean} (point {point}, unigram {unigram})"
    return line + score.shown_metrics(record)


def score_in(record: Mapping[str, Any]) -> Score:
    """Return the kind of score (such as perplexity) that an evaluation has recorded."""
    from pysgrld.models.table import scores

    return next(score for score in scores() if score.name in record)


def speed(tokens: float) -> str:
    """Format a speed as thousands or millions of tokens per second."""
    return f"{tokens / 1e6:.1f}M tokens/s" if tokens >= 1e6 else f"{tokens / 1e3:.0f}k tokens/s"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
