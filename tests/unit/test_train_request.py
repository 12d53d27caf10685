"""What going on with a run that is named means, where nothing or little else is said."""

import shutil

import pytest

from pysgrld.errors import MismatchError, MissingInputError
from pysgrld.models.choices import Choices
from pysgrld.run import RunDirectory, decide
from pysgrld.train.plan import plan_training
from pysgrld.train.prepare import move_corpus
from pysgrld.train.request import Request, resume_request

#: Options that keep words of every document.
EVERY = {"max-df": 1.0, "min-df": 1, "minibatch": 5, "holdout": 4, "threads": 1}


class Deaf:
    """Hears nothing of a corpus that is read."""

    def note(self, line, severity=None):
        pass

    def reading(self, progress):
        pass


@pytest.fixture
def run_in(tmp_path):
    """Make runs on a text that holds the word of a list, without training them."""
    (tmp_path / "songs.txt").write_text("abc def ghi jkl mno pqr abc def ghi jkl mno pqr\n" * 20)
    (tmp_path / "out.txt").write_text("abc\n")

    def make(name, **given):
        request = Request(
            [str(tmp_path / "songs.txt")],
            Choices(EVERY | {n.replace("_", "-"): v for n, v in given.items()}),
        )
        with plan_training(request._replace(root=tmp_path), Deaf()) as plan:
            folder = tmp_path / name
            RunDirectory.create(folder, plan.config, plan.corpus.vocabulary)
            move_corpus(plan, folder)
        return folder

    return make


def refusal(given):
    """Give the differences for which a start that goes on is refused."""
    request, _ = resume_request(Choices({"threads": 1} | given))
    with plan_training(request, Deaf()) as plan, pytest.raises(MismatchError) as refused:
        decide(request.find(), plan.config, resume=request.choices.start.resume)
    return str(refused.value)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("stop-words", "none", "(1 word, "),
        ("min-df", 3, "min-df: 1 -> 3"),
        ("max-vocab", 3, "max-vocab: 100000 -> 3"),
        ("token-pattern", "[a-z]+", "-> [a-z]+"),
        ("encoding", "latin-1", "encoding: utf-8 -> latin-1"),
    ],
)
def test_an_option_of_reading_that_is_typed_is_compared(run_in, tmp_path, option, value, said):
    """Red with: the stored corpus whatever is typed, and the option passed over in silence."""
    run = run_in("run", stop_words=str(tmp_path / "out.txt"))
    assert said in refusal({"resume": str(run), option: value})


def test_a_list_that_is_typed_again_is_compared_by_its_words(run_in, tmp_path):
    """Red with: its name compared alone."""
    words = tmp_path / "out.txt"
    run = run_in("run", stop_words=str(words))
    words.write_text("abc\ndef\n")
    assert "(1 word, " in refusal({"resume": str(run), "stop-words": str(words)})


def test_one_of_several_chains_goes_on_under_its_number(run_in):
    """Red with: chain 1 wanted of every folder."""
    run = run_in("all/chain-3", chain_id=3)
    request, chains = resume_request(Choices({"resume": str(run)}))
    assert (request.choices.source.chain_id, chains) == (3, 0)


def test_chains_go_on_to_the_greatest_number_though_one_before_is_gone(run_in):
    """Red with: as many as there are, so that chain 3 of two is left where it is."""
    for number in (2, 3):
        folder = run_in(f"all/chain-{number}", chain_id=number).parent
    request, chains = resume_request(Choices({"resume": str(folder)}))
    assert chains == 3
    assert request.choices.source.chain_id is None


def test_one_of_several_chains_goes_on_with_their_corpus_though_all_were_moved(run_in, tmp_path):
    """Nor is the text there. Red with: a corpus looked for where it was read, or in the run alone."""
    run_in("all/chain-1", chain_id=1)
    (tmp_path / "all/chain-1/corpus").rename(tmp_path / "all/corpus")
    (tmp_path / "all").rename(tmp_path / "moved")
    (tmp_path / "songs.txt").unlink()
    request, _ = resume_request(Choices({"resume": str(tmp_path / "moved/chain-1")}))
    assert request.corpus == tmp_path / "moved/corpus"


def test_a_corpus_that_is_gone_is_named_with_what_to_do(run_in, tmp_path):
    """Red with: an input that is missing, of which nobody has spoken."""
    run = run_in("run")
    shutil.rmtree(run / "corpus")
    request, _ = resume_request(Choices({"resume": str(run)}))  # which reads the text again
    assert request.corpus is None
    (tmp_path / "songs.txt").unlink()
    with pytest.raises(
        MissingInputError, match=r"training corpus is no longer at .* restore the corpus, or"
    ):
        resume_request(Choices({"resume": str(run)}))
