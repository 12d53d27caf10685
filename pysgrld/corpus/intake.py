"""Documents of any kind brought over one dictionary of words, and written down once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pysgrld.corpus._tokenize import Tokenizer, tally
from pysgrld.corpus.formats import Counts, Texts
from pysgrld.corpus.options import CorpusOptions, compiled_pattern
from pysgrld.corpus.store import cut
from pysgrld.corpus.stream import Bad
from pysgrld.corpus.vocabulary import Choice, Rules, choose, folded, read_vocabulary, stop_words
from pysgrld.corpus.write import Workshop, Writer, renumbered
from pysgrld.errors import CorpusError, UsageError
from pysgrld.types import Documents, Int32s, Int64s

#: Documents without words, by this name in the record.
EMPTY = "no known word"


class Intake:
    """The dictionary of a corpus under way, its documents, and what was left out.

    Three situations: the words of a trained run (`match`), a given vocabulary of text, or a
    dictionary that grows: with each word of a text (``built``), or each vocabulary of counts.
    """

    def __init__(
        self,
        options: CorpusOptions,
        match: Sequence[str] | None,
        workshop: Workshop,
        log: Callable[[str], None],
    ) -> None:
        self.options, self.match, self.workshop, self.log = options, match, workshop, log
        self.bad = Bad(options.on_bad_document == "skip")
        self.writer = workshop.writer("read")
        self.kind: str | None = None
        self.label = ""  # what messages about all of it call it
        self.words: dict[str, int] = {}
        self.tokenizer: Tokenizer | None = None
        self.numbers: bool | None = None
        self.documents = 0  # good ones, with or without words
        self.empty = 0
        self.unknown = 0  # tokens
        self.known = np.zeros(0, np.int64), np.zeros(0, np.int64)  # documents, tokens by word
        # A stop list that is missing is told before anything is read.
        self.stop = {b: stop_words(Rules.of(options, b).stop_words) for b in (False, True)}
        self.given = None if options.vocab is None else read_vocabulary(options.vocab)
        self.fixed = match if match is not None else self.given
        self.origin = "" if self.fixed is None else "run" if match is not None else options.vocab
        if self.fixed is not None:
            self.words = {word: i for i, word in enumerate(self.fixed)}

    def absent(self, documents: int) -> None:
        """Count documents that a file has no words of."""
        self.documents += documents
        self.empty += documents

    def expect(self, kind: str, label: str) -> None:
        """Refuse to mix text and counts, whose words are different things.

        Raises
        ------
        CorpusError
        """
        if self.kind not in (None, kind):
            raise CorpusError(
                f"this is {kind}, but inputs before it are {self.kind}; one corpus is either "
                "text or counts",
                label,
            )
        if self.kind is None:
            self.kind = kind
            if kind == "text":
                self._begin_text()

    def _begin_text(self) -> None:
        if self.match is not None and self.given is not None:
            raise UsageError(
                "--vocab: these documents are matched to the words of a trained run, "
                "so there is no vocabulary to choose"
            )
        if self.given is not None:
            never = sum(word != folded(word) for word in self.given)
            if never and self.options.token_pattern is None:
                self.log(
                    f"warning: {never} words of {self.options.vocab} can never occur, because "
                    "text is read in lower case (casefolded, NFC)"
                )
        self.tokenizer = Tokenizer(self.fixed, compiled_pattern(self.options.token_pattern))
        self.origin = self.origin or "built"

    # -- text ---------------------------------------------------------------------------------

    def add_text(self, texts: Texts) -> None:
        """Tokenise documents."""
        assert self.tokenizer is not None
        documents = texts.documents if texts.clean is None else texts.clean(texts.documents)
        indptr, indices, counts, bad = self.tokenizer.add(documents)
        for position, reason in bad:
            label, line = texts.where(position)
            message = "a NUL" if reason == "NUL" else "not UTF-8"
            self.bad(reason, message, label, line)
        if bad and self.match is not None:  # they keep their rows
            at = [position - i for i, (position, _) in enumerate(bad)]
            indptr = np.insert(indptr, at, indptr[at])
        self._write(Documents(indptr, indices, counts), len(self.tokenizer))

    # -- counts -------------------------------------------------------------------------------

    def add_counts(self, counts: Counts, label: str) -> Iterator[None]:
        """Bring counts over the dictionary, block by block."""
        numbers = counts.vocabulary is None
        if self.fixed is None and self.numbers not in (None, numbers):
            raise CorpusError(
                "the words of some inputs are known and those of others are only numbers; "
                "name them with --vocab FILE",
                label,
            )
        self.numbers = numbers
        self.origin = self.origin or counts.origin
        remap = None if counts.vocabulary is None else self._places(counts.vocabulary)
        for block in counts.blocks:
            if remap is not None:
                indices = remap[block.indices]
            else:
                found, inverse = np.unique(block.indices, return_inverse=True)
                indices = self._places([str(i + 1) for i in found.tolist()])[inverse]
            block = Documents(block.indptr, indices, block.counts)
            if self.fixed is not None:
                lost = indices < 0
                self.unknown += int(block.counts[lost].sum(dtype=np.int64))
                block = renumbered(block, None, drop_empty=False)
            self._write(block, len(self.words))
            yield

    def _places(self, vocabulary: Sequence[str]) -> Int32s:
        """Ids of words in the dictionary: new ones if it grows, else -1 for unknown words."""
        if self.fixed is not None:
            places = [self.words.get(word, -1) for word in vocabulary]
        else:
            places = [self.words.setdefault(word, len(self.words)) for word in vocabulary]
        return np.asarray(places, np.int32)

    # -- both ---------------------------------------------------------------------------------

    def _write(self, block: Documents, words: int) -> None:
        self.documents += len(block)
        lengths = np.diff(block.indptr)
        if self.match is None and not lengths.all():
            self.empty += int((lengths == 0).sum())
            ends = block.indptr[1:][lengths > 0]
            block = Documents(np.append(np.int64(0), ends), block.indices, block.counts)
        elif self.match is not None:
            self.empty += int((lengths == 0).sum())
        if len(self.known[0]) < words:
            self.known = _grown(self.known[0], words), _grown(self.known[1], words)
        tally(block.indices, block.counts, *self.known)
        if self._final:
            block = renumbered(block, None, drop_empty=False)
        self.writer.append(block)

    @property
    def _final(self) -> bool:
        """Whether ids will stay as they are."""
        return self.match is not None or not (
            self.origin == "built" or self.numbers or self.options.prunes
        )

    def finish(self, provenance: dict[str, Any]) -> None:
        """Choose the vocabulary, renumber, and make the corpus real.

        Raises
        ------
        CorpusError
            If no document or no word is left.
        """
        words = self.tokenizer.words() if self.tokenizer is not None else list(self.words)
        if self.tokenizer is not None:
            self.unknown = self.tokenizer.unknown
        if self.writer.tokens == 0:
            raise CorpusError(self._nothing(), self.label)
        writer, removed = self.writer, dict[str, int]()
        if not self._final:
            writer, words, removed = self._second(words)
        if self.options.on_bad_document == "skip" and self.bad.skipped:
            what = ", ".join(f"{n} {reason}" for reason, n in sorted(self.bad.skipped.items()))
            self.log(f"{self.bad.skipped.total()} bad documents skipped ({what})")
        skipped = dict(sorted(self.bad.skipped.items()))
        if self.empty and self.match is None:
            skipped[EMPTY] = self.empty
            self.log(f"{self.empty} documents with no known word skipped")
        elif self.empty:
            self.log(f"{self.empty} documents with no known word stay, empty")
        if self.unknown:
            total = self.unknown + writer.tokens
            self.log(f"{self.unknown} of {total} tokens are not in the vocabulary, left out")
        provenance |= {
            "documents_read": self.documents
            + (self.bad.skipped.total() if self.match is None else 0),
            "skipped": skipped,
            "empty": self.empty if self.match is not None else 0,
            "unknown_tokens": self.unknown,
            "vocabulary": {"from": self.origin, "removed": removed},
        }
        writer.finish_corpus(words, provenance)
        self.workshop.commit(writer)

    def _second(self, words: list[str]) -> tuple[Writer, list[str], dict[str, int]]:
        """Read back what was written, over the words that stay."""
        self.writer.finish()
        built = self.origin == "built"
        rules = Rules.of(self.options, built)
        known = tuple(_grown(array, len(words))[: len(words)] for array in self.known)
        if built and rules.stop_words == "english":
            self.log("english stop words left out (--stop-words none keeps them)")
        choice = choose(
            words,
            known[0],
            known[1],
            self.documents,
            rules,
            by_frequency=built,
            must_occur=built,
            stop=self.stop[built],
        )
        kept = choice.kept
        if self.numbers:  # the order of first sight means nothing
            kept = kept[np.argsort([int(words[i]) for i in kept.tolist()], kind="stable")]
        if len(kept) == 0:
            raise CorpusError(
                f"no word is left of {len(words)} in {self.documents} documents: "
                + _blame(choice, rules)
                + "; a small corpus may need --min-df 1 --max-df 1.0",
                self.label,
            )
        remap = np.full(len(words), -1, np.int32)
        remap[kept] = np.arange(len(kept), dtype=np.int32)
        writer = self.workshop.writer("corpus")
        for block in stored_blocks(self.writer):
            new = renumbered(block, remap, drop_empty=True)
            self.empty += len(block) - len(new)
            writer.append(new)
        self.workshop.discard(self.writer)
        return writer, [words[i] for i in kept.tolist()], choice.removed

    def _nothing(self) -> str:
        if self.match is not None:
            why = "no document has a word of the run's vocabulary; is it the right corpus or run?"
        elif self.unknown:
            why = f"no document has a word of the vocabulary {self.origin}; is it the right one?"
        else:
            why = "no document has a word; is it the right file?"
        if self.bad.skipped:
            why += f" ({self.bad.skipped.total()} bad documents were skipped)"
        return why


def stored_blocks(writer: Writer) -> Iterator[Documents]:
    """Read back what a finished writer wrote, some documents at a time."""
    arrays = [np.load(writer.folder / f"{n}.npy", mmap_mode="r") for n in writer.files]
    indptr, indices, counts = (array.view(np.ndarray) for array in arrays)
    return cut(indptr, indices, counts)


def _grown(array: Int64s, size: int) -> Int64s:
    """The array with room for so many values, doubled so that growing is cheap."""
    if len(array) >= size:
        return array
    grown = np.zeros(max(size, 2 * len(array)), np.int64)
    grown[: len(array)] = array
    return grown


def _blame(choice: Choice, rules: Rules) -> str:
    named = {
        "stop words": f"the stop words ({rules.stop_words})",
        "min_df": f"--min-df {rules.min_df}",
        "max_df": f"--max-df {rules.max_df}",
        "max_vocab": f"--max-vocab {rules.max_vocab}",
    }
    return ", ".join(f"{named[rule]} took {n}" for rule, n in choice.removed.items() if n)
