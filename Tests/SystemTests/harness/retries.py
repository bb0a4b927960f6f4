"""Retry topics: how a test enables them, and what their records contain."""

PREFIX = "heliograph-retry-"


def retrying(*delays, **changes):
    """The `retry` section for one attempt per round and tiers with these delays."""
    settings = {"attempts": 1, "here_for": "1s", "later": list(delays), "give_up_after": "1h"}
    return {**settings, **changes}


def create_retry_topics(bench, *delays, partitions=4):
    """Creates the source's retry topics; returns their names in the order of the delays."""
    return [
        bench.kafka.create(f"{bench.topics.source}.retry.{delay}", partitions) for delay in delays
    ]


def history_of(message):
    """The service's own headers of a retry record as text, without their prefix."""
    headers = message.headers() or []
    return {n.removeprefix(PREFIX): v.decode() for n, v in headers if n.startswith(PREFIX)}


def own_headers_of(message):
    """The headers that are not the service's."""
    return [(n, v) for n, v in message.headers() or [] if not n.startswith(PREFIX)]
