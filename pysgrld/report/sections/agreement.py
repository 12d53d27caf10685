"""Section on the agreement of chains, or of halves of a chain, and on the topics' reliability."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pysgrld.errors import all_of
from pysgrld.evaluate.matching import CORRELATED, SAME
from pysgrld.reading.diagnosis import FIRM, LARGE, MIXED, MatchedTopic, is_firm, is_mixed, is_shared
from pysgrld.reading.verdict import judgements
from pysgrld.report.page_file import finite
from pysgrld.report.reported_run import Definition, ReportedRun, Section

#: A topic is reliable if at least this fraction of replicates found it.
SURELY = 0.9
#: A topic is not reliable if at most this fraction of replicates found it.
HARDLY = 0.2
#: Number of words shown of a topic's counterpart in another chain.
_OTHER_WORDS = 10


class Agreement(Section):
    """Section on the topics that other chains also found."""

    def main(self) -> dict[str, Any]:
        """Return scores of the draws of all chains, and sentences on the agreement of chains."""
        run, diagnosis, limits = self.run, self.run.diagnosis, {"same": SAME}
        self._tops = [results.top(_OTHER_WORDS, run.at) for results in run.chains[1:]]
        if diagnosis is None:
            return {"limits": limits, "chains": None, "replicates": self._replicates}
        traces = None
        if diagnosis.traces is not None:
            log, token = diagnosis.traces, diagnosis.unit == "token"
            traces = {
                "iterations": list(diagnosis.iterations),
                "values": np.round(np.exp(-log) if token else -log, 4).tolist(),
                "name": f"{run.results.fitted.score.title} of one draw",
            }
        said = judgements(diagnosis)
        if diagnosis.chains == 1 and diagnosis.topics:
            # Leave out the first judgement, which is about topics found in both halves of the
            # chain. Such topics would not necessarily be found by another chain.
            said = said[1:]
        chains = {
            "count": diagnosis.chains,
            "pooled": run.pooled,
            "names": [path.name for path in diagnosis.runs],
            "sentences": [{"good": j.good, "text": j.sentence} for j in said],
            "traces": traces,
        }
        return {"limits": limits, "chains": chains, "replicates": self._replicates}

    @property
    def _replicates(self) -> int | None:
        return None if self.run.replicated is None else self.run.replicated.replicates

    def of_topic(self, k: int) -> dict[str, Any]:
        """Return a topic's counterparts in other chains, and its smallest overlap of two chains."""
        match, chains = self.run.matched.get(k), self.run.chains
        again: dict[str, Any] = {}
        if self.run.replicated is not None:
            times, number = self.run.replicated.times[k], self.run.replicated.replicates
            again = {
                "found": [times, number],
                "trust": trust_by_replicates(times, number)._asdict(),
            }
        if match is None:
            nothing = dict.fromkeys(("overlap", "found", "trust", "rhat", "ess"))
            return nothing | {"others": []} | again
        vocabulary = self.run.results.vocabulary
        own = set(self.run.first_words[k, :_OTHER_WORDS].tolist())
        others = []
        for number, tops in enumerate(self._tops, 1):
            row = match.counterparts[number]
            words = [[vocabulary[w], w in own] for w in tops[row].tolist()]
            overlap = round(match.overlaps[number], 4)
            others.append({"chain": number + 1, "id": row, "overlap": overlap, "words": words})
        return {
            "overlap": finite(match.overlap, 4) if len(chains) > 1 else None,
            "found": [match.found, len(chains)] if len(chains) > 1 else None,
            "trust": trust_of(self.run, match)._asdict(),
            "rhat": finite(match.rhat, 4),
            "ess": finite(match.ess, 4),
            "others": others,
        } | again

    def definitions(self) -> list[Definition]:
        """Define overlap, R-hat, and when a chain has found a topic."""
        found, several = [], len(self.run.chains) > 1
        if self.run.results.fitted.counts() is None and several:
            found.append(
                Definition(
                    "Overlap",
                    f"How similar a topic is in the two chains that agree least: the probability "
                    f"that its two distributions over words have in common. 1 means equal, 0 "
                    f"means no word in common. Topics with {SAME:g} or more count as the same.",
                )
            )
            found.append(
                Definition(
                    "● ◐ ○",
                    "● All chains have the topic, and any two chains have at least "
                    f"{', '.join(f'{100 * x:.0f}' for x in FIRM.values())} % of its probability "
                    "in common (for two, three, or more chains); with two chains, the topic "
                    f"must also have {LARGE:g} times the average share. In trials, 9 of 10 "
                    "further chains had such a topic. ◐ At least three quarters of the chains "
                    "have the topic. ○ Fewer chains have the topic.",
                )
            )
            found.append(
                Definition(
                    "Found in n of C chains",
                    "Number of chains that agree on the topic, including the first chain: any two "
                    f"of them have at least {100 * SAME:.0f} % of the topic's probability in "
                    "common. The topic's words and shares are averages over these chains; "
                    "intervals are wider if these chains disagree.",
                )
            )
        if (number := self._replicates) is not None:
            found.append(
                Definition(
                    "● ◐ ○",
                    f"The model was trained again on {number} random halves of the documents. "
                    f"● At least {100 * SURELY:.0f} % of these runs have a topic whose shares "
                    f"in documents correlate with those of the topic by {CORRELATED:g} or more. In "
                    "tests, 9 of 10 such topics were found in new texts. ◐ More than "
                    f"{100 * HARDLY:.0f} % of the runs have one. ○ At most {100 * HARDLY:.0f} % have "
                    "one; of such topics, 1 in 10 was found in new texts.",
                )
            )
        return [
            *found,
            Definition(
                "R-hat, effective draws",
                "R-hat: spread of a value over all chains (or both halves of one chain), "
                "compared with its spread within a chain (or half); 1 means no difference. If "
                f"R-hat is {MIXED:g} or more, the topic's shares and intervals are marked as "
                "rough. "
                "Effective draws: number of independent draws whose mean is equally precise.",
                "Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021",
            ),
        ]


