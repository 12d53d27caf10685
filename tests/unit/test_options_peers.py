"""Words of other topic modellers: one table, which hints, a page and these tests share."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from pysgrld import LDA, DPMixture
from pysgrld.cli import COMMANDS, main
from pysgrld.errors import UsageError
from pysgrld.models.options import OPTIONS
from pysgrld.models.table import MODELS
from pysgrld.options.peers import MODELS_OF_PEERS, PEERS, peer, spelt

PAGE = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text("utf-8")
_COMMAND = main.get_command(None, "train")
TRAIN = {name for param in _COMMAND.params for name in param.opts}


def said(*typed):
    done = CliRunner().invoke(main, list(typed), prog_name="sgmc")
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_there_are_many_words_and_none_twice():
    assert len(PEERS) >= 80
    assert len({spelt(row.name) for row in PEERS}) == len(PEERS)


@pytest.mark.parametrize("row", PEERS, ids=lambda row: row.name)
def test_a_word_leads_to_what_is_there_and_is_no_word_of_ours(row):
    """Red with: an option that was renamed."""
    assert row.here or row.note
    assert f"--{row.name}" not in TRAIN
    assert row.name not in COMMANDS
    if row.here.startswith("--"):
        assert row.here in TRAIN | {f"--set {name}" for name in _COMMAND.settings}
    elif row.here:
        tool, *words = row.here.split()
        command = main.get_command(None, words.pop(0))
        if words and not words[0].startswith("--"):
            command = command.commands[words.pop(0)]
        assert tool == "sgmc"
        options = {name for param in command.params for name in param.opts}
        assert not words or words[0] in options


def test_the_page_lists_every_word():
    """Red with: a word of `PEERS` that docs/coming-from.md does not list under its option."""
    words: dict[str, list[str]] = {}
    for row in sorted(PEERS, key=lambda row: spelt(row.name)):
        words.setdefault(row.here, []).append(f"`{row.name}`")
    rows = [
        f"- {f'`{here}`' if here else 'nothing here'}: {', '.join(words[here])}"
        for here in sorted(words, key=lambda here: (not here, here))
    ]
    listed = PAGE.partition("## Words of other tools\n")[2].strip().splitlines()
    assert listed[-len(rows) :] == rows


def test_what_is_typed_elsewhere_on_the_page_is_in_the_table():
    """Red with: `workers` known to the page of gensim and to no hint."""
    left = re.findall(
        r"^\| (.*?) \| ", PAGE.partition("## Words of other tools\n")[0], re.MULTILINE
    )
    typed = {name for cell in left for name in re.findall(r"`(--[a-z-]+)", cell)}
    named = {name for cell in left for name in re.findall(r"[(, `]([a-z._]+) ?=", cell)}
    ours = {name.lstrip("-").replace("-", "_") for name in TRAIN}
    unknown = {name for name in typed | named if not peer(name) and name.strip("-") not in ours}
    assert not unknown - {"coherence", "burn_in", "stop_words"}


@pytest.mark.parametrize(
    ("option", "here"),
    {
        "--random-state": "--seed",
        "--n-components": "--topics",
        "--no-below": "--min-df",
        "--passes": "--epochs",
        "--chunksize": "--minibatch",
        "--max-features": "--max-vocab",
        "--sampler": "--algo",
        "--max-iter": "--epochs",
        "--workers": "--threads",
        "--n-jobs": "--threads",
        "--n_jobs": "--threads",
        "--K": "--topics",
        "--ngrams": "'sgmc corpus phrases'",
        "--num-topics": "--topics",
        "--num-words": "'sgmc topics --top'",
    }.items(),
)
def test_an_option_of_another_tool_is_named_as_it_is_here(option, here):
    assert f"error: use {here} instead of {option}" in said("train", "x.txt", option, "5")


def test_an_option_of_this_command_is_named_alone_and_one_of_training_with_it():
    assert "use --top instead of --num-words" in said("topics", "--num-words", "5")
    assert "use 'sgmc train --seed' instead of --random-state" in said(
        "topics", "--random-state", "5"
    )


def test_what_has_nothing_like_it_says_why():
    assert "sgmc has no --preserve-case: " in said("train", "--preserve-case", "x")


def test_an_option_that_is_unlike_all_of_ours_gets_no_guess():
    """Red with: click's own guesses, which take --chunked for --chunk."""
    assert "Did you mean '--topics'" in said("train", "--topcs", "5")
    assert "Did you mean" not in said("train", "--randomly", "5")
    assert "sgmc train --help-all" in said("train", "--randomly", "5")


