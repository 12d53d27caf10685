"""A listener for reading in tests (`pysgrld.corpus.reading.Listener`)."""

from pysgrld.errors import Severity


class Lines(list):
    """Lines of messages; `warnings` repeats the warnings."""

    def __init__(self):
        super().__init__()
        self.warnings = []

    def append(self, line, severity=Severity.NOTE):
        super().append(line)
        if severity is Severity.WARNING:
            self.warnings.append(line)

    def clear(self):
        super().clear()
        self.warnings.clear()


class Told:
    """Listener that stores what it is told; ``at`` is called at every progress report."""

    def __init__(self, at=lambda: None):
        self.lines, self.at = Lines(), at

    def note(self, line, severity=Severity.NOTE):
        self.lines.append(line, severity)

    def reading(self, progress):
        del progress
        self.at()
