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


ENGINE = "Delivery/DeliveryEngine.swift"
DISPATCH = "Delivery/Dispatch.swift"
TABLE = "Delivery/DeliveryTable.swift"
ARRIVAL = "Delivery/Arrival.swift"
ASSIGNMENT = "Delivery/Offsets/Assignment.swift"
LEDGER = "Delivery/Offsets/OffsetLedger.swift"
LEDGERS = "Delivery/Offsets/PartitionLedgers.swift"
LOST = "Delivery/Offsets/LostOffset.swift"
DECODING = "Delivery/Offsets/CommitMetadata.swift"
INTAKE = "Delivery/Intake.swift"
GATE = "Delivery/Flow/IntakeGate.swift"
PAUSES = "Delivery/Flow/PartitionPauses.swift"
HYGIENE = "Delivery/Hygiene/Hygiene.swift"
FUSE = "Delivery/Hygiene/TokenFuse.swift"
BREAKER = "Delivery/Policy/CircuitBreaker.swift"
QUEUES = "Delivery/Policy/WeightedQueues.swift"
CONNECTION = "ConnectionPool/ConnectionMachine.swift"
POOL = "ConnectionPool/PoolMachine.swift"
REASONS = "APNsRules/ReasonTable.swift"
RETRY = "Delivery/Retry.swift"
TIERS = "Delivery/Later/RetryHistory.swift"
PUBLISHING = "Delivery/Publishing.swift"
TRANSACTION = "Delivery/Transactions/OutcomeTransactions.swift"

REGISTERED_ANEW = "!deliveries[id].facts.isRegistered(after: deadSince)"

LEAVES_LANE = (
    "            dispatch.leftLane("
    "deliveries[id].routeInUse, source: deliveries[id].facts.source)\n"
)

