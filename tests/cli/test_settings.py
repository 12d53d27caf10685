"""``--set NAME=VALUE``: options that few users need, of models, samplers, corpora and runs."""

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import pysgrld
from pysgrld.cli import COMMANDS, main
from pysgrld.cli.options import given
from pysgrld.models.options import OPTIONS, option_text

pytestmark = pytest.mark.cli

TRAIN = main.get_command(None, "train")
SETTINGS = {name: option for name, option in OPTIONS.items() if option.setting}
#: A value of each setting whose default, as help shows it, is no value.
VALUES = {
    **dict.fromkeys(("sigma", "kappa0", "theta-step", "starts", "kept-sweeps"), "3"),
    **{"dp-stick-step": "0.2", "max-input": "5M", "top-word-samples": "7", "forget": "9"},
    **{"observed-corpus": "a.txt", "held-out-corpus": "b.txt"},
}


def values_of(*words, command=TRAIN):
    """Return the typed options of a command line, parsed."""
    with command.make_context(command.name, ["x.txt", *words]) as context:
        return given(context.params)


def refused(*words):
    done = CliRunner().invoke(main, words, prog_name="sgmc")
    assert done.exit_code == 2, done.output
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_has_no_option_of_its_own_and_arrives_as_one(name):
    """Red with: a setting that ``--set`` does not take, or that is an option as well."""
    row = SETTINGS[name]
    assert not any((row.flag, row.alone, row.joins, row.read))
    assert f"--{name}" not in {word for param in TRAIN.params for word in param.opts}
    value = VALUES.get(name) or re.split(r"[;, ]", row.shown)[0].replace("half", "4")
    if row.metavar.count(",") and name not in VALUES:
        value = row.shown.split(";")[0]
    assert values_of("--set", f"{name}={value}") == {name: row.parse(value)}
    assert f"give --set {name}=" in refused("train", "x.txt", f"--{name}", value)


def test_the_help_of_training_has_at_most_seventy_options():
    """Red with: a new option, instead of a setting or of fewer options."""
    done = CliRunner().invoke(main, ["train", "--help-all"], prog_name="sgmc", terminal_width=80)
    options = [line for line in done.output.splitlines() if line.startswith("  -")]
    assert 60 < len(options) <= 70
    assert any(line.startswith("  --set NAME=VALUE ") for line in options)


def test_every_command_lists_the_settings_that_it_takes():
    """Red with: --help of a command without --help-all that leaves its settings out."""
    commands = [main.get_command(None, name) for name in COMMANDS]
    leaves = [c for c in commands if not isinstance(c, click.Group)]
    leaves += [c for group in commands for c in getattr(group, "commands", {}).values()]
    taking = {command.name: command.settings for command in leaves if command.settings}
    assert {"train", "search", "plan", "build", "infer", "eval", "audit"} <= set(taking)
    assert set(taking["plan"]) == {"samples", *taking["build"]}
    for command in leaves:
        has = any("--set" in param.opts for param in command.params)
        assert has == bool(command.settings), command.name
        context = click.Context(command, info_name=command.name, terminal_width=80)
        context.meta["pysgrld.help_all"] = True
        shown = command.get_help(context) if command.settings else ""
        for name, row in command.settings.items():
            assert re.search(rf"^ +{name}={re.escape(row.metavar)}\b", shown, re.M)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            "--model sam --set frction=1",
            "unknown setting 'frction' (did you mean friction?); settings of --model sam, --algo "
            "sggmc: sigma, kappa0,",
        ),
        ("--layers 3,2 --set x=1", "settings of --model dlda, --algo scir:"),
        ("--set friction", "--set friction: write --set friction=A (see 'sgmc train --help-all')"),
        ("--set friction=x", "--set friction: 'x' is not a number greater than 0 and below 100"),
        ("--set lazy=maybe", "--set lazy: 'maybe' is not one of auto, on, off"),
        ("--set lazy=on --set lazy=on", "--set lazy is given twice; give it once"),
        ("--set kappa=3", "--set: kappa is an option; give --kappa X"),
        ("--set mask=on", "--set: mask is an option; give --mask"),
        ("--set observed-corpus=", "--set observed-corpus: the path is empty"),
        ("--set =", "unknown setting ''"),
        (f"--set burn-in={'9' * 99}", f"--set burn-in: '{'9' * 60}...' is not a whole number"),
        ("--friktion 1", "Did you mean '--set friction'"),
        ("--set friction=1", "--set friction does not apply to --algo scir; leave it out"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_right_form(words, reason, tmp_path, monkeypatch):
    """Red with: a bare ValueError, the last of two values, a name that is taken for another."""
    monkeypatch.chdir(tmp_path)
    assert reason in refused("train", "x.txt", *words.split())


def test_a_search_says_why_it_lacks_a_setting_of_training():
    assert "a search reads its stored corpus" in refused("search", "x", "--set", "shuffle-buffer=9")


def test_no_message_names_a_setting_as_an_option():
    """Red with: "leave out --friction", which no command has."""
    names = "|".join(sorted(SETTINGS, key=len, reverse=True))
    pattern = re.compile(rf"(?<!diagnose )--(?:{names})(?![-a-z])")
    package = Path(pysgrld.__file__).parent
    for path in package.rglob("*.py"):
        if path.is_relative_to(package / "cli"):
            continue  # installed there; other commands have options of the same name
        assert not pattern.findall(path.read_text()), path


def test_an_option_is_named_as_it_is_typed():
    assert option_text("kappa", 3) == "--kappa 3"
    assert option_text("friction", 0.5) == "--set friction=0.5"
    assert (option_text("friction"), option_text("seed")) == ("--set friction", "--seed")
