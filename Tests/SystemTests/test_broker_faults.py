"""The short form of `scripts/chaos --cluster`: three brokers of Apache Kafka under load.

Whatever a broker does, no event is lost. The service keeps running, so none is sent twice either,
except that a lost session repeats an open transaction (docs/guarantees.md).
"""

import pytest

from chaos import cluster
from harness.apache_kafka import kafka_home

pytestmark = [
    pytest.mark.takes(320),
    pytest.mark.skipif(kafka_home() is None, reason="KAFKA_HOME names no Apache Kafka"),
]


@pytest.mark.parametrize(
    ("rows", "is_transactional"),
    [
        # Each way in which a broker can fail, once: in order, at once, and by silence.
        (("restart", "leader", "pause"), True),
        (("restart", "silent"), False),
    ],
    ids=["transactional", "plain"],
)
def test_brokers_that_fail_lose_and_repeat_nothing(tmp_path, rows, is_transactional):
    cluster.run(rows, tmp_path, is_transactional=is_transactional, is_short=True)
