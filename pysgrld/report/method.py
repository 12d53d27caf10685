"""The definition of every figure on a page, each said once."""

from __future__ import annotations

from typing import Any, NamedTuple

from pysgrld.errors import plural
from pysgrld.evaluate.reader import DRAW_SWEEPS, NEXT_DRAW_SWEEPS
from pysgrld.reading.diagnosis import MIXED, SAME
from pysgrld.reading.results import WEIGHT_DOCUMENTS
from pysgrld.report.documents import AGREE, DOCUMENTS, DRAWS, HAS, SURE
from pysgrld.report.geometry import KEPT
from pysgrld.report.terms import USES


class OnPage(NamedTuple):
    """The parts of a page on which its definitions depend.

    Attributes
    ----------
    samples : int
        Draws in the mean of the topics; 0: they are the current ones.
    draws, pooled : int
        Draws behind the intervals of words: of the first chain, 0 for none; of all chains.
    drawn : bool
        Whether documents' topics were drawn.
    documents, chains, signed, components, groups, map : bool
        Whether there are documents; several chains; directions; components; groups; a map.
    """

    samples: int
    draws: int
    pooled: int
    drawn: bool
    documents: bool
    chains: bool
    signed: bool
    components: bool
    groups: bool
    map: bool


def method(shown: OnPage) -> list[dict[str, Any]]:
    """Define the figures that a page has: name, text, and where the definition is from."""
    found = _words(shown) + _documents(shown) + _topics(shown)
    return [dict(zip(("name", "text", "source"), entry, strict=True)) for entry in found]


_Entry = tuple[str, str, str | None]


def _words(shown: OnPage) -> list[_Entry]:
    found: list[_Entry] = []
    if shown.signed:
        found.append(
            (
                "Entry",
                "Topics are directions: an entry says how far one points along a word, or, below 0, "
                "away from it.",
                None,
            )
        )
    else:
        found.append(
            (
                "Probability",
                "The share of the topic's words that are this word: the mean over "
                + _all_draws(shown.samples, shown.chains),
                None,
            )
        )
    if shown.draws:
        found.append(
            (
                "Interval",
                "The 5 % and 95 % quantiles over the draws that are kept on disk: "
                f"{_kept_draws(shown)}. They tell how sure a chain is, not what another would find. One "
                "that begins at 0 % is of a word that one draw in twenty, or more, has not in the topic: "
                "it came or left while the topic moved, or the few documents that have it changed their "
                "topic.",
                None,
            )
        )
        found.append(
            (
                "Steady words",
                "How many of a topic's ten most probable words are among the ten of a single draw, on "
                "average.",
                None,
            )
        )
    if not shown.signed:
        found.append(
            (
                "Relevance",
                "λ log p(w | topic) + (1 - λ) log (p(w | topic) / p(w)): λ = 1 orders words by "
                f"probability, 0 by how much they are the topic's own. Words with fewer than {USES:g} "
                "expected uses in the topic are listed for their probability alone: below that chance "
                "rules.",
                "Sievert and Shirley 2014",
            )
        )
        found.append(
            (
                "Share of a word's uses",
                "Weight of the topic times probability of the word in it, over the sum of that for all "
                "topics.",
                None,
            )
        )
    found.append(
        (
            "Coherence",
            "NPMI of the ten most probable words, over pairs, from the training documents that hold "
            "both. 0 is chance, 1 always together.",
            "Bouma 2009; Lau, Newman and Baldwin 2014",
        )
    )
    found.append(
        (
            "Name",
            "Three words that are probable for sure, the topic's own, and not first words of many "
            "topics: 0.6 log p + 0.4 log (p / p(w)) - 0.5 log n, where p is the low end of the "
            "probability and n counts topics with the word among their first 16.",
            None,
        )
    )
    return found


def _all_draws(samples: int, chains: bool) -> str:
    """Say which draws the mean topics are of."""
    if not samples:
        return "the newest draw alone."
    if not chains:
        return f"all {plural(samples, 'posterior draw')}."
    return (
        f"all {plural(samples, 'posterior draw')} of the first chain; of topics that all chains share "
        "the mean of the chains' means."
    )