@pytest.mark.parametrize(
    ("command", "here"),
    {
        "train-topics": "train",
        "infer-topics": "infer",
        "fit": "train",
        "transform": "infer",
        "predict": "infer",
        "visualize": "report",
        "update": "train --resume",
        "searchK": "search",
    }.items(),
)
def test_a_command_of_another_tool_is_named_as_it_is_here(command, here):
    assert f"error: use 'sgmc {here}' instead of '{command}'" in said(command)


@pytest.mark.parametrize(
    ("model", "name", "here"),
    [
        (LDA, "num_topics", "n_components"),
        (LDA, "workers", "n_jobs"),
        (LDA, "chunksize", "minibatch"),
        (DPMixture, "random_seed", "random_state"),
    ],
)
def test_a_parameter_of_another_tool_is_named_as_it_is_here(model, name, here):
    """Red with: Python's own message, which names nothing that is there."""
    with pytest.raises(TypeError, match=f"use {here} instead of {name}"):
        model(**{name: 5})
    with pytest.raises(ValueError, match=f"use {here} instead of {name}"):
        model().set_params(**{name: 5})


def test_a_parameter_that_nobody_knows_is_answered_with_those_that_there_are():
    with pytest.raises(
        TypeError, match="invalid parameter 'foo' for LDA: the parameters are n_components"
    ):
        LDA(foo=1)


def test_an_option_of_reading_is_answered_with_the_way_through_the_command():
    """Red with: a list of all parameters, none of which reads texts."""
    with pytest.raises(TypeError, match=r"train with --mask, then LDA\.load\(RUN\) reads further"):
        LDA(mask=True)


@pytest.mark.parametrize("name", [*MODELS_OF_PEERS, "keyATM", "HDP"])
def test_models_of_other_tools_are_answered(name):
    """Red with: a bare list of the models that there are."""
    with pytest.raises(UsageError, match=rf"sgmc has no model {name}: .{{20}}"):
        OPTIONS["model"].parse(name)
    assert OPTIONS["model"].parse("lda") == "lda"


def test_answers_to_models_name_commands_and_options_that_exist():
    """Red with: an option that was renamed."""
    for answer in MODELS_OF_PEERS.values():
        for command in re.findall(r"sgmc (\w+)", answer):
            assert command in COMMANDS
        for option in re.findall(r"--([a-z-]+)", answer):
            assert option in OPTIONS
    for name in MODELS_OF_PEERS:
        assert name not in MODELS


def test_methods_of_peers_are_answered_with_ours():
    """Red with: a counterpart that no model has; an unfitted model's message lost."""
    from pysgrld.options.peers import ATTRIBUTES, METHODS_OF_PEERS

    model = LDA(2, algo="ovb", max_iter=2, holdout=0).fit([["a", "b"], ["b", "c"]])
    assert all(hasattr(model, name) for name in ATTRIBUTES)
    model = LDA()
    for name, (method, _) in METHODS_OF_PEERS.items():
        assert not hasattr(model, name)
        assert not method or hasattr(LDA, method) or method in ATTRIBUTES, name
    with pytest.raises(AttributeError, match=r"^use summary_frame instead of get_topic_info$"):
        model.get_topic_info()
    with pytest.raises(AttributeError, match=r"^use n_components instead of num_topics$"):
        _ = model.num_topics
    with pytest.raises(AttributeError, match="sgmc has no reduce_topics: fit again with a smaller"):
        model.reduce_topics(5)
    with pytest.raises(AttributeError, match="'LDA' object has no attribute 'nonsense'"):
        model.nonsense()
    with pytest.raises(ValueError, match="fit"):
        _ = model.topics_