MUTATIONS = [
    # Offsets
    Mutation(
        "settle when the outcome is decided, not when Kafka has it",
        [
            statements(
                ENGINE,
                "        assignment.settle(delivery.facts.partition, delivery.ledgerEntry)\n",
            ),
            statements(
                ENGINE,
                "        publish(records, of: id)\n",
                "        publish(records, of: id)\n"
                "        assignment.settle(arrival.facts.partition, deliveries[id].ledgerEntry)\n",
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
        [
            expression(
                ENGINE,
                "assignment.isCurrent(deliveries[id].facts.partition, deliveries[id].ledgerEntry)",
                "true",
            )
        ],
    ),
    Mutation(
        "take a refused commit for done",
        [statements(LEDGERS, "            owned[place].ledger.commitFailed()\n")],
    ),
    Mutation(
        "never repeat a commit that was refused for its partition's sake",
        [statements(LEDGERS, "            owned[place].repeatsAt = nil\n")],
    ),
    Mutation(
        "commit what the broker calls too long again and again",
        [expression(LEDGERS, "min(metadataLimit, longestMetadata) / 2", "metadataLimit")],
    ),
    Mutation(
        "go on reading at the end of the log",
        [expression(ASSIGNMENT, "start == .earliest ? .beginning : .end", ".end")],
    ),
    Mutation(
        "go on reading at the beginning of a log that was cut",
        [
            expression(
                LOST,
                ".at(Offset(log.upperBound))",
                ".at(Offset(log.lowerBound))",
            )
        ],
    ),
    Mutation(
        "call what a log has lost settled, once other records stand there",
        [statements(ASSIGNMENT, "        ledgers.cut(partition, at: start)\n")],
    ),
    Mutation(
        "forget what is in hand of a log that was cut",
        [
            statements(
                ASSIGNMENT,
                "        ledgers.cut(partition, at: start)\n",
                "        ledgers.restarted(partition)\n"
                "        ledgers.began(partition, at: start)\n",
            )
        ],
    ),
    Mutation(
        "believe commit metadata whatever record stands at its end",
        [expression(LEDGERS, "metadata?.end", "nil")],
    ),
    Mutation(
        "send an event however old it is",
        [expression(ARRIVAL, "tooOldAt <= timestamp", "false")],
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
        [expression(ASSIGNMENT, "now + timing.finalCommitTimeout", "now")],
    ),
    Mutation(
        "read again what the metadata calls settled",
        [expression(LEDGER, "isRestoredSettled(offset)", "false")],
    ),
    Mutation(
        "leave a group without a position in partitions without records",
        [
            statements(
                ASSIGNMENT,
                "        began(partition, at: end)\n",
            )
        ],
    ),
    # Streams and connections
    Mutation(
        "forget what a GOAWAY gave back",
        [
            statements(
                ENGINE,
                "            move(id, to: .inLane, isFirst: true, now: now)\n",
            )
        ],
    ),
    Mutation(
        "count streams that were given back as attempts",
        [statements(ENGINE, "        deliveries.update(id) { $0.attempts -= 1 }\n")],
    ),
    Mutation(
        "hold a certificate that the handshake refuses against the endpoint",
        [expression(DISPATCH, "cause == .certificateRefused", "false")],
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
        "go on with a key that was revoked for another shard",
        [
            statements(
                ENGINE,
                "        dispatch.park(\n"
                "            credential,\n"
                "            .keyRevoked,\n"
                "            sentAt: now.instant,\n"
                "            now: now.instant,\n"
                "            using: &random\n"
                "        )\n",
            )
        ],
    ),
    Mutation(
        "never replace the provider token that a GOAWAY calls expired",
        [statements(ENGINE, "            decision.tokenRefreshes.append(refresh)\n")],
    ),
    Mutation(
        "take any answer for a proof of the provider token",
        [expression(CONNECTION, "answer == .credential", "true")],
    ),
    Mutation(
        "wait for an answer for ever",
        [expression(ENGINE, "deadline <= now.instant", "false")],
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
        [expression(ENGINE, "delay > .zero", "false")],
    ),
    Mutation(
        "give up what is refused for long and fits no retry topic",
        [
            expression(
                ENGINE,
                "deferral != nil || due.timestamp > retry.giveUpAt(delivery, now: now)",
                "true",
            )
        ],
    ),
    Mutation(
        "hold nothing against an endpoint that refuses or resets every stream",
        [expression(ENGINE, "kind.isAnswerOfSorts", "false")],
    ),
    # Outcomes
    Mutation(
        "settle with the first of several acknowledgements",
        [
            statements(
                ENGINE,
                "        awaited.remove(tag.publication)\n",
                "        if settings.isTransactional { awaited.remove(tag.publication) }\n"
                "        else { awaited = [] }\n",
            )
        ],
    ),
    Mutation(
        "forget the token status",
        [expression(ENGINE, "settings.publishesTokenStatus", "false")],
    ),
    Mutation(
        "forget the dead letter",
        [expression(ENGINE, "settings.publishesDeadLetters", "false")],
    ),
    Mutation(
        "produce nothing again when the producer is replaced",
        [statements(PUBLISHING, "            produceAgain(records, of: delivery)\n")],
    ),
    Mutation(
        "drop a record that Kafka refused",
        [
            statements(
                PUBLISHING,
                "        produceAgain(Publications(tag.publication), of: tag.delivery)\n",
            )
        ],
    ),
    # Retries
    Mutation(
        "send what has expired",
        [
            expression(
                ARRIVAL,
                "Event.isOver(expiration, at: timestamp) || isTooOld(at: timestamp)",
                "false",
            )
        ],
    ),
    Mutation(
        "forget an event whose backoff is over",
        [statements(RETRY, "            if let id = table.holder(of: ticket) { return id }\n")],
    ),
    Mutation(
        "put an event off beyond its expiration",
        [expression(RETRY, "due < giveUpAt && !delivery.facts.isExpired(at: due)", "true")],
    ),
    Mutation(
        "settle an event that is put off before Kafka has it",
        [
            statements(
                ENGINE,
                "        publish(.retry, of: id)\n",
                "        assignment.settle("
                "deliveries[id].facts.partition, deliveries[id].ledgerEntry)\n"
                "        counts.deferred += 1\n"
                "        remove(id, isUndone: false)\n",
            )
        ],
    ),
    Mutation(
        "send a retry record before it is due",
        [expression(INTAKE, "wait > .zero", "false")],
    ),
    Mutation(
        "send what comes back after it was to be given up",
        [
            expression(
                RETRY,
                "now > history.firstFailedAt.advanced(by: settings.giveUpAfter)",
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
            expression(
                ENGINE,
                "arrival.facts.kind == .event",
                "arrival.facts.kind == .event && arrival.facts.awaitedSchema == nil",
            )
        ],
    ),
    # Hygiene
    Mutation(
        "send to a token that is known to be dead",
        [
            expression(HYGIENE, "!arrival.facts.isRegistered(after: deadSince)", "false"),
            expression(ENGINE, REGISTERED_ANEW, "false"),
        ],
    ),
    Mutation(
        "send to a token that died while the event waited",
        [expression(ENGINE, REGISTERED_ANEW, "false")],
    ),
    Mutation(
        "tell no event that waits that its token died",
        [
            statements(
                ENGINE,
                "        for id in line {"
                " deliveries.update(id) { $0.deadSince = word.deadSince } }\n",
            )
        ],
    ),
    Mutation(
        "hold a token for dead that another member found alive",
        [
            statements(
                HYGIENE,
                "        if !spoken.isEmpty { spoken.removeAll(keepingCapacity: true) }\n",
            )
        ],
    ),
    Mutation(
        "ignore what the process's list says of a token",
        [
            statements(
                ENGINE,
                "        for id in dispatch.line(of: token) {"
                " deliveries.update(id) { $0.deadSince = deadSince } }\n"
                "        for id in intake.heldDue(now: now)"
                " where deliveries[id].facts.names?.target == token {\n"
                "            deliveries.update(id) { $0.deadSince = deadSince }\n"
                "        }\n",
            )
        ],
    ),
    Mutation(
        "take an event for a duplicate of one that failed",
        [
            statements(
                HYGIENE,
                "        if !finding.isAccepted {"
                " window.withdraw(names.notification, from: arrival.facts.place) }\n",
            )
        ],
    ),
    Mutation(
        "take an event for a duplicate of one that was put off or handed back",
        [
            statements(
                HYGIENE,
                "        window.withdraw(names.notification, from: arrival.facts.place)\n",
            )
        ],
    ),
    Mutation(
        "remove tokens while the fuse is blown",
        [expression(HYGIENE, "fuses[route.index].isBlown", "false")],
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
        [expression(INTAKE, "held.stops(partition)", "false")],
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
        [
            statements(
                ENGINE,
                "            dispatch.sent(lane: lane)\n",
                "            dispatch.sent(lane: lane)\n            leaveLine(id)\n",
            )
        ],
    ),
    Mutation(
        "leave what a newer event replaced in its route's queue",
        [
            statements(
                ENGINE,
                LEAVES_LANE,
                "            if deliveries[id].outcome?.reason != .local(.superseded) {\n"
                + LEAVES_LANE + "            }\n",
            )
        ],
    ),
    Mutation(
        "honour a ticket from before its delivery moved",
        [
            statements(
                TABLE,
                "        slots[id.index].moves &+= 1\n"
                "        slots[id.index].delivery.place = place\n",
                "        slots[id.index].delivery.place = place\n",
            )
        ],
    ),
    Mutation(
        "serve one source until it has nothing left",
        [expression(QUEUES, "credit == 0 || lengths[current] == 0", "lengths[current] == 0")],
    ),
    Mutation(
        "never close the breaker",
        [expression(BREAKER, "trial.succeeded * 2 > limits.probes", "false")],
    ),
    Mutation(
        "open the breaker for one device that fails often",
        [expression(BREAKER, "!isKnown", "true")],
    ),
    Mutation(
        "let one failed probe decide",
        [expression(BREAKER, "trial.failed.count * 2 > limits.probes", "true")],
    ),
    Mutation(
        "take the page of a proxy for a word of APNs",
        [expression(REASONS, "!row.needsReason || reason != nil", "true")],
    ),
    # Broadcasts
    Mutation(
        "send a channel's broadcasts one after the other",
        [
            statements(
                ENGINE,
                "            for older in dispatch.line(of: device) where older != id {"
                " supersede(older, now: now) }\n",
            )
        ],
    ),
    Mutation(
        "try a broadcast again though a newer one waits",
        [
            expression(
                ENGINE,
                "isDeviceThrottled || !supersededByNewer(id, now: now)",
                "true",
            )
        ],
    ),
    Mutation(
        "put a broadcast off",
        [expression(ARRIVAL, "canPostpone && !arrival.facts.isBroadcast", "canPostpone")],
    ),
    Mutation(
        "let what waits for a topic that refuses take all of the bound",
        [expression(INTAKE, "eventWaits.stops(partition)", "false")],
    ),
    Mutation(
        "drop a token's state that has room to wait",
        [expression(INTAKE, "statusWaits.contains(id) && statusWaits.isExceeded", "statusWaits.contains(id)")],
    ),
    # Transactions
    Mutation(
        "commit offsets of outcomes that wait for the next transaction",
        [
            expression(
                ENGINE,
                "members.map { deliveries[$0].settledRecord }",
                "(members + (publishing.transactions?.waiting ?? [])).compactMap {"
                " deliveries.contains($0) ? deliveries[$0].settledRecord : nil }",
            )
        ],
    ),
    Mutation(
        "publish outcomes of an assignment that is gone",
        [expression(PUBLISHING, "transactions?.dropAll()", "nil as [DeliveryID]?")],
    ),
    Mutation(
        "commit a transaction before all of it is acknowledged",
        [expression(TRANSACTION, "phase == .closing && unfinished == 0", "phase == .closing")],
    ),
    Mutation(
        "take the refusal of a batch for that of its record",
        [expression(TRANSACTION, "members == [id]", "members.contains(id)")],
    ),
    Mutation(
        "do a transaction whose batch is refused again as it was",
        [statements(TRANSACTION, "        size.refused(members.count)\n")],
    ),
    Mutation(
        "leave out of the next transaction what an abort has undone",
        [statements(TRANSACTION, "        waiting = members + waiting\n")],
    ),
    Mutation(
        "log no fact about a dead token",
        [
            statements(
                "Delivery/Replay/LoggedValues.swift",
                "        try log.pass(&facts.deadSince)\n",
            )
        ],
    ),
    Mutation(
        "log no end of a connection",
        [
            statements(
                ENGINE,
                "        log?.note(.connectionClosed) {\n            $0.write(id)\n"
                "            $0.write(cause == .certificateRefused)\n"
                "            $0.write(now)\n        }\n",
            )
        ],
    ),
]
