"""Mistakes that somebody could make in the core, each as a change of its source.

A mutation is a name and a list of edits. An edit is a file under Sources, the exact text that
stands there once, and what stands there instead; of an expression both are expressions, of
statements both are statements (and the mutated ones may be missing). All mutations are compiled
into one program, which is told at its start which of them to follow.
"""

from typing import NamedTuple


class Edit(NamedTuple):
    file: str
    kind: str  # "expression" or "statements"
    original: str
    mutated: str


class Mutation(NamedTuple):
    name: str
    edits: list[Edit]


def expression(file: str, original: str, mutated: str) -> Edit:
    return Edit(file, "expression", original, mutated)


def statements(file: str, original: str, mutated: str = "") -> Edit:
    return Edit(file, "statements", original, mutated)


ATTEMPTS = "Delivery/DeliveryEngine+Attempts.swift"
RETRIES = "Delivery/DeliveryEngine+Retries.swift"
OUTCOMES = "Delivery/DeliveryEngine+Outcomes.swift"
ARRIVAL = "Delivery/DeliveryEngine+Arrival.swift"
DEFERRAL = "Delivery/DeliveryEngine+Deferral.swift"
FLOW = "Delivery/DeliveryEngine+Flow.swift"
GROUP = "Delivery/Offsets/GroupMembership.swift"
LEDGER = "Delivery/Offsets/OffsetLedger.swift"
LEDGERS = "Delivery/Offsets/PartitionLedgers.swift"
DECODING = "Delivery/Offsets/CommitMetadata+Decoding.swift"
GATE = "Delivery/Flow/IntakeGate.swift"
PAUSES = "Delivery/Flow/PartitionPauses.swift"
MEMBERSHIP = "Delivery/DeliveryEngine+Membership.swift"
HYGIENE = "Delivery/Hygiene/DeliveryEngine+Hygiene.swift"
FUSE = "Delivery/Hygiene/TokenFuse.swift"
TIERS = "Delivery/Later/RetryTiers.swift"
BREAKER = "Delivery/Policy/CircuitBreaker.swift"
ANSWERS = "Delivery/Policy/RecentAnswers.swift"
QUEUES = "Delivery/Policy/WeightedQueues.swift"
CONNECTION = "ConnectionPool/ConnectionMachine.swift"
POOL = "ConnectionPool/PoolMachine.swift"
TRANSACTIONS = "Delivery/Transactions/DeliveryEngine+Transactions.swift"
TRANSACTION = "Delivery/Transactions/OutcomeTransactions.swift"

SETTLE = (
    "        membership.settle(delivery.arrival.record.partition, delivery.arrival.ledgerEntry)\n"
)

