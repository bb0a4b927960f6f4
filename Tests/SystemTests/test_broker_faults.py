"""The short form of `scripts/chaos --cluster`: three brokers of Apache Kafka under load.

Whatever a broker does, no event is lost. The service keeps running, so none is sent twice either,
except that a lost session repeats an open transaction (docs/guarantees.md).
"""

import pytest

from chaos import cluster
from harness.apache_kafka import kafka_home

pytestmark = [
    pytest.mark.takes(200),
    pytest.mark.skipif(kafka_home() is None, reason="KAFKA_HOME names no Apache Kafka"),
]
# What each fault of a broker does, once: in order, at once, and by silence.
SHORT = ("restart", "leader", "pause")


@pytest.mark.parametrize("is_transactional", [False, True], ids=["plain", "transactional"])
def test_brokers_that_fail_lose_and_repeat_nothing(tmp_path, is_transactional):
    cluster.run(SHORT, tmp_path, is_transactional=is_transactional, is_short=True)


def test_a_coordinator_out_of_reach_loses_and_repeats_nothing(tmp_path):
    cluster.run(("silent",), tmp_path, is_short=True)
