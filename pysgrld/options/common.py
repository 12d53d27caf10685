"""Definitions of the options that all models have: meaning, default and parser of each option.

Options are named as they are typed, without the leading dashes. No NumPy here: help must be instant.
"""

from __future__ import annotations

from typing import Any

from pysgrld.errors import UsageError
from pysgrld.options.option import Option
from pysgrld.options.parse import (
    SMALLEST,
    choice,
    columns,
    duration,
    encoding,
    every,
    integer,
    kept_text,
    language,
    lists,
    or_word,
    real,
    reals,
    requeue_code,
    schedule,
    share_or_count,
    size,
)
from pysgrld.options.priors import LEARN
from pysgrld.options.time import TIME
from pysgrld.options.word_files import SEEDS, read_phrases, spell_phrases

#: Values of the setting ``stop-signal``. The value names a signal that stops training, in addition
#: to TERM and INT.
STOP_SIGNALS = ("USR1", "USR2", "HUP", "QUIT", "ALRM", "CONT")

#: Values of ``--segment``. A library can split texts in these languages into words.
SEGMENTED = (
    *("chinese", "chinese-simplified", "japanese", "korean", "thai", "danish", "dutch", "english"),
    *("finnish", "french", "german", "indonesian", "italian", "norwegian", "portuguese", "russian"),
    *("spanish", "swedish"),
)

#: Option ``alpha`` of models with a Dirichlet prior on documents' topic proportions.
ALPHA = Option(or_word(real(SMALLEST, 1e6), LEARN),
              "0.005 to 0.1, by number of topics and length of documents; sam: 1",
               "Dirichlet prior of a document's topics; learn: estimate a prior for each topic",
               "Model", metavar="A|learn")  # fmt: skip
#: Option of models that may start training from the topics of several short chains.
STARTS = Option(integer(1, 64),
                "depends on the corpus, 1 to 16; 1 with seed words, presets, gibbs, cgs, ovb, hsvg",
                "number of short chains before training; their clustered topics start the "
                "training, which makes different chains more similar",
                "Sampling", metavar="N", setting=True)  # fmt: skip
