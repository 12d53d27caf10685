"""Words that can be looked up on the page, and their counts and topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pysgrld.report.page_file import Packed, steps
from pysgrld.report.reported_run import Section


class WordList(Section):
    """The vocabulary's words that are on the page, most frequent first."""

    def main(self) -> dict[str, Any]:
        """Return the size of the vocabulary, and the number of tokens in training documents."""
        counts, recorded = self.run.counts, self.run.results.run.config["corpus"]
        return {
            "words_tokens": None if counts is None else int(counts.sum()),
            "words_of": recorded["training_documents"] if recorded["held_out"] else None,
            "words_total": len(self.run.results.vocabulary),
        }

    def blocks(self) -> dict[str, Packed]:
        """Return the words with their counts and topics."""
        words, vocabulary = self.run.words, self.run.results.vocabulary
        text = "\n".join(vocabulary[w] for w in words.ids.tolist())
        packed = Packed().add("text", "utf8", text.encode("utf-8", "replace"))
        packed.add("count", "u32", np.minimum(words.counts, 2**32 - 1)).add("n", "u8", words.n)
        packed.add("topic", "u16", words.topics).add("share", "u8", steps(words.shares, "u8"))
        return {"words": packed}

    def plain(self, main: Mapping[str, Any]) -> dict[str, Any]:
        """Return the words with their counts and topics."""
        words, vocabulary = self.run.words, self.run.results.vocabulary
        ends = np.cumsum(words.n)
        return {
            "words": [
                {
                    "word": vocabulary[w],
                    "count": None if self.run.counts is None else int(words.counts[i]),
                    "topics": [
                        [int(words.topics[j]), float(words.shares[j])]
                        for j in range(ends[i] - words.n[i], ends[i])
                    ],
                }
                for i, w in enumerate(words.ids.tolist())
            ]
        }