def _kept_draws(shown: OnPage) -> str:
    """Say how many draws intervals of words are read from."""
    if shown.pooled == shown.draws:
        return f"{shown.draws:,}"
    return f"{shown.draws:,} of the first chain, {shown.pooled:,} of all for topics that they share"


def _documents(shown: OnPage) -> list[_Entry]:
    if shown.components:
        weight = "The component's stick: its expected share of the documents to come."
    elif shown.documents and shown.drawn:
        weight = (
            f"The topic's share of the words, of all documents or of {DOCUMENTS:,} evenly spaced "
            f"ones: in each of {DRAWS} draws every word of a document is given a topic, and these are "
            "counted. "
            f"'sgmc topics' weighs by {WEIGHT_DOCUMENTS:,} documents under the mean topics."
        )
    else:
        weight = "The topic's expected share of the words, under the mean topics."
    found: list[_Entry] = [("Weight", weight, None)]
    if not shown.documents:
        return found
    if shown.drawn:
        found.append(
            (
                "Share of a document",
                f"Mean of {DRAWS} draws of the document's topics, each given one draw of the topics: "
                f"{DRAW_SWEEPS} Gibbs sweeps for the first, {NEXT_DRAW_SWEEPS} for each further one, of "
                "which the last counts. "
                "Intervals hold what is unsure within the document and about the topics.",
                None,
            )
        )
    else:
        found.append(
            ("Share of a document", "Its expected share, under the topics that are shown.", None)
        )
    found.append(
        (
            "Documents that have it",
            f"Those with a share of {100 * HAS:.0f} % or more; listed are those whose share's low end "
            f"is greatest, and at least {100 * SURE:.0f} %.",
            None,
        )
    )
    found.append(
        (
            "Tinted words",
            "Each word's likeliest topic: the greatest share of the document times probability of the "
            "word; stronger the surer.",
            None,
        )
    )
    if shown.groups or shown.drawn:
        found.append(
            (
                "Along the corpus, groups",
                "Words of the topic over all words of the group, in each draw; mean and quantiles of "
                "that.",
                None,
            )
        )
    if shown.drawn:
        found.append(
            (
                "Meeting in the same documents",
                "Correlation of the roots of the shares over documents, in each draw by itself; shown "
                f"where {100 * AGREE:.0f} % of the draws agree on its sign.",
                None,
            )
        )
    return found


def _topics(shown: OnPage) -> list[_Entry]:
    distance = (
        "The root of half of 1 minus the cosine: 0 is the same direction, 1 the opposite."
        if shown.signed
        else "Hellinger: the root of 1 - Σ √(p q) over the words. 0 is the same topic, 1 no word in "
        "common."
    )
    found: list[_Entry] = [("Distance", distance, None)]
    if shown.map:
        found.append(
            (
                "Map",
                "Principal axes of the distances, or t-SNE begun there, whichever keeps more of each "
                f"topic's nearest; below {100 * KEPT:.0f} % there is no map.",
                "van der Maaten and Hinton 2008",
            )
        )
    found.append(
        (
            "Tree",
            "Joins the two nearest groups by the mean distance of their members; a topic's place in it "
            "is its colour.",
            None,
        )
    )
    if not shown.components:
        halves = (
            "the mean topics of the two chains that agree least"
            if shown.chains
            else "the first and the second half of the chain"
        )
        found.append(
            (
                "Overlap",
                f"The probability that a topic has in common in {halves}: 1 is the same, 0 no word in "
                f"common. From {SAME:g} on topics are called the same.",
                None,
            )
        )
    if shown.chains and not shown.components:
        found.append(
            (
                "Found in n of C chains",
                "Chains that have this topic: the most, the first among them, of which any two have at "
                f"least {100 * SAME:.0f} % of its probability in common. Words of topics that all "
                "chains have are told from the draws of all, the others from those of the first; "
                "documents are from the first.",
                None,
            )
        )
    found.append(
        (
            "R-hat, effective draws",
            "How much figures differ between chains, or halves, beyond what they vary within: below "
            f"{MIXED:g} they are called mixed; of topics above that the page says that their "
            "numbers still drift. Effective draws are what the draws are worth in independent ones.",
            "Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021",
        )
    )
    return found