_AUTO_NONE: dict[str, Any] = {"auto": "auto", "none": 0}
SHARED: dict[str, Option] = {
    # model
    "topics": Option(integer(1, 1 << 18), "depends on the corpus",
                     "number of topics (of a deep model: of a single layer)",
                     "Model", metavar="K", first=True),
    "eta": Option(or_word(reals(SMALLEST, 0, ""), LEARN), "5/K, but 0.01 to 0.05; dlda: 0.05",
                  "Dirichlet prior of a topic's words (deep model: for all layers, or for each "
                  "layer); learn: estimate one prior",
                  "Model", metavar="E[,E...]|learn", default=(0.05,)),
    # sampling
    "minibatch": Option(integer(1), "400, more if documents are short, fewer if long; gibbs, cgs: all",
                        "number of documents per minibatch",
                        "Sampling", metavar="N"),
    "sweeps": Option(integer(1, 100_000), "10, from 129 topics 20; gibbs, cgs: 1; ovb: 100",
                     "Gibbs sweeps per document and minibatch (the first half is burn-in); ovb: "
                     "maximum number of passes over a document", "Sampling",
                     metavar="N"),
    "kept-sweeps": Option(integer(1, 100_000), "half of --sweeps; gibbs: 1",
                          "number of last sweeps in which topics of tokens are counted",
                          "Sampling", metavar="N",
                          setting=True),
    "warm-up": Option(integer(0, **_AUTO_NONE), "auto",
                      "number of iterations without noise at the start (auto: one epoch, but 50 "
                      "to 500)",
                      "Sampling",
                      metavar="auto|none|N", setting=True),
    "burn-in": Option(integer(0, auto="auto"), "auto",
                      "iterations before the first posterior sample (auto: the warm-up, or 200 "
                      "without a warm-up)",
                      "Sampling", metavar="auto|N", setting=True),
    "counts": Option(choice("rao-blackwell", "sampled"), "rao-blackwell; gibbs: sampled",
                     "estimate topic counts by their mean (rao-blackwell) or by a draw (sampled)",
                     "Sampling",
                     metavar="HOW", setting=True),
    "step-size": Option(schedule, "depends on the corpus",
                        "step size of iteration t after the warm-up: A*(1+t/B)^(-C); ovb, hsvg: "
                        "weight of a minibatch", "Sampling",
                        metavar="A,B,C"),
    "seed": Option(integer(0, 2**63 - 1), "0", "seed of all randomness", "Sampling", metavar="N",
                   default=0, first=True),
    "chain-id": Option(integer(1, 2**31), "1",
                       "number of this chain; chains with the same seed but different numbers "
                       "have different draws and the same held-out documents",
                       "Sampling", metavar="I", default=1),
    # budget
    "epochs": Option(real(0.0, 1e9), "none", "number of passes over the corpus", "Budget", True,
                     "N"),
    "iterations": Option(integer(1, 2**53), "none", "number of minibatches", "Budget", True, "N",
                         first=True),
    "time-limit": Option(or_word(duration, "auto"), "none",
                         "maximum running time of this process, e.g. 2h30m; auto: the time left "
                         "by the batch system",
                         "Budget", True, "TIME", first=True),
    # corpus
    "vocab": Option(str, "the corpus's own", "file with the vocabulary, one word per line",
                    "Corpus", metavar="FILE"),
    "max-vocab": Option(integer(1), "100000", "maximum number of words of the vocabulary", "Corpus",
                        metavar="N"),
    "min-df": Option(share_or_count, "2",
                     "remove words that occur in fewer documents: number, or fraction",
                     "Corpus", metavar="N"),
    "max-df": Option(share_or_count, "0.5",
                     "remove words that occur in more documents: number, or fraction",
                     "Corpus", metavar="N"),
    "stop-words": Option(lists, "english",
                         "words to remove: english, french, ..., a file, several (english,FILE), "
                         "or none",
                         "Corpus",
                         metavar="LIST,...", first=True, joins=True),
    "numbers": Option(choice("years", "keep", "drop"), "years",
                      "words with digits, such as 000 and 20th: keep years, all, or none", "Corpus",
                      metavar="years|keep|drop"),
    "token-pattern": Option(str, r"\w\w+", "regular expression of a token", "Corpus",
                            metavar="REGEX"),
    "segment": Option(choice("none", *SEGMENTED), "none",
                      "segment text into dictionary words of a language: " + ", ".join(SEGMENTED),
                      "Corpus", metavar="LANGUAGE"),
    "phrases": Option(str, "none",
                      "file of phrases that count as one word, one per line (see sgmc corpus "
                      "phrases)",
                      "Corpus", metavar="FILE", read=read_phrases,
                      spell=spell_phrases),
    "keep-links": Option(bool, "removed", "keep links, e-mail addresses, @names and RT as words",
                         "Corpus", flag=True),
    "mask": Option(bool, "kept",
                   "for log lines: remove paths, IP addresses, hexadecimal and other numbers", "Corpus",
                   flag=True),
    "drop-repeated": Option(bool, "all", "keep only one of several equal or nearly equal documents",
                            "Corpus", flag=True),
    "language": Option(language, "all", "keep only documents of one language: en, english, es, ...",
                       "Corpus", metavar="NAME"),
    "text-field": Option(str, "text, or detected",
                         "fields of JSON lines, CSV, ... with the text; title,abstract joins two "
                         "fields",
                         "Corpus", metavar="NAME,...", default="auto", first=True),
    "id-field": Option(str, "id", "field with the document's id, which also matches rows of --metadata",
                       "Corpus", True, "NAME"),
    "title-field": Option(str, "title", "field with the document's title", "Corpus", True, "NAME"),
    "meta-field": Option(columns, "auto: fields with short values",
                         "fields to keep as columns, e.g. year,group:category, or all, none", "Corpus",
                         True,
                         "NAME[:kind],...|all", default="auto", joins=True),
    "metadata": Option(str, "none",
                       "table with ids, titles and columns (CSV, TSV, JSON lines, Parquet): one "
                       "row per document, or matched by --id-field", "Corpus", True, "FILE"),
    "missing": Option(str, "none", "further values that mean \"missing\", e.g. 99,unknown",
                      "Corpus", True, "VALUE,..."),
    "date-format": Option(str, "detected",
                          "notation of dates in columns, e.g. %d/%m/%Y", "Corpus", True, "FORMAT"),
    "keep-text": Option(kept_text, "auto",
                        "texts stored for reports, compressed: auto (256M), all, none, or a "
                        "size (of larger texts, an evenly spaced sample)", "Corpus", True,
                        "auto|all|none|SIZE", "auto"),
    "document-is": Option(choice("auto", "line", "file"), "auto",
                          "what a document of plain text is: line, file, or auto (determined "
                          "from the inputs)",
                          "Corpus", metavar="line|file|auto", default="auto"),
    "chunk": Option(integer(0, 1 << 31, none=0), "none; 500 for few and long files",
                    "split documents into pieces of about N words, each a document of its own", "Corpus",
                    metavar="N|none"),
    "encoding": Option(encoding, "utf-8",
                       "encoding of text, CSV and JSON lines: utf-8, windows-1252, ...", "Corpus",
                       metavar="NAME", default="utf-8"),
    "header-line": Option(integer(0, none=0), "detected",
                          "line of a table that has the column names (none: column1, column2, ...)",
                          "Corpus", metavar="N|none"),
    "quote": Option(choice("auto", "none"), "auto",
                    "quotation marks in CSV and TSV: auto, or none (plain characters)",
                    "Corpus", metavar="auto|none", default="auto", setting=True),
    "sheet": Option(str, "the first with rows", "sheet of a spreadsheet", "Corpus", metavar="NAME"),
    "on-bad-document": Option(choice("stop", "skip"), "stop",
                              "if a document cannot be read: stop, or skip it", "Corpus",
                              metavar="stop|skip", default="stop"),
    "max-line": Option(size, "64M", "maximum length of a line of a text corpus", "Corpus", metavar="SIZE",
                       default=64 << 20, setting=True),
    "max-input": Option(size, "none", "refuse an input that is larger than this after decompression",
                        "Corpus",
                        metavar="SIZE", setting=True),
    "transpose": Option(choice("on", "off"), "off",
                        "read counts with words as rows and documents as columns, as 10x and R's "
                        "tm write them",
                        "Corpus", alone="on"),
    "corpus-size": Option(integer(1, 2**53), "none; the corpus is stored first",
                          "number of documents of a corpus that is read once, as a stream, "
                          "during training",
                          "Stream", metavar="D"),
    "shuffle-buffer": Option(integer(2, 2**31), "10000",
                             "number of stream documents in memory, from which minibatches are "
                             "drawn; the first fill provides held-out documents and vocabulary", "Stream",
                             metavar="N", setting=True),
    # held-out documents
    "holdout": Option(share_or_count, "min(1000, 10 %)",
                      "held-out documents, not used in training: number, or fraction; 0: train "
                      "on all",
                      "Held-out documents",
                      metavar="N", first=True),
    "holdout-corpus": Option(str, "none", "hold out the documents of this corpus instead",
                             "Held-out documents",
                             metavar="FILE"),
    "observed-corpus": Option(str, "none",
                              "file of observed tokens of held-out documents that are already split",
                              "Held-out documents", metavar="FILE", setting=True),
    "held-out-corpus": Option(str, "none", "file of held-out tokens of the same documents",
                              "Held-out documents", metavar="FILE", setting=True),
    "observed": Option(real(0.0, 1.0), "0.8", "fraction of a held-out document's tokens that is observed",
                       "Held-out documents", metavar="SHARE", default=0.8, setting=True),
    "eval-every": Option(every, "10s",
                         "interval between reports of held-out perplexity: iterations, or time",
                         "Held-out documents", True, "N|TIME", "10s"),
    "sample-every": Option(integer(1, auto="auto"), "auto",
                           "iterations between posterior samples (auto: 5, or more if scoring is "
                           "slow)",
                           "Held-out documents", metavar="auto|N", setting=True),
    "samples": Option(integer(0, 100_000), "200",
                      "maximum number of posterior samples stored on disk, evenly spaced",
                      "Held-out documents", metavar="N", default=200, setting=True),
    "top-word-samples": Option(integer(0, 100_000),
                           "0; as --set samples if fewer than 40 samples fit",
                           "number of additional samples that store only each topic's 256 most "
                           "probable words",
                           "Held-out documents", metavar="N", setting=True),
    # run
    "out": Option(str, "sgmc-runs/CORPUS-ALGO", "run directory", "Run", True, "DIR", first=True),
    "resume": Option(str, "auto", "auto, never, or a run to resume; do not repeat its corpus and options",
                     "Run", True, "auto|never|RUN", "auto", first=True),
    "checkpoint-every": Option(every, "15m", "interval between checkpoints: iterations, or time",
                               "Run", True, "N|TIME", "15m"),
    "keep": Option(integer(1, 100_000), "3", "number of checkpoints to keep", "Run", True, "N", 3,
                   setting=True),
    "stop-signal": Option(choice(*STOP_SIGNALS), "USR1",
                          "further signal that stops training like TERM and INT: "
                          + ", ".join(STOP_SIGNALS),
                          "Run", True, "NAME", "USR1", setting=True),
    "requeue-exit-code": Option(requeue_code, "85", "exit code of a run that is stopped early", "Run",
                                True, "N", 85, setting=True),
    "threads": Option(integer(1, 4096), "as many as this process may use", "number of threads", "Run",
                      True,
                      "N", first=True),
    "max-memory": Option(size, "as much as this process may use", "refuse a run that needs more memory",
                         "Run",
                         True, "SIZE"),
}  # fmt: skip


_SPELL = {name: option.spell for name, option in (SHARED | SEEDS | TIME).items() if option.spell}


def format_value(name: str, value: Any) -> Any:
    """Return an option's value in the form that is shown to users.

    Parameters
    ----------
    name : str
        Name of the option, without dashes before it.
    value : object

    Returns
    -------
    object
        A line of text for a list, if the option has one; else the value itself.
    """
    spell = _SPELL.get(name)
    if spell is None or not isinstance(value, list | tuple):
        return value
    try:
        return spell(value)
    except (AttributeError, LookupError, TypeError, UsageError, ValueError):
        return value  # The value is damaged, so show it as it is.