class Trust(NamedTuple):
    """The judgement of whether a topic is reliable.

    Attributes
    ----------
    good : bool or None
        True if the topic is reliable, False if it is not, None if this is not clear.
    head, text : str
        Which chains found the topic, and how far it can be relied on.
    drift : str or None
        R-hat, if the topic was found again and its numbers have not converged.
    state : {"again", "partly", "alone", "once"}
        "again": the chains have such similar topics that a further chain would find it (`is_firm`),
        or most replicates found it; "partly": their topics are less similar, or some replicates
        found it; "alone": too few other chains or replicates have it; "once": not known, as the run
        has one chain and no replicates.
    """

    good: bool | None
    head: str
    text: str
    drift: str | None
    state: str


def trust_of(run: ReportedRun, topic: MatchedTopic) -> Trust:
    """Judge whether a topic of a run is reliable.

    Parameters
    ----------
    run : ReportedRun
    topic : MatchedTopic
    """
    weights = run.weights
    share = 0.0 if weights is None else float(weights[topic.id] * len(weights) / weights.sum())
    return trust(topic, len(run.chains), share)


def trust_by_replicates(times: int, number: int) -> Trust:
    """Judge whether a topic is reliable, given the number of replicates that found it.

    Parameters
    ----------
    times, number : int
        Number of replicates (new runs on halves of the documents) that found the topic, and number
        of replicates.
    """
    head = f"{times} of {number} new runs on halves of the documents found it:"
    if times >= SURELY * number:
        text = "a run on new texts would find it in 9 of 10 cases."
        return Trust(True, head, text, None, "again")
    if times <= HARDLY * number:
        return Trust(False, head, "do not rely on it.", None, "alone")
    return Trust(None, head, "a run on new texts may not find it.", None, "partly")


def trust(topic: MatchedTopic, chains: int, share: float) -> Trust:
    """Judge whether a topic is reliable: found by other chains, with values that have converged.

    Parameters
    ----------
    topic : MatchedTopic
    chains : int
        Number of chains. One chain gives no judgement, as the similarity of its halves does not
        predict the topics of another chain.
    share : float
        Share of the topic divided by the average share of all topics.
    """
    if chains == 1:
        text = "it is unknown whether another chain would find this topic."
        return Trust(None, "Trained once:", text, None, "once")
    drift = None if is_mixed(topic) else f"{topic.rhat:.2f}"
    if is_shared(topic):
        head = f"{all_of(chains, 'chains').capitalize()} found it:"
        if is_firm(topic, chains, share):
            return Trust(
                True, head, "a further chain would find it in 9 of 10 cases.", drift, "again"
            )
        return Trust(
            None, head, "a further chain may find a different form of it.", drift, "partly"
        )
    head = f"{topic.found} of {chains} chains found it:"
    if 4 * topic.found >= 3 * chains:
        return Trust(None, head, "its values are averages over these chains.", drift, "partly")
    if topic.found == 1:
        head = "No other chain found it:"
    return Trust(False, head, "do not rely on it.", None, "alone")
