"""The short form of every experiment; `scripts/chaos` runs the long one."""

import pytest

from chaos.lab import EXPERIMENTS
from chaos.runner import HEADER, run

SEED = 1


@pytest.mark.parametrize("number", sorted(EXPERIMENTS))
def test_experiment(number, tmp_path):
    line, failure = run(number, SEED, is_short=True, folder=tmp_path)
    print(f"{HEADER}\n{line}")
    if failure:
        raise failure


def test_every_experiment_is_there():
    assert sorted(EXPERIMENTS) == list(range(1, 17))
