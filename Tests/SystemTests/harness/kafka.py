"""Kafka as the tests see it: an independent client, and brokers in processes of their own."""

import contextlib
import dataclasses
import os
import pathlib
import re
import sys
import time
import warnings

import noida_db
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
)

from . import contracts
from .deadlines import Deadline, eventually
from .kafka_link import PacedLink, running_kafka_link
from .ports import reserved_port
from .processes import Child, built_binary

# Larger than the largest record of any test, so that only the service's own limits are met.
RECORD_BYTES_MAX = 32_000_000
QUIET = {"log_level": 0}
# How long a broker may take for an answer on a machine that is busy with other brokers.
PATIENCE = 60
READER = "system-test-reader"


@dataclasses.dataclass(frozen=True)
class Written:
    """A record to produce, to a partition if one is given, and then where it went."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple = ()
    partition: int = -1
    # In milliseconds; 0: when it is produced.
    timestamp: int = 0
    offset: int = -1

    @property
    def position(self):
        return (self.partition, self.offset)


PRINTABLE = re.compile("[ -~]*")


def patiently(ask, seconds=PATIENCE):
    """The answer; a broker that comes back has none for a moment."""
    deadline = Deadline(seconds)
    while True:
        try:
            return ask()
        except KafkaException:
            if deadline.passed:
                raise
        time.sleep(0.1)


def resent(ask, done=None):
    """The answer; asks again while the request, or its answer, gets lost on the way.

    librdkafka gives a request up whose broker is not in the newest metadata, and a broker that has
    just started is not in all brokers' metadata. `done` is the error with which Kafka answers if a
    lost request was carried out.
    """
    deadline, is_first = Deadline(PATIENCE), True
    while True:
        try:
            return ask()
        except KafkaException as error:
            code = error.args[0].code()
            if not is_first and code == done:
                return None
            # Negative: no broker said it.
            if code >= 0 or deadline.passed:
                raise
        is_first = False
        time.sleep(0.1)


class Kafka:
    """A cluster, and what a test does with it. Its clients are made once: to make one takes time."""

    # Whether an error is no verdict on the test's own records: a fault that was meant for the
    # service can meet the test's producer.
    produces_again = False

    def __init__(
        self,
        own_servers,
        bootstrap_servers=None,
        is_mock=False,
        is_real=False,
        replication=1,
    ):
        # What a service is told; the test's own clients may have another way.
        self.bootstrap_servers = bootstrap_servers or own_servers
        # The mock cluster has no request for it; topics come to be at first mention.
        self._can_create_topics = not is_mock
        # Kafka takes a commit from a member of the current generation until the new one begins.
        # The mock cluster answers REBALANCE_IN_PROGRESS, and noida-db ILLEGAL_GENERATION, for
        # which librdkafka 2.0.2 gives the whole assignment up: what settled last is repeated.
        self.accepts_commits_in_rebalance = is_real
        # Kafka answers a fetch as soon as there is a record; the others when its time is up.
        self.fetching = {"fetch.wait.max.ms": 100 if is_real else 10}
        # As shipped, so that a machine that stands still loses no partitions; but the mock cluster
        # takes nearly a session for each rebalance.
        self.session_ms = 30_000 if is_real else 6000
        self._replication = replication
        # A broker that starts again is met soon.
        self._client = {
            "bootstrap.servers": own_servers,
            "reconnect.backoff.max.ms": 500,
            **QUIET,
        }
        self._producer = Producer(
            {
                **self._client,
                # An idempotent one needs half a second to begin. So nothing is tried again: then
                # nothing is written twice either.
                "enable.idempotence": False,
                "message.send.max.retries": 0,
                "message.max.bytes": RECORD_BYTES_MAX,
                "linger.ms": 5,
            }
        )
        self._consumers = {}

    def close(self):
        for consumer in self._consumers.values():
            consumer.close()

    def wait_for_brokers(self, count, processes, seconds=300):
        """Until so many have registered.

        On a busy machine, a broker's process can end of itself while the first controllers elect
        one. It starts again, twice at most, and a warning says why it ended.
        """
        starts = 0

        def told():
            return "".join(f"\n{process.output()}" for process in processes)

        def registered():
            nonlocal starts
            for process in processes:
                if not process.is_running:
                    assert starts < 2, f"a broker ended:{told()}"
                    starts += 1
                    warnings.warn(f"a broker ended, and starts again: {process.output()}")
                    process.start_again()
            try:
                return len(self._producer.list_topics(timeout=1).brokers) == count
            except KafkaException:
                return False

        eventually(registered, seconds, lambda: f"{count} brokers to register{told()}")

    def wait_until_in_sync(self, seconds=300):
        """Until each partition has a leader and all its replicas in sync, as each broker knows it.

        A broker that stood still for a while tells what was true before: that it leads, and where
        the logs ended then.
        """

        def told_by(server):
            """{(partition, leader, replicas in sync, all replicas)}"""
            client = AdminClient({**self._client, "bootstrap.servers": server})
            topics = patiently(lambda: client.list_topics(timeout=PATIENCE)).topics
            return {
                (f"{name}[{p.id}]", p.leader, tuple(sorted(p.isrs)), tuple(sorted(p.replicas)))
                for name, topic in topics.items()
                for p in topic.partitions.values()
            }

        def lagging():
            told = [told_by(server) for server in self._client["bootstrap.servers"].split(",")]
            of_all = set.intersection(*told)
            whole = {p for p in of_all if p[1] >= 0 and p[2] == p[3]}
            return sorted(set.union(*told) - whole)

        what = "(partition, leader, in sync, replicas) to be told by all brokers, and in sync"
        eventually(lambda: not lagging(), seconds, lambda: f"{what}: {lagging()}", interval=0.2)

    def wait_for_leaders(self, topic, seconds=120):
        def have_one():
            told = patiently(lambda: self._producer.list_topics(topic, timeout=PATIENCE))
            partitions = told.topics[topic].partitions.values()
            return partitions and all(p.leader >= 0 for p in partitions)

        eventually(have_one, seconds, f"a leader of each partition of {topic}", interval=0.2)
        # A broker names a partition's leader a moment before that leader answers.
        self.ends(topic)

    def create(self, topic, partitions=4, **config):
        """Creates the topic; returns its name."""
        if self._can_create_topics:
            settings = {"max.message.bytes": str(RECORD_BYTES_MAX), **config}
            new = NewTopic(topic, partitions, self._replication, config=settings)
            admin = AdminClient(self._client)
            resent(
                lambda: admin.create_topics([new])[topic].result(PATIENCE),
                done=KafkaError.TOPIC_ALREADY_EXISTS,
            )
        eventually(
            lambda: self.partitions(topic), PATIENCE, f"the topic {topic} to appear in the metadata"
        )
        return topic

    def delete(self, topic):
        """Deletes the topic with all that is in it."""
        admin = AdminClient(self._client)
        resent(
            lambda: admin.delete_topics([topic])[topic].result(PATIENCE),
            done=KafkaError.UNKNOWN_TOPIC_OR_PART,
        )

    def configure(self, topic, **config):
        """Sets these properties of the topic."""
        admin = AdminClient(self._client)
        set_to = AlterConfigOpType.SET
        entries = [
            ConfigEntry(name, value, incremental_operation=set_to) for name, value in config.items()
        ]
        changed = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
        resent(lambda: admin.incremental_alter_configs([changed])[changed].result(PATIENCE))
        asked = ConfigResource(ConfigResource.Type.TOPIC, topic)

        def is_applied():
            now = resent(lambda: admin.describe_configs([asked])[asked].result(PATIENCE))
            return all(now[name].value == value for name, value in config.items())

        # The controller answers before a busy broker knows of the change.
        eventually(is_applied, PATIENCE, f"{config} of {topic}")

    def make_again(self, topic, partitions=4):
        """Deletes the topic with its records, and creates it again."""
        self.delete(topic)
        # Until the old one is gone, it exists already.
        patiently(lambda: self.create(topic, partitions))

    def partitions(self, topic):
        """The topic's partition numbers; none while it does not exist."""
        # A producer asks the broker to create the topic where that is allowed (mock cluster).
        told = patiently(lambda: self._producer.list_topics(topic, timeout=PATIENCE))
        metadata = told.topics[topic]
        return [] if metadata.error else sorted(metadata.partitions)

    def leader(self, topic, partition):
        """The number of the broker that leads the partition."""

        def ask():
            told = self._producer.list_topics(topic, timeout=PATIENCE)
            leader = told.topics[topic].partitions[partition].leader
            if leader < 0:
                raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
            return leader

        return patiently(ask)

    def coordinator(self, group):
        """The number of the broker that coordinates the group."""
        admin = AdminClient(self._client)

        def ask():
            [future] = admin.describe_consumer_groups([group]).values()
            return future.result(PATIENCE).coordinator.id

        return patiently(ask)

    def produce(self, topic, records, partition=-1):
        """Writes the records in order, and returns them with partition and offset."""
        written = [None] * len(records)
        # What was not taken was certainly not written: see `produces_again`.
        for _ in range(5 if self.produces_again else 1):
            missing = [index for index, record in enumerate(written) if record is None]
            errors = self._produce(topic, records, missing, written, partition)
            if not errors:
                break
        assert not errors, errors
        return written

    def _produce(self, topic, records, indices, written, partition):
        """One try; returns its errors."""
        errors = []

        def noted(index, record):
            def on_delivery(error, message):
                if error:
                    errors.append(error)
                    return
                where = {"partition": message.partition(), "offset": message.offset()}
                written[index] = dataclasses.replace(record, **where)

            return on_delivery

        for index in indices:
            record = records[index]
            self._producer.produce(
                topic,
                record.value,
                key=record.key,
                headers=list(record.headers),
                partition=partition if partition >= 0 else record.partition,
                timestamp=record.timestamp,
                on_delivery=noted(index, record),
            )
            self._producer.poll(0)
        assert self._producer.flush(60) == 0, "records were left in the producer"
        return errors

    def produce_in_transaction(self, topic, records, aborts=False):
        """Writes the records in one transaction, and commits or aborts it."""
        producer = Producer({**self._client, "transactional.id": f"{topic}-writer"})
        producer.init_transactions(60)
        producer.begin_transaction()
        for record in records:
            producer.produce(topic, record.value, key=record.key, headers=list(record.headers))
        producer.flush(60)
        if aborts:
            producer.abort_transaction(60)
        else:
            producer.commit_transaction(60)

    @contextlib.contextmanager
    def consumer(self, group=READER, **properties):
        """A client of that group that subscribes to nothing."""
        consumer = self._new_consumer(group, properties)
        try:
            yield consumer
        finally:
            consumer.close()

    def _asking(self, group=READER):
        """A client of that group for questions alone."""
        if group not in self._consumers:
            # A broker that has just started may tell less of a topic than there is, and a client
            # believes that for a quarter of an hour.
            properties = {"topic.metadata.refresh.interval.ms": 1000, "metadata.max.age.ms": 2000}
            self._consumers[group] = self._new_consumer(group, properties)
        return self._consumers[group]

    def _new_consumer(self, group, properties):
        return Consumer(
            {
                **self._client,
                "group.id": group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                **self.fetching,
                "fetch.message.max.bytes": RECORD_BYTES_MAX,
                # noida-db ignores fetch limits.
                "receive.message.max.bytes": 1_000_000_000,
                **properties,
            }
        )

    def ends(self, topic):
        """{partition: one past its last offset}."""
        consumer = self._asking()

        def end(partition):
            asked = TopicPartition(topic, partition)
            return consumer.get_watermark_offsets(asked, timeout=PATIENCE)[1]

        return {p: patiently(lambda p=p: end(p)) for p in self.partitions(topic)}

    def count(self, topic):
        return sum(self.ends(topic).values())

    def read_all(self, topic, seconds=60):
        """Every record that the topic holds now, in order per partition.

        Outcomes and token statuses keep to their schemas, whatever test reads them.
        """
        records = []
        remaining = {p: end for p, end in self.ends(topic).items() if end > 0}
        with self.consumer() as consumer:
            consumer.assign([TopicPartition(topic, p, 0) for p in remaining])
            deadline = Deadline(seconds)
            while remaining:
                assert not deadline.passed, f"{topic}: {remaining} not reached within {seconds} s"
                message = consumer.poll(0.5)
                if message is None:
                    continue
                if message.error():
                    raise KafkaException(message.error())
                records.append(message)
                if message.offset() + 1 >= remaining.get(message.partition(), 0):
                    remaining.pop(message.partition(), None)
        contracts.assert_kept(topic, records)
        return sorted(records, key=lambda record: (record.partition(), record.offset()))

    def read_committed(self, topic, seconds=60):
        """Every record of a committed transaction that the topic holds now.

        Aborted records and the marks of transactions take offsets too, so `count` and `read_all`
        are not for such topics.
        """
        records = []
        with self.consumer(**{"enable.partition.eof": True}) as consumer:
            ended = set()
            partitions = self.partitions(topic)
            consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
            deadline = Deadline(seconds)
            while ended != set(partitions):
                assert not deadline.passed, f"{topic}: only {ended} read within {seconds} s"
                message = consumer.poll(0.5)
                if message is None:
                    continue
                if message.error() is None:
                    records.append(message)
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
                else:
                    raise KafkaException(message.error())
        contracts.assert_kept(topic, records)
        return sorted(records, key=lambda record: (record.partition(), record.offset()))

    def wait_for_count(self, topic, count, seconds=60, child=None):
        """Waits until the topic holds at least `count` records."""

        def reached():
            assert child is None or child.is_running, f"the service ended early: {child.output()}"
            return self.count(topic) >= count

        def what():
            told = child.output() if child else ""
            return f"{count} records in {topic}; it has {self.count(topic)}\n{told}"

        eventually(reached, seconds, what, interval=0.1)

    def committed(self, group, topic):
        """{partition: committed offset}; negative where nothing was committed."""
        return {p.partition: p.offset for p in self._committed(group, topic)}

    def committed_metadata(self, group, topic):
        """{partition: commit metadata}; empty where there is none."""
        # librdkafka copies metadata without a NUL at its end, and confluent-kafka reads on until
        # there is one: what follows may be anything, and with the same client the same each time.
        deadline = Deadline(PATIENCE)
        while True:
            try:
                positions = self._committed(group, topic)
                return {p.partition: PRINTABLE.match(p.metadata or "")[0] for p in positions}
            except UnicodeDecodeError:
                if deadline.passed:
                    raise
                self._consumers.pop(group).close()

    def _committed(self, group, topic):
        positions = [TopicPartition(topic, p) for p in self.partitions(topic)]
        return patiently(lambda: self._asking(group).committed(positions, timeout=PATIENCE))

    def wait_until_settled(self, group, topic, seconds=60, child=None):
        """Waits until the group's committed offsets are the topic's ends."""
        ends = {p: end for p, end in self.ends(topic).items() if end > 0}

        def settled():
            committed = self.committed(group, topic)
            return all(committed[p] == end for p, end in ends.items())

        def what():
            told = child.output() if child else ""
            return f"commits of {group} at {ends}; they are {self.committed(group, topic)}\n{told}"

        eventually(settled, seconds, what, interval=0.1)


