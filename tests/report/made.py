"""Made-up reports for the page, from random numbers, encoded here by the written format only."""

from __future__ import annotations

import json
import struct
import zlib
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

THEMES = """ship sea wind sail harbour captain voyage wave anchor storm deck crew
king crown throne queen palace court royal prince realm reign noble heir
garden flower seed rose soil spring bloom leaf tree root green fruit
court law judge trial crime guilty jury prison statistics lawyer witness oath
music song violin concert piano melody tune choir rhythm opera sound note
army battle soldier war enemy victory sword general march siege camp weapon
market price trade merchant money gold silver coin shop buy sell profit
church prayer faith soul priest holy altar sacred bishop spirit grace hymn
doctor fever illness patient medicine cure nurse pain hospital health wound remedy
star planet moon sky orbit comet telescope light sun eclipse heaven night
horse stable saddle rider bridle hunt hound field fox gallop mare hoof
bread wine supper kitchen cook meat salt butter feast table flour oven
school teacher lesson pupil book learn master grammar class latin study desk
letter pen ink paper write post envelope reply seal address page write
winter snow ice frost cold fire coat hearth chimney blanket wood ember
river bridge stream bank mill water flood boat current fish ford reed
mother child cradle daughter son model birth nursery father infant sister brother
mountain valley rock path summit climb cliff peak shepherd goat pass eagle
theatre stage actor play scene audience comedy tragedy mask curtain role applause
machine engine steam iron wheel railway coal furnace factory gear lever boiler"""
FILLER = [
    "the",
    "of",
    "and",
    "a",
    "to",
    "in",
    "that",
    "it",
    "with",
    "was",
    "for",
    "on",
    "as",
    "by",
    "his",
    "her",
    "they",
    "not",
    "but",
    "from",
]
HOSTILE = [
    "</script>", "<img src=x onerror=alert(1)>", "\u202egnp.exe", "a\x00b", "ab" * 2500,
    "__proto__", "constructor", " ", "it's \"quoted\"", "100%", "%E0%A4%A", "\U0001f600",
    "\u200b", "=1+1", "--><!--", "{{DATA}}/*SCRIPT*/<!--DATA-->", "${1+1}", "&lt;b&gt;",
    "\ufeffbom", "e\u0301", "line\u2028end",
]  # fmt: skip
SPAN = 20.8


class Made(NamedTuple):
    """A report, its blocks, and the data to compare with: terms of each topic, by codes."""

    report: dict[str, Any]
    blocks: dict[str, bytes]
    words: list[str]
    counts: np.ndarray
    terms: list[list[tuple[int, int]]]  # for each topic: place of a word, code of its mean


# ---- the format, as it is written down ---------------------------------------------------------------


def code(p: Any) -> np.ndarray:
    p = np.asarray(p, float)
    steps = np.round(-np.log(np.maximum(p, 1e-9)) * 65535 / SPAN)
    return np.where(p < 1e-9, 65535, np.clip(steps, 0, 65534)).astype(int)


def share(x: Any, top: int) -> np.ndarray:
    return np.round(np.clip(np.asarray(x, float), 0, 1) * top).astype(int)


def packed(parts: list[tuple[str, str, Any]]) -> tuple[list[list[Any]], bytes]:
    """Parts (name, type, numbers or text) as in the main JSON, and as a zlib stream."""
    letter = {"u8": "B", "i8": "b", "u16": "H", "u32": "I"}
    listed, data = [], b""
    for name, kind, values in parts:
        if kind == "utf8":
            raw = values.encode()
            listed.append([name, kind, len(raw)])
        else:
            values = np.asarray(values).ravel().tolist()
            raw = struct.pack(f"<{len(values)}{letter[kind]}", *values)
            listed.append([name, kind, len(values)])
        data += raw + b"\0" * (-len(raw) % 4)
    return listed, zlib.compress(data)


# ---- what is in it -----------------------------------------------------------------------------------


