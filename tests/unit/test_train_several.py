"""Where several chains go."""

from pysgrld.run import RunDirectory, find_run
from pysgrld.run.choose import chain_path
from pysgrld.train.several import choose_folder


def config(**options):
    return {"schema": 1, "options": {"topics": 2, **options}, "corpus": {"fingerprint": "abc"}}


def test_chains_that_are_older_than_an_option_go_on_as_they_were(tmp_path):
    """Unless the option is typed. Red with: a new folder for today's default."""
    folder = tmp_path / "toy-tlasgr"
    for number in (1, 2):
        RunDirectory.create(chain_path(folder, number), config(**{"chain-id": number}), ["a"])
    candidate = find_run(out=None, root=tmp_path, name=folder.name, resume="auto", chains=True)
    wanted = config(boundary="clip", **{"chain-id": 1})
    assert choose_folder(candidate, wanted, 2, free=()) == folder
    assert choose_folder(candidate, wanted, 2, free=(), typed={"boundary"}) != folder
