"""Recipes of docs/exports.md, run every night as printed with the libraries they need."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[2]
#: After each recipe: what must hold, by its heading; and the library without which it cannot be run.
CHECKS = {
    "pandas": (
        "pandas",
        "assert by_book.shape == (66, 8)\nassert abs(by_book.sum(axis=1) - 1).max() < 1e-6\n",
    ),
    "scikit-learn": (
        "sklearn",
        "share = y[train].value_counts(normalize=True).max()\n"
        "assert classifier.score(X[~train], y[~train]) > 2 * share\n",
    ),
    "gensim": (
        "gensim",
        "assert abs(model.get_topics() - phi).max() < 1e-6\n"
        "assert model.show_topic(0, 1)[0][0] == words[phi[0].argmax()]\n"
        "assert abs(sum(p for _, p in proportions) - 1) < 0.1\n",
    ),
    "xarray and ArviZ": (
        "arviz",
        "import arviz\n"
        "import numpy as np\n"
        "data = arviz.from_netcdf('draws/draws.nc')\n"
        "assert data.posterior['phi'].shape == tree['posterior/phi'].shape\n"
        "assert data.posterior['phi'].sizes['chain'] == 2\n"
        "assert abs(tree['posterior/phi'].sum('word') - 1).max() < 1e-4\n"
        "assert np.isfinite(arviz.rhat(data.sample_stats)['perplexity'])\n"
        "assert (low <= high).all()\n",
    ),
    "pyLDAvis": (
        "pyLDAvis",
        "ours, theirs = page, prepared.to_dict()\n"
        "def rows(data, name, *keys):\n"
        "    return pd.DataFrame(data[name]).set_index(list(keys)).sort_index()\n"
        "for name, keys in (('tinfo', ('Category', 'Term')), ('token.table', ('Term', 'Topic'))):\n"
        "    a, b = rows(ours, name, *keys), rows(theirs, name, *keys)\n"
        "    pd.testing.assert_frame_equal(a, b, check_exact=False, rtol=1e-6, atol=1e-6)\n"
        "assert np.allclose(ours['mdsDat']['Freq'], theirs['mdsDat']['Freq'], atol=1e-6)\n"
        "assert ours['topic.order'] == theirs['topic.order']\n"
        "assert 'LDAvis' in open('topics.html', encoding='utf-8').read()\n",
    ),
    "MALLET's readers": (
        "little_mallet_wrapper",
        "import numpy as np\n"
        "assert len(keys) == 8 and all(len(words) == 20 for words in keys)\n"
        "weights = mallet.load_topic_word_distributions('mallet/topic-word-weights.txt')\n"
        "counts = state.groupby(['topic', 'type']).size()\n"
        "first = counts[0].idxmax()\n"
        "assert keys[0][0] == first\n"
        "assert max(weights[0], key=weights[0].get) == first\n"
        "n = state.groupby(['doc', 'topic']).size().unstack(fill_value=0).to_numpy()\n"
        "theta = (n + 0.1) / (n.sum(axis=1, keepdims=True) + 0.8)\n"
        "assert abs(np.array(shares, float) - theta).max() < 1e-6\n",
    ),
}


def sections():
    """Return each recipe's commands and code, by its heading."""
    text = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
    for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        heading = part.split("\n", 1)[0]
        commands = re.findall(r"^    sgmc (export .*)$", part, re.MULTILINE)
        code = re.findall(r"^```python\n(.*?)^```", part, re.MULTILINE | re.DOTALL)
        yield heading, commands, code


SECTIONS = {heading: (commands, code) for heading, commands, code in sections()}


def sgmc(folder, *words):
    command = [sys.executable, "-m", "pysgrld", *words]
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = os.environ | (
        {"PYTHONPATH": paths} if (ROOT / "pysgrld" / "cli").exists() else {}
    )
    subprocess.run(command, cwd=folder, check=True, env=environment)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two chains on the Bible, as the latest run of a folder."""
    place, data = tmp_path_factory.mktemp("recipes"), ROOT / "data"
    options = "-k 8 --minibatch 100 --sweeps 4 --set warm-up=20 --iterations 200 --chains 2 -q"
    table = ("--metadata", str(data / "chapters.bible.csv"))
    sgmc(place, "train", str(data / "docword.bible.txt.gz"), *table, *options.split())
    return place


def test_every_recipe_is_run_or_says_that_it_is_not():
    """Red with: a recipe without a check."""
    unrun = {"topicwizard", "tomotopy"}
    assert {h for h, (_, code) in SECTIONS.items() if code} - unrun == set(CHECKS)


@pytest.mark.parametrize("heading", CHECKS)
def test_a_recipe_gives_what_the_run_has(folder, heading):
    """Red with: keys, numbers or files that the library does not read as the page says."""
    library, check = CHECKS[heading]
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed: pip install '.[consumers]' in a clone")
    commands, (code,) = SECTIONS[heading]
    for command in commands:
        sgmc(folder, *command.split(), "--force", "-q")
    program = folder / "recipe.py"
    program.write_text(code + check, encoding="utf-8")
    subprocess.run([sys.executable, str(program)], cwd=folder, check=True)
