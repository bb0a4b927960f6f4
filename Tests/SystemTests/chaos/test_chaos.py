"""The short form of every experiment; `scripts/chaos` runs the long one."""

import pytest

from chaos.lab import EXPERIMENTS
from chaos.runner import HEADER, run

SEED = 1
# Approximate durations of the slow ones, in seconds.
SECONDS = {1: 20, 2: 35, 3: 30, 4: 20, 5: 30, 8: 15, 9: 20, 13: 15, 14: 25, 16: 40}


@pytest.mark.parametrize(
    "number",
    [pytest.param(n, marks=pytest.mark.takes(SECONDS.get(n, 10))) for n in sorted(EXPERIMENTS)],
)
def test_experiment(number, tmp_path):
    line, failure = run(number, SEED, is_short=True, folder=tmp_path)
    print(f"{HEADER}\n{line}")
    if failure:
        raise failure


def test_every_experiment_is_there():
    assert sorted(EXPERIMENTS) == list(range(1, 17))
