"""Where several chains go."""

import pytest

from pysgrld.run import RunDirectory, find_run
from pysgrld.run.chain_folders import chain_path
from pysgrld.train.several import choose_folder


def config(**options):
    return {"options": {"topics": 2, **options}, "corpus": {"fingerprint": "abc"}}


@pytest.mark.parametrize(
    ("changes", "same"), [({}, True), ({"chain-id": 7}, True), ({"boundary": "clip"}, False)]
)
def test_chains_of_the_same_configuration_go_on_and_others_begin(tmp_path, changes, same):
    """Red with: chains that are told apart by their numbers; another boundary taken for the same."""
    folder = tmp_path / "toy-tlasgr"
    for number in (1, 2):
        own = {"boundary": "reflect", "chain-id": number}
        RunDirectory.create(chain_path(folder, number), config(**own), ["a"])
    candidate = find_run(out=None, root=tmp_path, name=folder.name, resume="auto", chains=True)
    wanted = config(**{"boundary": "reflect", "chain-id": 1} | changes)
    assert (choose_folder(candidate, wanted, 2, free=()) == folder) == same