def vocabulary(rng: np.random.Generator, size: int, hostile: bool) -> list[str]:
    """Return words of the themes, then of syllables; the hostile words are among the first."""
    words = dict.fromkeys(THEMES.split())
    while len(words) < size:
        made = rng.choice(list("bdfgklmnprstvz"), (500, 3)), rng.choice(list("aeiou"), (500, 3))
        words |= dict.fromkeys(
            "".join(map("".join, zip(c, v, strict=True))) for c, v in zip(*made, strict=True)
        )
    listed = list(words)[:size]
    if hostile:
        listed[5 : 5 + len(HOSTILE)] = HOSTILE
    return listed


def topic_words(rng: np.random.Generator, topics: int, words: int) -> list[np.ndarray]:
    """Return the places of each topic's words, its theme first, most probable first."""
    found = []
    for k in range(topics):
        theme = np.arange(12) + 11 * (k % 20) if k < 20 else rng.choice(words, 12, replace=False)
        rest = rng.choice(words, 60, replace=False)
        found.append(np.array(list(dict.fromkeys(np.concatenate([theme, rest]).tolist()))[:60]))
    return found


def by_frequency(rng, listed, places, mean, weights):
    """Count words as the topics have them, and sort the frequent ones first."""
    counts = rng.integers(5, 40, len(listed)).astype(float)
    for place, m, weight in zip(places, mean, weights, strict=True):
        counts[place] += 200_000 * weight * m
    order = np.argsort(-counts, kind="stable")
    now = np.argsort(order)
    return [listed[i] for i in order], [now[p] for p in places], counts[order].astype(int)