@contextlib.contextmanager
def separate_broker(folder):
    """noida-db: a persistent broker in a process of its own. Its dead members never expire."""
    program = str(pathlib.Path(noida_db.__file__).with_name("noida-db"))
    with reserved_port() as port:
        options = ["--data-dir", str(folder), "--only", "kafka", "--kafka-port", str(port)]
        with Child([program, "start", *options]) as child:
            child.wait_for("stdout", lambda line: True if "Ctrl-C" in line else None)
            own = f"127.0.0.1:{port}"
            with (
                running_kafka_link(own, PacedLink) as (_, servers),
                contextlib.closing(Kafka(own, servers)) as kafka,
            ):
                yield kafka


@contextlib.contextmanager
def mock_cluster():
    """librdkafka's mock cluster in a process of its own: members that die expire."""
    script = pathlib.Path(__file__).with_name("mock_cluster.py")
    with Child([sys.executable, str(script)]) as child:
        servers = child.wait_for_json()["bootstrap_servers"]
        with contextlib.closing(Kafka(servers, is_mock=True)) as kafka:
            yield kafka


class FaultyCluster(Kafka):
    """`heliograph-lab kafka`: the mock cluster of librdkafka, with faults by command."""

    produces_again = True

    def __init__(self, child):
        super().__init__(child.wait_for_json()["bootstrap_servers"], is_mock=True)
        self.child = child
        self._commands = 0

    def cause(self, fault):
        """`down 1`, `up 1`, `delay 1 MS`, `fail REQUEST CODE [COUNT]`; returns when it is so."""
        self._commands += 1
        self.child.tell(fault)

        def answered():
            answers = self.child.lines("stdout")[1:]
            return answers[self._commands - 1] if len(answers) >= self._commands else None

        answer = eventually(answered, 60, f"an answer to '{fault}'")
        assert answer == '{"done":true}', f"'{fault}': {answer}"


@contextlib.contextmanager
def faulty_cluster():
    """A cluster that expires dead members and can be made to fail."""
    with Child([built_binary("heliograph-lab"), "kafka"], takes_input=True) as child:
        with contextlib.closing(FaultyCluster(child)) as kafka:
            yield kafka


def real_cluster():
    """The cluster named by HELIOGRAPH_TEST_BOOTSTRAP, or None."""
    servers = os.environ.get("HELIOGRAPH_TEST_BOOTSTRAP")
    return Kafka(servers, is_real=True) if servers else None
