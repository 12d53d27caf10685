"""Options, commands and methods of other topic modelling tools, and sgmc's counterparts.

If the user types an option, a command or a parameter that sgmc does not have, the error message
takes its hint from `PEERS`. docs/coming-from.md lists the rows of `PEERS`. No NumPy here: help must
be instant.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from pysgrld.errors import UsageError
from pysgrld.options.parse import choice

_SETTLED = "without this option, training ends when held-out perplexity has converged"
_RUN = "the folder of a run contains the model"
_WITH_TEXTS = "give the documents as its argument"
_COUNTED = "sgmc counts words and uses no embeddings"


class Peer(NamedTuple):
    """An option or a command of another tool, and its counterpart in sgmc.

    Attributes
    ----------
    name : str
        An option or a command of the other tool, as it spells it, without leading dashes.
    tools : str
        The tools that use the name.
    here : str
        Option of sgmc, or command that begins with ``sgmc``; empty if sgmc has no counterpart.
    note : str
        A remark for the user; required if `here` is empty.
    """

    name: str
    tools: str
    here: str
    note: str = ""


#: Options and commands of other tools, each with its counterpart in sgmc.
PEERS = (
    # ---- the model
    Peer("num-topics", "MALLET, gensim", "--topics"),
    Peer("n_components", "scikit-learn", "--topics"),
    Peer("nr_topics", "BERTopic", "--topics"),
    Peer("reduce_topics", "BERTopic", "--topics", "train again with fewer topics"),
    Peer("K", "stm, tomotopy", "--topics"),
    Peer("n_topics", "lda, older scikit-learn", "--topics"),
    Peer("sampler", "others", "--algo"),
    Peer("algorithm", "others", "--algo"),
    Peer("learning_method", "scikit-learn", "--algo", "online variational Bayes is --algo ovb"),
    Peer("doc_topic_prior", "scikit-learn", "--alpha"),
    Peer(
        "optimize-interval",
        "MALLET",
        "--alpha",
        "--alpha learn samples alpha together with the topics",
    ),
    Peer("optimize-burn-in", "MALLET", "--alpha", "--alpha learn starts at the first iteration"),
    Peer(
        "optim_interval",
        "tomotopy",
        "--alpha",
        "--alpha learn samples alpha together with the topics",
    ),
    Peer("use-symmetric-alpha", "MALLET", "--alpha", "a number sets the same prior for all topics"),
    Peer("beta", "MALLET, lda", "--eta"),
    Peer("topic_word_prior", "scikit-learn", "--eta"),
    Peer("seed_topic_list", "BERTopic", "--seed-words"),
    Peer("time_slice", "gensim", "--time", "a column with the date of each document"),
    Peer("chain_variance", "gensim", "--set drift", "give the square root of the variance"),
    Peer(
        "min_topic_size", "BERTopic", "", "topics have no minimum size; --topics sets their number"
    ),
    Peer("embedding_model", "BERTopic", "", _COUNTED),
    Peer("umap_model", "BERTopic", "", _COUNTED),
    Peer("hdbscan_model", "BERTopic", "", _COUNTED),
    Peer("content", "stm", "", "the words of a topic do not depend on columns of documents"),
    # ---- training
    Peer("num-iterations", "MALLET", "--iterations", _SETTLED),
    Peer("n_iter", "lda", "--iterations", _SETTLED),
    Peer("iter", "tomotopy", "--iterations", _SETTLED),
    Peer("passes", "gensim", "--epochs", _SETTLED),
    Peer("max_iter", "scikit-learn", "--epochs", _SETTLED),
    Peer("max.em.its", "stm", "--epochs", _SETTLED),
    Peer("emtol", "stm", "", "training ends when held-out perplexity has converged"),
    Peer("perp_tol", "scikit-learn", "", "training ends when held-out perplexity has converged"),
    Peer("chunksize", "gensim", "--minibatch"),
    Peer("batch_size", "scikit-learn", "--minibatch"),
    Peer("update_every", "gensim", "--minibatch"),
    Peer("max_doc_update_iter", "scikit-learn", "--sweeps"),
    Peer("decay", "gensim", "--step-size", "give its value as C in --step-size A,B,C"),
    Peer(
        "learning_decay", "scikit-learn", "--step-size", "give its value as C in --step-size A,B,C"
    ),
    Peer("offset", "gensim", "--step-size", "give its value as B in --step-size A,B,C"),
    Peer(
        "learning_offset", "scikit-learn", "--step-size", "give its value as B in --step-size A,B,C"
    ),
    Peer("learning_rate", "others", "--step-size"),
    Peer("random-seed", "MALLET", "--seed"),
    Peer("random_state", "gensim, scikit-learn", "--seed"),
    Peer(
        "init.type",
        "stm",
        "--seed",
        "each seed gives a different start; --chains trains several chains and compares them",
    ),
    Peer("num-threads", "MALLET", "--threads"),
    Peer("workers", "gensim, tomotopy", "--threads"),
    Peer("n_jobs", "scikit-learn", "--threads"),
    Peer("cores", "stm", "--threads"),
    Peer("parallel", "tomotopy", "--threads"),
    Peer("distributed", "gensim", "--mpi"),
    Peer("low_memory", "BERTopic", "--max-memory"),
    Peer("total_samples", "scikit-learn", "--corpus-size"),
    Peer("evaluate_every", "scikit-learn", "--eval-every"),
    Peer("show-topics-interval", "MALLET", "--eval-every"),
    # ---- documents and words
    Peer("input", "MALLET", "sgmc train", "give the corpus without an option"),
    Peer("import-dir", "MALLET", "sgmc corpus build", "sgmc train also reads a folder directly"),
    Peer("import-file", "MALLET", "sgmc corpus build", "sgmc train also reads a file directly"),
    Peer("textProcessor", "stm", "sgmc corpus build", "sgmc train also reads texts directly"),
    Peer("text_column", "others", "--text-field"),
    Peer("id2word", "gensim", "--vocab"),
    Peer("vocabulary", "scikit-learn", "--vocab"),
    Peer("no_below", "gensim", "--min-df"),
    Peer("min_cf", "tomotopy", "--min-df", "--min-df counts documents, not occurrences"),
    Peer(
        "lower.thresh",
        "stm",
        "--min-df",
        "add 1, because words in exactly this number of documents are kept",
    ),
    Peer("no_above", "gensim", "--max-df"),
    Peer("upper.thresh", "stm", "--max-df"),
    Peer("rm_top", "tomotopy", "--max-df", "or give a file of these words to --stop-words"),
    Peer("keep_n", "gensim", "--max-vocab"),
    Peer("max_features", "scikit-learn", "--max-vocab"),
    Peer(
        "remove-stopwords",
        "MALLET, stm",
        "--stop-words",
        "English stop words are removed by default",
    ),
    Peer("stoplist-file", "MALLET", "--stop-words"),
    Peer("extra-stopwords", "MALLET", "--stop-words", "give --stop-words english,FILE"),
    Peer("customstopwords", "stm", "--stop-words", "give --stop-words english,FILE"),
    Peer("token-regex", "MALLET", "--token-pattern"),
    Peer("tokenizer", "scikit-learn", "--token-pattern"),
    Peer(
        *("ngram_range", "scikit-learn, BERTopic", "sgmc corpus phrases"),
        "write phrases to FILE, then train --phrases FILE",
    ),
    Peer(
        "gram-sizes",
        "MALLET",
        "sgmc corpus phrases",
        "write phrases to FILE, then train --phrases FILE",
    ),
    Peer(
        "ngrams",
        "others",
        "sgmc corpus phrases",
        "write phrases to FILE, then train --phrases FILE",
    ),
    Peer(
        "bigrams",
        "others",
        "sgmc corpus phrases",
        "write phrases to FILE, then train --phrases FILE",
    ),
    Peer("keep-sequence", "MALLET", "", "words are counted; --phrases FILE keeps word sequences"),
    Peer("preserve-case", "MALLET", "", "text is always converted to lower case"),
    Peer("lowercase", "scikit-learn, stm", "", "text is always converted to lower case"),
    Peer("stem", "stm", "--segment", "--segment english gives dictionary forms instead of stems"),
    Peer("lemmatize", "others", "--segment", "give --segment english"),
    Peer("decode_error", "scikit-learn", "--on-bad-document"),
    Peer("separator", "others", "", "sgmc finds the delimiter in the first line of a CSV"),
    # ---- stored models
    Peer("output-model", "MALLET", "--out"),
    Peer("output-dir", "others", "--out"),
    Peer("input-model", "MALLET", "--resume"),
    Peer("warm_start", "scikit-learn", "--resume", "give --resume RUN"),
    Peer("update", "gensim", "sgmc train --resume", "in Python, give new documents to partial_fit"),
    Peer(
        "partial_fit",
        "scikit-learn",
        "sgmc train --resume",
        "in Python, give new documents to partial_fit",
    ),
    Peer("save", "gensim, tomotopy", "", _RUN),
    Peer("load", "gensim, tomotopy", "sgmc runs", _RUN),
    # ---- commands, and the files they write
    Peer("train-topics", "MALLET", "sgmc train"),
    Peer("fit", "scikit-learn", "sgmc train"),
    Peer("fit_transform", "scikit-learn, BERTopic", "sgmc train", "then sgmc infer"),
    Peer("stm", "stm", "sgmc train"),
    Peer("searchK", "stm", "sgmc search"),
    Peer("infer-topics", "MALLET", "sgmc infer"),
    Peer("transform", "scikit-learn, BERTopic", "sgmc infer"),
    Peer("predict", "scikit-learn", "sgmc infer"),
    Peer("get_document_topics", "gensim", "sgmc infer"),
    Peer("approximate_distribution", "BERTopic", "sgmc infer"),
    Peer("calculate_probabilities", "BERTopic", "sgmc infer"),
    Peer("output-doc-topics", "MALLET", "sgmc infer", "sgmc infer RUN CORPUS -o theta.csv"),
    Peer(
        "inferencer-filename",
        "MALLET",
        "sgmc infer",
        "the folder of the run contains everything that sgmc infer needs",
    ),
    Peer("doc-topics-threshold", "MALLET", "sgmc infer --top"),
    Peer("doc-topics-max", "MALLET", "sgmc infer --top"),
    Peer("minimum_probability", "gensim", "sgmc infer --top"),
    Peer("evaluate-topics", "MALLET", "sgmc eval"),
    Peer(
        "evaluator-filename",
        "MALLET",
        "sgmc eval",
        "the folder of the run contains everything that sgmc eval needs",
    ),
    Peer("score", "scikit-learn", "sgmc eval"),
    Peer("log_perplexity", "gensim", "sgmc eval --perplexity"),
    Peer("eval.heldout", "stm", "sgmc eval --perplexity"),
    Peer(
        "ll_per_word",
        "tomotopy",
        "sgmc eval --perplexity",
        "perplexity is computed for held-out documents",
    ),
    Peer("print_topics", "gensim", "sgmc topics"),
    Peer("show_topics", "gensim", "sgmc topics"),
    Peer("get_topic_words", "tomotopy", "sgmc topics"),
    Peer("get_topic_info", "BERTopic", "sgmc topics"),
    Peer("get_topics", "BERTopic", "sgmc topics"),
    Peer("labelTopics", "stm", "sgmc topics"),
    Peer("output-topic-keys", "MALLET", "sgmc topics"),
    Peer("num-top-words", "MALLET", "sgmc topics --top"),
    Peer("num_words", "gensim", "sgmc topics --top"),
    Peer("topn", "gensim, tomotopy", "sgmc topics --top"),
    Peer("top_n_words", "BERTopic", "sgmc topics --top"),
    Peer("find_topics", "BERTopic", "sgmc topics --word"),
    Peer("get_representative_docs", "BERTopic", "sgmc topics --documents"),
    Peer("findThoughts", "stm", "sgmc topics --documents"),
    Peer("output-topic-docs", "MALLET", "sgmc topics --documents"),
    Peer("topics_over_time", "BERTopic", "sgmc topics --along"),
    Peer("topics_per_class", "BERTopic", "sgmc topics --by"),
    Peer(
        "prevalence", "stm", "sgmc topics --by", "columns describe topics but do not influence them"
    ),
    Peer("estimateEffect", "stm", "sgmc effect", "in R, use run_effects of sgmc's R package"),
    Peer("checkBeta", "stm", "sgmc diagnose"),
    Peer("multiSTM", "stm", "sgmc diagnose"),
    Peer("stability", "others", "sgmc diagnose"),
    Peer("topicQuality", "stm", "sgmc topics", "its table includes the coherence of each topic"),
    Peer(
        "hierarchical_topics",
        "BERTopic",
        "sgmc topics --tree",
        "the model must be trained with --layers",
    ),
    Peer("visualize", "BERTopic", "sgmc report"),
    Peer("visualize_topics", "BERTopic", "sgmc report"),
    Peer("visualize_hierarchy", "BERTopic", "sgmc report"),
    Peer("visualize_barchart", "BERTopic", "sgmc report"),
    Peer("plot", "stm", "sgmc report"),
    Peer("topicCorr", "stm", "sgmc report"),
    Peer("xml-topic-phrase-report", "MALLET", "sgmc report"),
    Peer("toLDAvis", "stm", "sgmc export --to pyldavis"),
    Peer("output-state", "MALLET", "sgmc export --to mallet"),
    Peer("topic-word-weights-file", "MALLET", "sgmc export --to csv"),
)


#: Advice for a user who gives the model of another tool as ``--model``, by the name of the model.
MODELS_OF_PEERS = {
    "hdp": "use 'sgmc search' to compare numbers of topics; superfluous topics stay unused",
    "ctm": "no model has a prior with correlated topics; 'sgmc report' shows correlations",
    "stm": (
        "train with --model lda, then 'sgmc effect' shows how topics depend on columns of documents"
    ),
    "keyatm": "train with --model lda --seed-words FILE",
    "slda": "no model predicts a column; 'sgmc effect' shows how topics depend on a column",
    "llda": "no model ties topics to labels; --seed-words FILE guides topics by words",
    "bertopic": "embeddings are not clustered; train with --model lda, which counts words",
}


#: Attributes of the Python estimators that only instances have, not the classes.
ATTRIBUTES = ("components_", "feature_names_in_", "n_components")

#: Methods of other tools' models. Each has the name of sgmc's method ("" if sgmc has none), and a
#: remark to the user.
METHODS_OF_PEERS = {
    **dict.fromkeys(("get_topic_info", "top_topics", "summary"), ("summary_frame", "")),
    **dict.fromkeys(("show_topics", "get_topic_terms"), ("topics_frame", "")),
    **dict.fromkeys(
        (
            *("get_topic", "get_topics", "show_topic", "print_topic", "print_topics"),
            *("get_topic_words", "labelTopics", "topic_representations_", "topic_words"),
        ),
        ("top_words", "topics_frame also has the words' probabilities"),
    ),
    **dict.fromkeys(
        ("topic_word_", "get_topic_word_dist", "exp_dirichlet_component_", "beta", "phi"),
        ("components_", ""),
    ),
    "get_term_topics": ("components_", "column i of components_ is word i of feature_names_in_"),
    **dict.fromkeys(
        ("vocabulary_", "id2word", "used_vocabs", "vocab"), ("feature_names_in_", "the words")
    ),
    **dict.fromkeys(("k", "num_topics", "n_topics", "nr_topics"), ("n_components", "")),
    **dict.fromkeys(("get_topic_freq", "topic_sizes_", "get_count_by_topics"), ("shares_", "")),
    **dict.fromkeys(("topic_labels_", "generate_topic_labels"), ("names_", "")),
    **dict.fromkeys(
        ("get_coherence_per_topic", "get_coherence", "coherence", "coherence_score"),
        ("coherence_", ""),
    ),
    "get_document_info": ("documents_frame", _WITH_TEXTS),
    **dict.fromkeys(
        ("get_document_topics", "approximate_distribution", "get_topic_dist", "infer", "inference"),
        ("transform", ""),
    ),
    **dict.fromkeys(("doc_topic_", "theta", "gamma"), ("transform", _WITH_TEXTS)),
    **dict.fromkeys(
        ("visualize_barchart", "visualize_term_rank", "plot", "plot_model"), ("plot_topics", "")
    ),
    **dict.fromkeys(
        ("predict", "predict_proba", "fit_predict", "probabilities_", "get_topics_probs"),
        ("transform", "each document has shares of all topics"),
    ),
    "labels_": ("transform", "the topic with the greatest share is transform(X).argmax(axis=1)"),
    **dict.fromkeys(
        ("visualize_distribution", "visualize_approximate_distribution"),
        ("documents_frame", "plot the rows of the table that documents_frame returns"),
    ),
    **dict.fromkeys(
        ("representative_docs_", "get_representative_docs", "findThoughts"),
        ("representative_documents", _WITH_TEXTS),
    ),
    **dict.fromkeys(
        ("hierarchical_topics", "get_topic_tree"),
        ("", "train DeepLDA, and show its layers with sgmc topics RUN --tree"),
    ),
    **dict.fromkeys(("set_topic_labels", "custom_labels_"), ("set_names", "")),
    "update_topics": ("", "top_words(order=...) lists the words of topics in another order"),
    "reduce_outliers": ("", "no document is an outlier, since each has shares of all topics"),
    "delete_topics": ("", "fit again with other stop words, or leave rows out of the tables"),
    **dict.fromkeys(
        ("topics_per_class", "visualize_topics_per_class", "estimateEffect"),
        ("effect", "call effect(X, '~ class', data)"),
    ),
    "visualize_topics_over_time": (
        "topics_over_time",
        "plot the rows of the table that topics_over_time returns",
    ),
    **dict.fromkeys(("log_perplexity", "bound", "bound_", "ll_per_word"), ("perplexity", "")),
    **dict.fromkeys(("update", "merge_models"), ("partial_fit", "")),
    **dict.fromkeys(("train", "add_doc"), ("fit", "fit takes a list of all texts")),
    "make_doc": ("transform", "transform takes a list of texts"),
    **dict.fromkeys(("save_model", "push_to_hf_hub"), ("save", "save writes a folder")),
    **dict.fromkeys(
        ("reduce_topics", "merge_topics"), ("", "fit again with a smaller n_components")
    ),
    "find_topics": ("", "save(RUN), then sgmc topics RUN --word WORD"),
    **dict.fromkeys(
        (
            *("visualize_topics", "visualize_documents", "visualize_heatmap", "visualize"),
            *("visualize_hierarchy", "visualize_hierarchical_documents", "topicCorr", "toLDAvis"),
            "visualize_document_datamap",
        ),
        ("report", "report() returns a web page with these pictures, report().html"),
    ),
}


def parse_model(*names: str) -> Callable[[str], str]:
    """Return a parser of model names, which advises users who name a model of another tool.

    Parameters
    ----------
    *names : str
        Names of the existing models.
    """
    parse_name = choice(*names)

    def parse(text: str) -> str:
        if (answer := MODELS_OF_PEERS.get(spelt(text))) and text not in names:
            raise UsageError(f"sgmc has no model {text}: {answer}")
        return parse_name(text)

    parse.values = names  # type: ignore[attr-defined]
    return parse


def spelt(name: str) -> str:
    """Return a common form of all spellings of a name (num-topics, num_topics, numTopics).

    Parameters
    ----------
    name : str
        Name as typed.

    Returns
    -------
    str
        The letters and digits of the name, in lower case.
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())


_FOUND = {spelt(peer.name): peer for peer in PEERS}


def peer(name: str) -> Peer | None:
    """Return the row of `PEERS` for an option or a command of another tool.

    The name may have any spelling, such as num-topics, num_topics or numTopics.

    Parameters
    ----------
    name : str
        The name as it was typed, with or without dashes before it.

    Returns
    -------
    Peer or None
        The row of the name, or None if no other tool has it.
    """
    return _FOUND.get(spelt(name))


def hint(typed: str, peer: Peer, counterpart: str) -> str:
    """Return a message that names sgmc's counterpart of another tool's option or command.

    Parameters
    ----------
    typed : str
        The name as it was typed.
    peer : Peer
        The row of the name.
    counterpart : str
        The option or command to type instead; empty if sgmc has none.

    Returns
    -------
    str
        One line for a message.
    """
    if not counterpart:
        return f"sgmc has no {typed}: {peer.note}"
    return f"use {counterpart} instead of {typed}" + (f": {peer.note}" if peer.note else "")