def made(
    topics: int = 20,
    words: int = 1500,
    documents: int = 160,
    *,
    seed: int = 1,
    texts: str = "kept",
    hostile: bool = False,
    chains: int = 0,
    linear: bool = False,
    title: str = "Letters from the harbour",
) -> Made:
    """Make a report of an ordinary run, from which the others are made."""
    rng = np.random.default_rng(seed)
    listed = vocabulary(rng, words, hostile)
    weights = np.sort(rng.gamma(3, 1, topics))[::-1]
    weights /= weights.sum()
    blocks: dict[str, list[tuple[str, str, Any]]] = {}
    places = topic_words(rng, topics, words)
    mean = [
        0.4 * m / m.sum() for m in (np.sort(rng.gamma(0.5, 1, len(p)) + 0.01)[::-1] for p in places)
    ]
    listed, places, counts = by_frequency(rng, listed, places, mean, weights)
    codes = _terms(rng, blocks, places, mean, linear)
    _words(blocks, listed, counts, places, codes, weights)
    distance, order, merges, xy = _likeness(rng, topics)
    hue = {k: round(360 * i / topics, 1) for i, k in enumerate(order)}
    theta = rng.dirichlet(weights * topics * 0.25, documents)
    docs = _docs(rng, blocks, theta, places, listed, texts, hostile)
    shown = [
        _topic(rng, k, weights[k], listed, places[k], hue[k], xy[k], theta, texts, chains)
        for k in range(topics)
    ]
    bins = [f"{i * 20 + 1}" for i in range(48)]
    _layout(rng, blocks, "along", weights, 48)
    columns = [
        _column("section", "category", HOSTILE[:6] if hostile else ["news", "letters", "poems", "obituaries", "essays"], rng),
        _column("year", "time", [str(1850 + i) for i in range(30)], rng, ordered=True),
        _column("__proto__" if hostile else "place", "category", [f"{HOSTILE[(i + 6) % 21][:60] if hostile else 'port of ' + listed[i * 7]} {i}" for i in range(22)], rng),
    ]  # fmt: skip
    for i, column in enumerate(columns):
        _layout(rng, blocks, f"group-{i}", weights, len(column["levels"]))
    _near(rng, blocks, distance, topics)
    dots, spots = _dots(
        np.random.default_rng(seed),
        blocks,
        theta,
        xy,
        docs,
        len(columns[0]["levels"]),
        has_intervals=True,
    )
    shown = [{**t, **spot} for t, spot in zip(shown, spots, strict=True)]
    report = {
        "format": "sgmc-report", "version": 1, "sgmc": "0.1.0", "key": f"{seed:064x}",
        "title": title, "run": "letters-scir",
        "sentence": f"{topics} topics in {documents * 7:,} letters, found by SCIR. What you see is the mean of 40 draws from the posterior; bands: 90 % of the draws.",
        "noun": ["letter", "letters"], "topic": ["topic", "topics"], "layer": None,
        "interval": {"title": "90 % interval", "remark": "about 1.9 times as wide as the posterior's", "draws": 40, "pooled": 40},
        "facts": [
            {"label": "letters", "value": f"{documents * 7:,}", "beside": "118 more held out"},
            {"label": "words", "value": "218,360", "beside": f"{words:,} different"},
            {"label": "letter length", "value": "193", "beside": "13 to 875"},
            {"label": "training", "value": "8.2 s", "beside": "630 iterations"},
        ],
        "verdicts": [
            {"good": True, "head": "Finished.", "text": "Doubling the sampling bought less than 0.5 % of perplexity.", "code": None},
            {"good": True, "head": "44 % better than word frequencies.", "text": "A held-out word costs as much as a choice among 765 words; without topics, among 1,368.", "code": None},
            {"good": False, "head": "One chain only.", "text": "Whether another would have found these topics is not known: train with", "code": "--chains 4"},
            {"good": None, "head": "Intervals are wide.", "text": "Minibatches make the draws vary 1.9 times as much as the posterior.", "code": None},
        ],
        "missing": [],
        "curve": {
            "name": "perplexity", "sentence": "Perplexity of words hidden from the model; lower is better.",
            "average": [[1.2 + 0.07 * i, 765 + 60 * float(np.exp(-i / 18))] for i in range(100)],
            "point": [[0.4 + 0.4 * i, 812 + 90 * float(np.exp(-i / 3)) + 3 * (-1) ** i] for i in range(20)],
            "unigram": 1368.0, "last": {"average": 765.2, "point": 812.4, "unigram": 1368.0},
        },
        "limits": {"same": 0.7}, "size": topics, "scale": "linear" if linear else "log", "topics": shown, "docs_of": documents * 7,
        "order": order, "merges": merges, "leaf_ids": list(range(topics)),
        "map": {"kept": 0.62, "neighbours": 5, "how": "t-SNE started from the principal axes"},
        "along": {"title": "along the corpus", "bins": bins, "starts": bins, "documents": [documents * 7 // 48] * 48},
        "columns": columns, "best": 0, "dots": dots, "corpus_share": {key: [float(w) for w in weights] for key in ("documents", "words")},
        "docs": docs, "texts": texts, "layers": None, "components": None, "chains": None, "predictions": _predictions(rng),
        "method": METHOD, "words_tokens": int(counts.sum() * 1.1), "words_of": documents, "words_total": words + 300,
        "options": [["--topics", str(topics), True], ["--algo", "scir", True], ["--alpha", "0.1", False], ["--eta", "0.05", False], ["--batch-size", "256", False]],
    }  # fmt: skip
    if topics <= 400:
        signs = np.triu(rng.normal(0, 0.22, (topics, topics)), 1)
        signs[np.abs(signs) < 0.1] = 0
        correlation = np.clip(np.round((signs + signs.T) * 127), -127, 127).astype(int)
        blocks["pairs"] = [
            ("distance", "u8", share(distance, 255)),
            ("correlation", "i8", correlation),
        ]
    if chains:
        report["chains"] = _chains(rng, chains)
    terms = [
        list(zip(p.tolist(), c.tolist(), strict=True)) for p, c in zip(places, codes, strict=True)
    ]
    return Made(*_sealed(report, blocks), listed, counts, terms)


METHOD = [
    {"name": "Share", "text": "The part of all words that belongs to a topic: the mean over draws.", "source": None},
    {"name": "Interval", "text": "The 5 % and 95 % quantiles over the kept draws of this chain. They tell how sure this chain is, not what another seed would find.", "source": None},
    {"name": "Relevance", "text": "λ log p(w | topic) + (1 − λ) log p(w | topic) / p(w).", "source": "Sievert and Shirley 2014"},
    {"name": "Coherence", "text": "Mean NPMI over all pairs of the first ten words shown, from the training documents that have both words. 0: the words occur together by chance; 1: they always occur together.", "source": "Bouma 2009; Lau, Newman and Baldwin 2014"},
    {"name": "Stable words", "text": "How many of the ten most probable words are among the ten of a single draw, on average.", "source": None},
    {"name": "Distance", "text": "Hellinger distance: square root of 1 - Σ √(p q) over the words. 0 means the same topic, 1 no word in common.", "source": None},
    {"name": "R-hat, effective draws", "text": "How much figures differ between chains.", "source": None},
    {"name": "Perplexity", "text": "Document completion: each held-out document's topics from 80 % of its words, the rest predicted.", "source": "Wallach et al. 2009"},
]  # fmt: skip


def _sealed(
    report: dict[str, Any], blocks: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, bytes]]:
    both = {name: packed(parts) for name, parts in blocks.items()}
    report["blocks"] = {name: listed for name, (listed, _) in both.items()}
    return report, {name: data for name, (_, data) in both.items()}


def _terms(rng, blocks, places, mean, linear) -> list[np.ndarray]:
    n = [len(p) for p in places]
    if linear:
        means = [np.concatenate([m[:-10] * 5, -m[-10:] * 5 - 0.01]).clip(-1, 1) for m in mean]
        encode = lambda x: np.round(np.asarray(x) * 32767 + 32768).astype(int)  # noqa: E731
        spread = lambda m, sign: m + sign * 0.02  # noqa: E731
    else:
        means, encode = mean, code
        spread = lambda m, sign: m * np.exp(sign * rng.uniform(0.05, 0.35, len(m)))  # noqa: E731
    codes = [encode(m) for m in means]
    low = np.concatenate([encode(spread(m, -1)) for m in means])
    high = np.concatenate([encode(np.minimum(spread(m, 1), 1)) for m in means])
    total = sum(n)
    blocks["terms"] = [
        ("n", "u16", n), ("word", "u32", np.concatenate(places)), ("mean", "u16", np.concatenate(codes)),
        ("low", "u16", low), ("high", "u16", high), ("open", "u8", rng.random(total) < 0.03),
        ("ten", "u8", np.concatenate([share(np.exp(-np.arange(size) / 6), 255) for size in n])),
        ("share", "u8", share(rng.beta(1.2, 1, total), 255)),
    ]  # fmt: skip
    return codes


def _words(blocks, listed, counts, places, codes, weights) -> None:
    """Return the topics of each word by probability times the topic's weight."""
    of: dict[int, list[tuple[float, int]]] = {}
    for k, (place, mean) in enumerate(zip(places, codes, strict=True)):
        for w, c in zip(place.tolist(), mean.tolist(), strict=True):
            of.setdefault(w, []).append((weights[k] * np.exp(-c * SPAN / 65535), k))
    rows = []
    for w in range(len(listed)):
        found = sorted(of.get(w, []), reverse=True)
        total = sum(p for p, _ in found) * 1.05
        rows.append([(k, p / total) for p, k in found if p / total >= 0.04][:6])
    flat = [pair for row in rows for pair in row]
    blocks["words"] = [
        ("text", "utf8", "\n".join(listed)), ("count", "u32", counts), ("n", "u8", [len(r) for r in rows]),
        ("topic", "u16", [k for k, _ in flat]), ("share", "u8", share([s for _, s in flat], 255)),
    ]  # fmt: skip


def _likeness(rng, topics: int):
    """Return points on a plane, their distances, and the tree that joins the nearest neighbours."""
    xy = rng.random((topics, 2))
    apart = np.sqrt(((xy[:, None] - xy) ** 2).sum(-1))
    distance = np.where(np.eye(topics) > 0, 0, np.clip(0.35 + 0.6 * apart, 0, 1))
    order = np.lexsort((xy[:, 1], np.round(xy[:, 0] * 4))).tolist()
    gaps = [(float(distance[a, b]), i) for i, (a, b) in enumerate(pairwise(order))]
    cluster, size, merges, height = list(order), [1] * topics, [], 0.0
    for gap, i in sorted(gaps):
        a, b = cluster[i], cluster[i + 1]
        height = max(height + 1e-3, gap)
        members = size[i] + size[i + 1]
        merges.append([min(a, b), max(a, b), round(height, 4), members])
        joined = [j for j in range(topics) if cluster[j] in (a, b)]
        for j in joined:
            cluster[j], size[j] = topics + len(merges) - 1, members
    return distance, order, merges, xy.round(3).tolist()


def _topic(rng, k, weight, listed, place, hue, xy, theta, texts, chains) -> dict[str, Any]:
    top = [listed[w] for w in place[:9]]
    ten = np.sort(rng.beta(6, 1.5, 10))[::-1].round(3)
    others = [
        {"chain": c, "id": int(rng.integers(len(theta[0]))), "overlap": round(float(rng.beta(5, 2)), 2),
         "words": [[word, bool(rng.random() < 0.7)] for word in [listed[w] for w in place[:10]]]}
        for c in range(2, chains + 1)
    ]  # fmt: skip
    found = [1 + sum(o["overlap"] >= 0.7 for o in others), chains] if chains else None
    best = np.argsort(-theta[:, k])[:5]
    rhat = round(float(1 + rng.gamma(1, 0.3)), 2) if chains else None
    return {
        "id": k, "label": " · ".join(word[:60] for word in top[:3]), "auto": " · ".join(word[:60] for word in top[:3]),
        "named": False, "hue": hue, "top": top, "weight": [float(weight), float(weight * 0.94), float(weight * 1.07)],
        "npmi": round(float(rng.normal(0.16, 0.09)), 3), "steady": round(float(ten.sum()), 1), "ten": ten.tolist(),
        "docs": int((theta[:, k] > 0.1).sum() * 7), "overlap": round(float(rng.beta(8, 2)), 2), "found": found,
        "trust": _trust(found, rhat) if chains else None, "rhat": rhat, "ess": round(float(rng.gamma(4, 8)), 1) if chains else None,
        "others": others, "rep": best.tolist() if texts != "none" else [], "xy": xy, "documents": None, "against": [], "seeds": [[top[0], 1, 0.97], [top[8], 9, 0.6], ["unknown", None, None]] if k == 1 else None,
    }  # fmt: skip


def _trust(found, rhat) -> dict[str, Any]:
    n, of = found
    drift = f"{rhat:.2f}" if 4 * n >= 3 * of and rhat >= 1.1 else None
    firm = n == of and rhat < 1.3  # any rule that leaves some of each
    head = f"All {of} chains" if n == of else f"{n} of {of} chains" if n > 1 else "No other chain"
    text = (
        "do not rely on it."
        if 4 * n < 3 * of
        else "a further chain would find it in 9 of 10 cases."
        if firm
        else "a further chain may find a different form of it."
    )
    good = True if firm else None if 4 * n >= 3 * of else False
    state = {True: "again", None: "partly", False: "alone"}[good]
    return {"good": good, "state": state, "head": f"{head} found it:", "text": text, "drift": drift}


def _layout(rng, blocks, name, weights, levels) -> None:
    mean = weights[:, None] * rng.gamma(1.2, 0.8, (len(weights), levels))
    mean /= mean.sum(0)
    half = 0.15 * mean + 0.002
    low, high = mean - half, mean + half
    sign = np.where(low > weights[:, None], 1, np.where(high < weights[:, None], -1, 0))
    blocks[name] = []
    for kind in ("", "words-"):
        for part, values in [("mean", mean), ("low", low), ("high", high)]:
            blocks[name].append((kind + part, "u16", share(values, 65535)))
        blocks[name].append((f"{kind}sign", "i8", sign))


def _column(name, kind, levels, rng, ordered=False) -> dict[str, Any]:
    documents = rng.integers(3, 300, len(levels)).tolist()
    return {
        "name": name,
        "kind": kind,
        "levels": levels,
        "documents": documents,
        "missing": 12,
        "ordered": ordered,
        "more": 0,
        "within": None,
    }


def _near(rng, blocks, distance, topics) -> None:
    far = distance + np.eye(topics) * 9
    nearest = np.argsort(far, axis=1, kind="stable")[:, :12]
    missing = max(0, 12 - (topics - 1))
    near = [[*row[: topics - 1].tolist(), *[65535] * missing][:12] for row in nearest]
    gaps = [
        [0 if k == 65535 else int(share(distance[i, k], 255)) for k in row]
        for i, row in enumerate(near)
    ]
    friends = [
        [
            *rng.choice(
                [j for j in range(topics) if j != i], min(5, topics - 1), replace=False
            ).tolist(),
            *[65535] * 12,
        ][:12]
        for i in range(topics)
    ]
    strength = [[(40 - 7 * j) if k != 65535 else 0 for j, k in enumerate(row)] for row in friends]
    blocks["near"] = [
        ("topic", "u16", near),
        ("distance", "u8", gaps),
        ("friend", "u16", friends),
        ("correlation", "i8", strength),
    ]


def _docs(rng, blocks, theta, places, listed, texts, hostile) -> dict[str, Any]:
    n = len(theta)
    whole = [_content(rng, row, places, listed, texts) for row in theta] if texts != "none" else []
    if texts == "kept":
        whole[3]["cut"] = [1200, 310]
    if whole:
        blocks["docs"] = [("json", "utf8", json.dumps(whole, ensure_ascii=False))]
    main = [
        [v for k in np.argsort(-row)[:3] for v in (int(k), round(float(row[k]), 3))]
        for row in theta
    ]
    titles = [
        HOSTILE[i % len(HOSTILE)]
        if hostile
        else f"Letter {i + 1}, {listed[places[main[i][0]][i % 9]]} and {listed[places[main[i][2]][i % 7]]}"
        for i in range(n)
    ]
    return {
        "of": n * 7, "row": [7 * i for i in range(n)], "id": [f"l-{i:04d}" for i in range(n)], "title": titles,
        "tokens": [int(t) for t in rng.integers(40, 400, n)], "held": [int(i % 9 == 4) for i in range(n)],
        "main": main, "whole": texts == "kept",
    }  # fmt: skip


def _content(rng, theta, places, listed, texts) -> dict[str, Any]:
    greatest = [k for k in np.argsort(-theta)[:12].tolist() if theta[k] > 0.004]
    shares = [
        [
            k,
            round(float(theta[k]), 4),
            round(float(max(0, theta[k] - 0.08)), 4),
            round(float(min(1, theta[k] + 0.09)), 4),
        ]
        for k in greatest
    ]
    drawn = rng.choice(len(theta), 130, p=theta)
    ranks = np.minimum(rng.geometric(0.11, 130) - 1, 59)
    if texts == "words":
        found: dict[tuple[str, int], int] = {}
        for k, r in zip(drawn.tolist(), ranks.tolist(), strict=True):
            key = (listed[places[k][r]], k)
            found[key] = found.get(key, 0) + 1
        some = [[w, n, k, int(rng.integers(30, 100))] for (w, k), n in found.items()]
        return {"theta": shares, "words": sorted(some, key=lambda one: -one[1])}
    text, spans, last = "", [], 0
    for i, (k, r) in enumerate(zip(drawn.tolist(), ranks.tolist(), strict=True)):
        text += " ".join(rng.choice(FILLER, rng.integers(0, 3)).tolist())
        text += "" if text.endswith((" ", "\n")) or not text else " "
        word = listed[places[k][r]][:400]
        begin = len(text.encode("utf-16-le")) // 2
        text += word + ("." if i % 11 == 10 else "") + ("\n\n" if i % 60 == 59 else " ")
        spans += [begin - last, len(word.encode("utf-16-le")) // 2, k, int(rng.integers(25, 100))]
        last = begin + spans[-3]
    return {
        "theta": shares,
        "text": text,
        "spans": spans,
        "best": [40, min(len(text), 340)],
        "cut": None,
    }


def _dots(rng, blocks, theta, xy, docs, levels: int, *, has_intervals: bool):
    """Place documents near their first topic, and return the position of each topic's name."""
    first, mean = theta.argmax(1), theta.max(1)
    points = np.clip(np.asarray(xy)[first] + rng.normal(0, 0.04, (len(theta), 2)), 0, 1)
    low = np.maximum(mean - 0.15, 0)
    blocks["dots"] = [
        ("row", "u32", np.diff(docs["row"], prepend=0)), ("x", "u16", share(points[:, 0], 65535)), ("y", "u16", share(points[:, 1], 65535)),
        ("topic", "u16", first), ("mean", "u8", share(mean, 255)), ("low", "u8", share(low, 255)),
        ("high", "u8", share(mean + 0.1, 255)), ("name", "utf8", "\n".join(" ".join(t.split()) for t in docs["title"])),
    ]  # fmt: skip
    blocks["best"] = [("level", "u8", rng.integers(0, levels, len(theta)))]
    spots = [
        {"spot": list(xy[k]) if (first == k).sum() > 2 else None, "mostly": int((low[first == k] > 0.5).sum())}
        for k in range(theta.shape[1])
    ]  # fmt: skip
    dots = {
        "documents": len(theta), "drawn": len(theta), "of": docs["of"], "sure": int((low > 0.5).sum()),
        "intervals": has_intervals, "map": {"kept": 0.48, "neighbours": 10},
    }  # fmt: skip
    return dots, spots


def _predictions(rng) -> dict[str, Any]:
    """Return groups by length; for the shortest documents, topics gain nothing for certain."""
    gains = (-0.02, *rng.uniform(0.3, 0.5, 3).round(2).tolist())
    groups = [
        {"from": 12 + 60 * i, "to": 60 + 60 * i, "documents": 30 - i, "score": f"{910 - 70 * i} ± 83", "unigram": "1,390 ± 40",
         "mean": gain, "low": round(gain - 0.05, 2), "high": round(gain + 0.06, 2)}
        for i, gain in enumerate(gains)
    ]  # fmt: skip
    return {"name": "perplexity", "groups": groups}


def _chains(rng, chains: int) -> dict[str, Any]:
    values = [
        (812 + 4 * c + np.cumsum(rng.normal(0, 1.2, 60)) + rng.normal(0, 3, 60)).round(2).tolist()
        for c in range(chains)
    ]
    return {
        "count": chains, "names": [f"chain-{c + 1}" for c in range(chains)],
        "sentences": [
            {"good": True, "text": "16 of 20 topics are the same in all 4 chains, with at least 70 % of their probability in common."},
            {"good": False, "text": "Chain 3 still drifts: the two halves of a chain differ (R-hat). Train longer, or ignore early samples with sgmc diagnose --burn-in N."},
        ],
        "traces": {"iterations": list(range(205, 505, 5)), "values": values, "name": "perplexity of one draw"},
    }  # fmt: skip
