"""One test's topics, group and services on one broker."""

import uuid

from .events import changed
from .service import Service, Topics, configuration


class Bench:
    """Has unique names, so that tests can share a broker."""

    def __init__(self, kafka, folder, stack, partitions):
        name = f"test-{uuid.uuid4().hex[:12]}"
        self.kafka = kafka
        self.group = f"{name}-group"
        self.topics = Topics.create(kafka, name, partitions)
        self._folder = folder
        self._stack = stack
        self._count = 0

    def configuration(self, simulator, **changes):
        return changed(configuration(self.kafka, self.topics, simulator, self.group), changes)

    def start(self, settings, environment=None):
        """Starts a service without waiting for it."""
        self._count += 1
        folder = self._folder / f"service-{self._count}"
        return self._stack.enter_context(Service(folder, settings, environment))

    def run(self, simulator, **changes):
        """Starts a service and waits until it is ready."""
        return self.start(self.configuration(simulator, **changes)).wait_until_ready()

    def produce(self, records, partition=-1):
        return self.kafka.produce(self.topics.source, records, partition)

    def wait_for_outcomes(self, count, seconds=60, service=None):
        child = service.child if service else None
        self.kafka.wait_for_count(self.topics.results, count, seconds, child)

    def wait_until_settled(self, seconds=60, service=None):
        child = service.child if service else None
        self.kafka.wait_until_settled(self.group, self.topics.source, seconds, child)
