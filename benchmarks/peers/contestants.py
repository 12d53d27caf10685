"""The peers, each with its fastest documented settings: how one is trained, and where its topics are.

A peer is a function (task, watch, own): ``own`` asks for the peer's own priors and defaults. What
comes before ``watch.start`` is reading; it is on nobody's clock.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scoring import Found, Task, Watch


class Peer(NamedTuple):
    """A tool, and a function that trains it.

    Attributes
    ----------
    package, module : str
        As installed by pip, and as imported.
    kind : str
        "sgmc", "Gibbs" (every token's topic in memory) or "variational".
    run : callable (task, watch, own)
    refits : bool
        Whether it cannot go on, so that every point is a fit from scratch.
    settings, own : str
        What is set beside the priors; what its own priors are (empty: it has none but ours).
    threads : bool
        Whether it can train with several threads.
    """

    package: str
    module: str
    kind: str
    run: Callable[[Task, Watch, bool], None]
    refits: bool
    settings: str
    own: str
    threads: bool = False

    def cannot(self, *, own: bool, threads: int, chains: int) -> str | None:
        """Return a feature that a contest requires and this tool lacks, None if it lacks none."""
        if own and not self.own:
            return "priors of its own"
        if threads > 1 and not self.threads:
            return "threads"
        if chains > 1 and (self.refits or self.kind == "variational"):
            return "draws to average over chains"
        return None


# ---- sgmc


def sgmc(algo: str) -> Callable[[Task, Watch, bool], None]:
    """Train as `sgmc train --algo ALGO` does without any other option."""

    def run(task: Task, watch: Watch, own: bool) -> None:
        from pysgrld.corpus.minibatches import Epochs, minibatch_words
        from pysgrld.models.protocol import CorpusFacts, RunOn
        from pysgrld.models.resolve import resolve
        from pysgrld.options.option import Facts
        from pysgrld.train.begin import begin

        d, tokens = len(task.documents), task.documents.tokens
        given = {
            "algo": algo,
            "topics": task.topics,
            "alpha": "learn" if own else task.alpha,
            "eta": task.eta,
            "seed": task.seed,
        }

        words = minibatch_words(task.documents, np.arange(d))
        facts = Facts(d, task.words, tokens, task.score_visits, words)
        options, _ = resolve(given, facts)
        watch.start()
        stream = Epochs.of(options, task.documents, np.arange(d))
        # taking a sample and adding it to the mean topics is training; scoring it is not
        posterior = begin(options, stream, CorpusFacts(task.words, tokens), RunOn(task.threads))
        chain = posterior.chain

        def found(draw: Any) -> Found:
            alpha = draw["alpha"][: task.topics] if own else None
            return Found(draw["phi"][:, : task.topics].T, alpha)

        def topics() -> Found:
            return found(chain.draw())

        def mean() -> Found:
            return found(posterior.mean())

        while True:
            visit = chain.advance()
            if draw := posterior.is_due:
                posterior.take_sample()
            watch.tick(topics, visit.tokens, draw=draw, mean=mean)

    return run


# ---- samplers that keep every token in memory


def tomotopy(task: Task, watch: Watch, own: bool) -> None:
    """Train in the loop that its documentation shows, and average draws here: it has no average."""
    import tomotopy

    priors = {} if own else {"alpha": task.alpha, "eta": task.eta}
    model = tomotopy.LDAModel(k=task.topics, seed=task.seed, **priors)
    for words in spelt(task):
        model.add_doc(words)
    if not own:
        model.optim_interval = 0
    tokens, sweeps = task.documents.tokens, 0

    def topics() -> Found:
        found = np.array([model.get_topic_word_dist(k) for k in range(task.topics)])
        return Found(spread(task, found, model.used_vocabs), model.alpha if own else None)

    watch.start()
    while True:
        model.train(1, workers=task.threads)
        sweeps += 1
        # topics settle within some fifty sweeps; every fifth sweep is as often as sgmc averages
        watch.tick(topics, tokens, draw=sweeps > 50 and sweeps % 5 == 0)


def topica(sampler: str) -> Callable[[Task, Watch, bool], None]:
    """Train MALLET's algorithm or WarpLDA; topics are the mean of five snapshots, as by default."""

    def run(task: Task, watch: Watch, own: bool) -> None:
        import topica

        corpus = topica.Corpus.from_documents(
            list(spelt(task)), vocabulary=[spell(w) for w in range(task.words)]
        )
        priors: dict[str, Any] = {}
        if not own:
            priors = {
                "alpha_sum": task.alpha * task.topics,
                "beta": task.eta,
                "optimize_interval": 0,
            }

        def fit(sweeps: int) -> Any:
            model = topica.LDA(
                task.topics, seed=task.seed, num_threads=task.threads, sampler=sampler, **priors
            )
            before, number, apart = snapshots(sweeps)
            model.fit(
                corpus,
                iters=before,
                num_samples=number,
                sample_interval=apart,
                progress=False,
                keep_theta_draws=False,
            )
            return lambda: Found(np.asarray(model.topic_word), model.alpha if own else None)

        watch.refits(fit, task.documents.tokens)

    return run


def pyrmallet(task: Task, watch: Watch, own: bool) -> None:
    """Train MALLET's SparseLDA in Rust, by the two halves of ``fit``: reading is not timed."""
    import pyrmallet
    from pyrmallet import _rust_mallet

    texts = [" ".join(words) for words in spelt(task)]
    corpus = _rust_mallet.Corpus.from_strings(
        texts,
        doc_ids=[str(i) for i in range(len(texts))],
        stopwords=[],
        min_doc_freq=1,
        max_doc_fraction=1.0,
    )
    alpha_sum = task.topics * (1.0 if own else task.alpha)
    priors: dict[str, Any] = {}
    if not own:
        priors = {"topic_word_prior": task.eta, "optimize_interval": 0}

    def fit(sweeps: int) -> Any:
        before, number, apart = snapshots(sweeps)
        model = pyrmallet.LatentDirichletAllocation(
            task.topics,
            max_iter=before,
            random_state=task.seed,
            num_samples=number,
            sample_interval=apart,
            **priors,
        )
        model._fit_native(corpus, alpha_sum, None)
        trained = model._model

        def topics() -> Found:
            found = spread(task, np.array(trained.topic_word_matrix()), trained.vocabulary)
            return Found(found, trained.alpha if own else None)

        return topics

    watch.refits(fit, task.documents.tokens)


def lda(task: Task, watch: Watch, own: bool) -> None:
    """Train by dense collapsed Gibbs sampling."""
    import lda

    counts = matrix(task)
    priors = {} if own else {"alpha": task.alpha, "eta": task.eta}

    def fit(sweeps: int) -> Any:
        model = lda.LDA(
            task.topics, n_iter=sweeps, random_state=task.seed, refresh=sweeps, **priors
        )
        model.fit(counts)
        return lambda: Found(model.components_, model.alpha if own else None)

    logging.getLogger("lda").setLevel(logging.WARNING)
    watch.refits(fit, task.documents.tokens)


# ---- streaming variational Bayes


def gensim(task: Task, watch: Watch, own: bool) -> None:
    """Train online; the clock is read after every chunk, in the corpus that gensim iterates over."""
    from gensim.models import LdaModel

    priors = {} if own else {"alpha": task.alpha, "eta": task.eta}
    chunk = 2000
    bags = [list(zip(w.tolist(), n.tolist(), strict=True)) for w, n in rows(task)]
    model = LdaModel(
        num_topics=task.topics,
        id2word={w: str(w) for w in range(task.words)},
        chunksize=chunk,
        decay=0.5,
        offset=1.0,
        passes=1_000_000,
        eval_every=None,
        random_state=task.seed,
        dtype=np.float32,
        **priors,
    )
    lengths = task.documents.lengths.tolist()

    def topics() -> Found:
        return Found(model.get_topics(), model.alpha if own else None)

    class Bags:
        seen = 0

        def __len__(self) -> int:
            return len(bags)

        def __iter__(self) -> Iterator[Any]:
            for i, bag in enumerate(bags):
                if i % chunk == 0 and self.seen:
                    watch.tick(topics, self.seen)
                    self.seen = 0
                self.seen += lengths[i]
                yield bag

    watch.start()
    model.update(Bags())


def sklearn(task: Task, watch: Watch, own: bool) -> None:
    """Train online, in batches of 128; its own default is batch variational Bayes."""
    from sklearn.decomposition import LatentDirichletAllocation

    counts = matrix(task)
    tokens, lengths = task.documents.tokens, task.documents.lengths

    def topics_of(model: Any) -> Found:
        topics = model.components_ / model.components_.sum(axis=1, keepdims=True)
        return Found(topics, model.doc_topic_prior_ if own else None)

    def fit(passes: int) -> Any:
        model = LatentDirichletAllocation(task.topics, max_iter=passes, random_state=task.seed)
        model.fit(counts)
        return lambda: topics_of(model)

    if own:
        watch.refits(fit, tokens)
    model = LatentDirichletAllocation(
        task.topics,
        doc_topic_prior=task.alpha,
        topic_word_prior=task.eta,
        learning_method="online",
        batch_size=128,
        total_samples=counts.shape[0],
        random_state=task.seed,
    )
    size = 4 * 128  # batches a call: what a call costs is spread over four
    watch.start()
    while True:
        for begin in range(0, counts.shape[0], size):
            model.partial_fit(counts[begin : begin + size])
            seen = int(lengths[begin : begin + size].sum())
            watch.tick(lambda: topics_of(model), seen)


# ---- the documents, as each of them wants them


def rows(task: Task) -> Iterator[tuple[Any, Any]]:
    """Yield word ids and counts of each document."""
    d = task.documents
    for begin, end in zip(d.indptr[:-1], d.indptr[1:], strict=True):
        yield d.indices[begin:end], d.counts[begin:end]


def spell(word: int) -> str:
    """Spell a word id in letters only: tokenisers may cut at digits."""
    letters = ""
    for _ in range(5):
        word, letter = divmod(word, 26)
        letters = chr(97 + letter) + letters
    return letters


def unspell(word: str) -> int:
    """Return the word id that `spell` wrote."""
    number = 0
    for letter in word:
        number = 26 * number + ord(letter) - 97
    return number


def spelt(task: Task) -> Iterator[list[str]]:
    """Yield each document as a list of words."""
    names = np.array([spell(w) for w in range(task.words)])
    for words, counts in rows(task):
        yield np.repeat(names[words], counts).tolist()


def matrix(task: Task) -> Any:
    """Return all documents as a sparse matrix."""
    from scipy.sparse import csr_matrix

    d = task.documents
    return csr_matrix((d.counts, d.indices, d.indptr), shape=(len(d), task.words))


def spread(task: Task, topics: Any, vocabulary: Any) -> Any:
    """Put columns in the order of our ids; a word that the peer never saw has what is rarest."""
    full = np.repeat(topics.min(axis=1, keepdims=True), task.words, axis=1)
    full[:, [unspell(word) for word in vocabulary]] = topics
    return full / full.sum(axis=1, keepdims=True)


def snapshots(sweeps: int) -> tuple[int, int, int]:
    """Divide sweeps: before the snapshots, number of snapshots, sweeps from one to the next.

    Five, 25 sweeps apart, is the default; of a short fit they take the second half.
    """
    if sweeps < 10:
        return sweeps - 1, 1, 1
    apart = min(25, sweeps // 10)
    return sweeps - 5 * apart, 5, apart


PEERS = {
    "sgmc scir": Peer(
        "pysgrld", "pysgrld", "sgmc", sgmc("scir"), False, "defaults", "--alpha learn", True
    ),
    "sgmc sgrld": Peer(
        "pysgrld", "pysgrld", "sgmc", sgmc("sgrld"), False, "defaults", "--alpha learn", True
    ),
    "sgmc cgs": Peer(
        "pysgrld", "pysgrld", "sgmc", sgmc("cgs"), False, "defaults", "--alpha learn", True
    ),
    "tomotopy": Peer(
        "tomotopy",
        "tomotopy",
        "Gibbs",
        tomotopy,
        False,
        "alpha fixed",
        "alpha 0.1 optimised, eta 0.01",
        True,
    ),
    "topica": Peer(
        "topica",
        "topica",
        "Gibbs",
        topica("sparse"),
        True,
        "SparseLDA, alpha fixed, mean of 5 snapshots, at most 25 sweeps apart",
        "alpha 1, eta 0.01, both optimised",
        True,
    ),
    "topica warp": Peer(
        "topica",
        "topica",
        "Gibbs",
        topica("warp"),
        True,
        "WarpLDA, alpha fixed, mean of 5 snapshots, at most 25 sweeps apart",
        "alpha 1, eta 0.01, both optimised",
        True,
    ),
    "pyrmallet": Peer(
        "pyrmallet",
        "pyrmallet",
        "Gibbs",
        pyrmallet,
        True,
        "SparseLDA, alpha fixed, mean of 5 snapshots, at most 25 sweeps apart",
        "alpha 1, eta 0.01, both optimised",
    ),
    "lda": Peer("lda", "lda", "Gibbs", lda, True, "no option", "alpha 0.1, eta 0.01"),
    "gensim": Peer(
        "gensim",
        "gensim",
        "variational",
        gensim,
        False,
        "LdaModel, chunks of 2,000, decay 0.5, offset 1, float32",
        "alpha, eta 1/K",
    ),
    "scikit-learn": Peer(
        "scikit-learn",
        "sklearn",
        "variational",
        sklearn,
        False,
        "online, batches of 128",
        "batch, alpha, eta 1/K",
    ),
}