MUTATIONS = [
    # Offsets
    Mutation(
        "settle when the outcome is decided, not when Kafka has it",
        [
            statements(OUTCOMES, SETTLE),
            statements(
                OUTCOMES,
                "        announce(id, isPlain ? .outcome : publications(of: id))\n",
                "        announce(id, isPlain ? .outcome : publications(of: id))\n"
                "        if let delivery = deliveries[id] {\n" + SETTLE + "        }\n",
            ),
        ],
    ),
    Mutation(
        "commit one offset too far",
        [expression(LEDGER, "lines[Int(first)].offset", "lines[Int(first)].offset.next")],
    ),
    Mutation(
        "let the result of an earlier assignment settle a record",
        [expression(LEDGERS, "owned[place].ledger.epoch == entry.epoch", "true")],
    ),
    Mutation(
        "try deliveries of an earlier assignment again",
        [expression(ATTEMPTS,
                    "!membership.isCurrent(arrival.record.partition, arrival.ledgerEntry)",
                    "false")],
    ),
    Mutation(
        "take a refused commit for done",
        [statements(LEDGERS, "            owned[place].ledger.commitFailed()\n")],
    ),
    Mutation(
        "go on reading at the end of the log",
        [expression(GROUP, "start == .earliest ? .beginning : .end", ".end")],
    ),
    Mutation(
        "believe commit metadata whatever its checksum",
        [expression(DECODING, "payload.suffix(4).elementsEqual(Self.littleEndian(checksum))",
                    "true")],
    ),
    Mutation(
        "go on from memory although another member has committed",
        [expression(LEDGERS, "metadata?.nonce == nonce || begunAt == position", "true")],
    ),
    Mutation(
        "give partitions back without the last commit",
        [expression(GROUP, "now + timing.finalCommitTimeout", "now")],
    ),
    Mutation(
        "read again what the metadata calls settled",
        [expression(LEDGER, "isRestoredSettled(offset)", "false")],
    ),
    Mutation(
        "leave a group without a position in partitions without records",
        [
            statements(
                GROUP,
                "        ledgers.began(partition, at: end)\n"
                "        startOffsets[partition] = end\n"
                "        isDirty = true\n",
            )
        ],
    ),
    # Streams and connections
    Mutation(
        "forget what a GOAWAY gave back",
        [statements(RETRIES, "        enqueue(id, first: true, now: now)\n")],
    ),
    Mutation(
        "count streams that were given back as attempts",
        [statements(RETRIES, "        deliveries.update(id) { $0.attempts -= 1 }\n")],
    ),
    Mutation(
        "ignore the peer's stream limit",
        [
            expression(
                CONNECTION,
                "max(0, streamLimit - openStreams)",
                "phase == .ready ? 100 : max(0, streamLimit - openStreams)",
            )
        ],
    ),
    Mutation(
        "open many streams before the first success",
        [expression(CONNECTION, "min(1, maxConcurrentStreams)", "maxConcurrentStreams")],
    ),
    Mutation(
        "wait for an answer for ever",
        [expression(ATTEMPTS, "deadline <= now.instant", "false")],
    ),
    Mutation(
        "keep a connection that answers nothing",
        [statements(POOL, "            actions.append(.close(connection.id, .pingUnanswered))\n")],
    ),
    Mutation(
        "count a connection's silence from what was sent last",
        [
            statements(
                CONNECTION,
                "        if openStreams == 0 { idleSince = now }\n",
                "        if openStreams == 0 { idleSince = now }\n"
                "        if openStreams == 0 { (silentSince, unansweredSince) = (nil, nil) }\n",
            )
        ],
    ),
    Mutation(
        "send what is refused again at once, however often",
        [expression(RETRIES, "delay > .zero", "false")],
    ),
    Mutation(
        "give up what is refused for long and fits no retry topic",
        [expression(DEFERRAL, "fits || due > giveUpAt", "true")],
    ),
    Mutation(
        "hold nothing against an endpoint that refuses or resets every stream",
        [expression(ATTEMPTS, "kind.isAnswerOfSorts", "false")],
    ),
    # Outcomes
    Mutation(
        "settle with the first of several acknowledgements",
        [expression(OUTCOMES, "awaited.isEmpty", "true")],
    ),
    Mutation(
        "forget the token status",
        [expression(OUTCOMES, "settings.publishesTokenStatus", "false")],
    ),
    Mutation(
        "forget the dead letter",
        [expression(OUTCOMES, "settings.publishesDeadLetters", "false")],
    ),
    Mutation(
        "produce nothing again when the producer is replaced",
        [
            statements(
                OUTCOMES,
                "                actions.append(.publishAgain(id, publication))\n",
            )
        ],
    ),
    Mutation(
        "drop a record that Kafka refused",
        [
            statements(
                OUTCOMES,
                "            actions.append(.publishAgain(tag.delivery, tag.publication))\n",
            )
        ],
    ),
    # Retries
    Mutation(
        "send what has expired",
        [expression(ARRIVAL, "expiration <= timestamp.seconds", "false")],
    ),
    Mutation(
        "forget an event whose backoff is over",
        [expression(RETRIES, "deliveries[id]?.phase == .backingOff", "false")],
    ),
    Mutation(
        "put an event off beyond its expiration",
        [expression(DEFERRAL, "due < giveUpAt && !event.isExpired(at: due)", "true")],
    ),
    Mutation(
        "settle an event that is put off before Kafka has it",
        [
            statements(
                DEFERRAL,
                "        announce(id, [.retry])\n",
                SETTLE + "        counts.deferred += 1\n        remove(id)\n",
            )
        ],
    ),
    Mutation(
        "send a retry record before it is due",
        [expression(DEFERRAL, "wait > .zero", "false")],
    ),
    Mutation(
        "send what comes back after it was to be given up",
        [
            expression(
                DEFERRAL,
                "now.timestamp > history.firstFailedAt.advanced(by: settings.giveUpAfter)",
                "false",
            )
        ],
    ),
    Mutation(
        "let records with forged due times wait one after the other",
        [expression(TIERS, "min(history.writtenAt ?? now, now)", "now")],
    ),
    Mutation(
        "send a retry record early because its schema was unknown",
        [
            statements(
                ARRIVAL,
                "            guard !holdUntilDue(id, arrival, now: now) else { break }\n"
                "            wait(id, for: schema, now: now)\n",
                "            wait(id, for: schema, now: now)\n",
            )
        ],
    ),
    # Hygiene
    Mutation(
        "send to a token that is known to be dead",
        [
            expression(HYGIENE, "!arrival.content.isRegistered(after: since)", "false"),
            expression(
                HYGIENE,
                "deliveries[id]?.arrival.content.isRegistered(after: since) == false",
                "false",
            ),
        ],
    ),
    Mutation(
        "send to a token that died while the event waited",
        [expression(HYGIENE, "hygiene.recentlyDead.count > 0", "false")],
    ),
    Mutation(
        "hold a token for dead that another member found alive",
        [
            expression(
                HYGIENE,
                "hygiene.untold.contains(token)",
                "hygiene.recentlyDead[token] != nil",
            )
        ],
    ),
    Mutation(
        "take an event for a duplicate of one that failed",
        [
            statements(
                HYGIENE,
                "        if !conclusion.isAccepted {\n"
                "            hygiene.window.withdraw(names.notification, from: arrival.place)\n"
                "        }\n",
            )
        ],
    ),
    Mutation(
        "take an event for a duplicate of one that was put off or handed back",
        [
            statements(
                HYGIENE,
                "        guard !delivery.hasOutcome, let names = delivery.hashes "
                "else { return }\n"
                "        hygiene.window.withdraw("
                "names.notification, from: delivery.arrival.place)\n",
            )
        ],
    ),
    Mutation(
        "remove tokens while the fuse is blown",
        [expression(HYGIENE, "hygiene.fuses[route.index].isBlown", "false")],
    ),
    Mutation(
        "never blow the fuse",
        [expression(FUSE, "share >= threshold", "false")],
    ),
    Mutation(
        "never make the fuse whole again",
        [expression(FUSE, "now - since >= settings.recovery", "false")],
    ),
    # Bounds and bulkheads
    Mutation(
        "go on reading a retry topic behind a record that is not due",
        [expression(MEMBERSHIP, "tierHold.stops(partition)", "false")],
    ),
    Mutation(
        "take a new assignment for paused",
        [statements(PAUSES, "        paused = []\n")],
    ),
    Mutation(
        "take in more than there is room for",
        [expression(GATE, "min(limits.events - reserve - events, Self.batch)", "Self.batch")],
    ),
    Mutation(
        "never resume what was paused",
        [expression(GATE, "events * 2 <= limits.events", "false")],
    ),
    Mutation(
        "send to a device that has one in flight",
        [expression(FLOW, "pacing.joined(id, device)", "pacing.joined(id, device) || true")],
    ),
    Mutation(
        "leave what a newer event replaced in its route's queue",
        [statements(FLOW, "            takeFromQueue(id)\n")],
    ),
    Mutation(
        "serve one source until it has nothing left",
        [expression(QUEUES, "credit == 0 || queues[current].isEmpty", "queues[current].isEmpty")],
    ),
    Mutation(
        "never close the breaker",
        [expression(BREAKER, "trial.succeeded * 2 > limits.probes", "false")],
    ),
    Mutation(
        "open the breaker for one device that fails often",
        [expression(ANSWERS, "!isKnown", "true")],
    ),
    Mutation(
        "let one failed probe decide",
        [expression(BREAKER, "trial.failed.count * 2 > limits.probes", "true")],
    ),
    # Broadcasts
    Mutation(
        "send a channel's broadcasts one after the other",
        [expression(FLOW, "arrival.isBroadcast", "false")],
    ),
    Mutation(
        "try a broadcast again though a newer one waits",
        [
            expression(
                RETRIES,
                "isDeviceThrottled || !endsSuperseded(id, event, now: now)",
                "true",
            )
        ],
    ),
    Mutation(
        "put a broadcast off",
        [
            expression(
                DEFERRAL, "settings.canPostpone && !event.isBroadcast", "settings.canPostpone"
            )
        ],
    ),
    # Transactions
    Mutation(
        "commit offsets of outcomes that wait for the next transaction",
        [
            expression(
                TRANSACTIONS,
                "transactions.members.compactMap { deliveries[$0]?.settledRecord }",
                "(transactions.members + transactions.waiting).compactMap {"
                " deliveries[$0]?.settledRecord }",
            )
        ],
    ),
    Mutation(
        "publish outcomes of an assignment that is gone",
        [expression(TRANSACTIONS, "transactions?.dropAll()", "nil as [DeliveryID]?")],
    ),
    Mutation(
        "commit a transaction before all of it is acknowledged",
        [expression(TRANSACTION, "phase == .closing && unfinished == 0", "phase == .closing")],
    ),
    Mutation(
        "leave out of the next transaction what an abort has undone",
        [statements(TRANSACTION, "        waiting = members + waiting\n")],
    ),
]
