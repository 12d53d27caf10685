"""What a start says before it trains."""

from faults_runs import train_here, write_corpus


def test_a_budget_that_ends_before_the_first_sample_is_warned_of_where_it_is_to_come(tmp_path):
    """Red with: a warning of a run that has its samples already, under a budget that it has used."""
    write_corpus(tmp_path / "corpus.txt")
    warned = [
        any("end before the first posterior sample" in line for line in said)
        for said in (
            train_here(tmp_path, iterations=6),
            train_here(tmp_path, iterations=16),
            train_here(tmp_path, iterations=7),
        )
    ]
    assert warned == [True, False, False]
