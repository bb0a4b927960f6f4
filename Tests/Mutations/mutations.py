"""Plausible mistakes in the core, each as a change to its source.

A mutation is a name and a list of edits. An edit is a file under Sources, a text that occurs there
exactly once, and its replacement. Both are expressions or both are statements; mutated statements
may be empty. All mutations are compiled into one program, and an argument selects the active one.
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
    # A seed that finds it, tried before the others, which are tried in order. A wrong one costs a
    # second; of a mistake that many seeds find, none is noted. Only `scripts/test --all` runs seeds
    # above 100.
    seed: int = 1


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
SETTLED_RECIPIENTS = "Delivery/Offsets/SettledRecipients.swift"
INTAKE = "Delivery/Intake.swift"
CONCLUSION = "Delivery/Conclusion.swift"
RECIPIENTS = "Delivery/Flow/PendingRecipients.swift"
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
RATES = "Delivery/Policy/RateLimits.swift"
TIERS = "Delivery/Later/RetryHistory.swift"
PUBLISHING = "Delivery/Publishing.swift"
TRANSACTION = "Delivery/Transactions/OutcomeTransactions.swift"

REGISTERED_ANEW = "!deliveries[id].facts.isRegistered(after: deadSince)"

SETTLE = "            assignment.settle($0.partition, $0.entry, recipient: $0.recipient)\n"

LEAVES_LANE = (
    "            dispatch.leftLane(\n"
    "                deliveries[id].routeInUse,\n"
    "                source: deliveries[id].facts.source,\n"
    "                isRecipient: deliveries[id].fanOut != nil\n"
    "            )\n"
)

CAMPAIGNS = "Delivery/Policy/Campaigns.swift"
TALLY = "Delivery/CampaignTally.swift"

MUTATIONS = [
    # Offsets
    Mutation(
        "settle a record when its outcome is decided, before Kafka has it",
        [
            statements(
                ENGINE,
                "        delivery.forEachSettledRecord {\n" + SETTLE + "        }\n",
            ),
            statements(
                ENGINE,
                "        publish(records, of: id)\n",
                "        publish(records, of: id)\n"
                "        deliveries[id].forEachSettledRecord {\n" + SETTLE + "        }\n",
            ),
        ],
    ),
    Mutation(
        "commit one offset too far",
        [expression(LEDGER, "lines[Int(first)].offset", "lines[Int(first)].offset.next")],
    ),
    Mutation(
        "settle a record with the result of an earlier assignment",
        [expression(LEDGERS, "owned[place].ledger.epoch == entry.epoch", "true")],
    ),
    Mutation(
        "retry deliveries of an earlier assignment",
        [
            expression(
                ENGINE,
                "assignment.isCurrent(deliveries[id].facts.partition, deliveries[id].ledgerEntry)",
                "true",
            )
        ],
    ),
    Mutation(
        "treat a refused commit as successful",
        [statements(LEDGERS, "            owned[place].ledger.commitFailed()\n")],
    ),
    Mutation(
        "never repeat a commit that its partition refused",
        [statements(LEDGERS, "            owned[place].repeatsAt = nil\n")],
    ),
    Mutation(
        "repeat commit metadata that the broker rejects as too long",
        [expression(LEDGERS, "min(metadataLimit, longestMetadata) / 2", "metadataLimit")],
    ),
    Mutation(
        "start at the end of the log although the configuration says earliest",
        [expression(ASSIGNMENT, "start == .earliest ? .beginning : .end", ".end")],
    ),
    Mutation(
        "continue at the beginning of a truncated log",
        [
            expression(
                LOST,
                ".at(Offset(log.upperBound))",
                ".at(Offset(log.lowerBound))",
            )
        ],
    ),
    Mutation(
        "treat offsets lost by a truncated log as settled after other records reuse them",
        [statements(ASSIGNMENT, "        ledgers.cut(partition, at: start)\n")],
    ),
    Mutation(
        "forget records in flight of a truncated log",
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
        "trust commit metadata regardless of the record at its end",
        [expression(LEDGERS, "metadata?.end", "nil")],
    ),
    Mutation(
        "send an event regardless of its age",
        [expression(ARRIVAL, "tooOldAt <= timestamp", "false")],
    ),
    Mutation(
        "trust commit metadata regardless of its checksum",
        [expression(DECODING, "payload.suffix(4).elementsEqual(Self.littleEndian(checksum))",
                    "true")],
        seed=18,
    ),
    Mutation(
        "continue from memory although another member has committed",
        [expression(LEDGERS, "metadata?.nonce == nonce || begunAt == position", "true")],
    ),
    Mutation(
        "hand back partitions without the final commit",
        [expression(ASSIGNMENT, "max(now + timing.finalCommitTimeout, until)", "now")],
    ),
    Mutation(
        "process records again that the metadata lists as settled",
        [expression(LEDGER, "isRestoredSettled(offset)", "false")],
    ),
    Mutation(
        "leave empty partitions without a committed position",
        [
            statements(
                ASSIGNMENT,
                "        began(partition, at: end)\n",
            )
        ],
    ),
    # Streams and connections
    Mutation(
        "forget requests that a GOAWAY returns as unprocessed",
        [
            statements(
                ENGINE,
                "            move(id, to: .inLane, isFirst: true, now: now)\n",
            )
        ],
    ),
    Mutation(
        "count unprocessed streams as attempts",
        [statements(ENGINE, "        deliveries.update(id) { $0.attempts -= 1 }\n")],
    ),
    Mutation(
        "count a certificate refused in the handshake as a failure of the endpoint",
        [expression(DISPATCH, "cause == .certificateRefused", "false")],
        seed=57,
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
        "open many streams before the first success on a connection",
        [expression(CONNECTION, "min(1, maxConcurrentStreams)", "maxConcurrentStreams")],
    ),
    Mutation(
        "keep using a key that was revoked for another shard",
        [
            statements(
                ENGINE,
                "        dispatch.park(\n"
                "            Route(credential: credential, environment: .production),\n"
                "            .keyRevoked,\n"
                "            sentAt: now.instant,\n"
                "            now: now.instant,\n"
                "            using: &random\n"
                "        )\n",
            )
        ],
    ),
    Mutation(
        "never replace a provider token that a GOAWAY reports as expired",
        [statements(ENGINE, "            decision.tokenRefreshes.append(refresh)\n")],
    ),
    Mutation(
        "accept any answer as proof of the provider token",
        [expression(CONNECTION, "answer == .credential", "true")],
    ),
    Mutation(
        "wait forever for an answer",
        [expression(ENGINE, "deadline <= now.instant", "false")],
    ),
    Mutation(
        "keep a connection that answers no PING",
        [statements(POOL, "            actions.append(.close(connection.id, .pingUnanswered))\n")],
    ),
    Mutation(
        "measure a connection's silence from the last request sent",
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
        "send refused requests again at once, without limit",
        [expression(ENGINE, "delay > .zero", "false")],
    ),
    Mutation(
        "give up events that are refused for long if no retry topic fits",
        [
            expression(
                ENGINE,
                "deferral != nil || due.timestamp > retry.giveUpAt(delivery, now: now)",
                "true",
            )
        ],
        seed=26,
    ),
    Mutation(
        "never count a refused or reset stream as a failure of the endpoint",
        [expression(ENGINE, "kind.isAnswerOfSorts", "false")],
    ),
    # Outcomes
    Mutation(
        "settle a record at the first of several acknowledgements",
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
        "publish no token status",
        [expression(ENGINE, "settings.publishesTokenStatus", "false")],
    ),
    Mutation(
        "publish no dead letter",
        [expression(ENGINE, "settings.publishesDeadLetters", "false")],
    ),
    Mutation(
        "produce no record again when the producer is replaced",
        [statements(PUBLISHING, "            produceAgain(records, of: delivery)\n")],
        seed=26,
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
        "send expired events",
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
        "defer an event beyond its expiration",
        [expression(RETRY, "due < giveUpAt && !delivery.facts.isExpired(at: due)", "true")],
    ),
    Mutation(
        "settle a deferred event before Kafka has its retry record",
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
        "send a retry record after its event should have been given up",
        [
            expression(
                RETRY,
                "now > min(history.firstFailedAt, now).advanced(by: settings.giveUpAfter)",
                "false",
            )
        ],
    ),
    Mutation(
        "make retry records with forged due times wait in turn",
        [expression(TIERS, "min(history.writtenAt ?? now, now)", "now")],
    ),
    Mutation(
        "send a retry record early because its schema was unknown",
        [
            expression(
                ENGINE,
                "arrival.facts.kind != .invalid",
                "arrival.facts.kind != .invalid && arrival.facts.awaitedSchema == nil",
            )
        ],
    ),
    # Hygiene
    Mutation(
        "send to a token known to be dead",
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
        "apply a token's death only to events that arrive later",
        [
            statements(
                ENGINE,
                "        for id in line {"
                " deliveries.update(id) { $0.deadSince = word.deadSince } }\n",
            )
        ],
    ),
    Mutation(
        "treat a token as dead after another member found it alive",
        [
            statements(
                HYGIENE,
                "        if !spoken.isEmpty { spoken.removeAll(keepingCapacity: true) }\n",
            )
        ],
    ),
    Mutation(
        "ignore the process's list of dead tokens",
        [
            statements(
                ENGINE,
                "        for id in dispatch.line(of: token) {"
                " deliveries.update(id) { $0.deadSince = deadSince } }\n"
                "        for id in dueWithoutLine(now: now)"
                " where deliveries[id].facts.names?.target == token {\n"
                "            deliveries.update(id) { $0.deadSince = deadSince }\n"
                "        }\n",
            )
        ],
        seed=25,
    ),
    Mutation(
        "treat an event as a duplicate of one that failed",
        [
            statements(
                HYGIENE,
                "        if !finding.isAccepted {"
                " window.withdraw(names.notification, from: arrival.facts.place) }\n",
            )
        ],
    ),
    Mutation(
        "treat an event as a duplicate of one that was deferred or handed back",
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
        "never reset the fuse",
        [expression(FUSE, "now - since >= settings.recovery", "false")],
        seed=33,
    ),
    Mutation(
        "write a refused token status after a newer one",
        [
            expression(
                PUBLISHING,
                "older.map(\\.delivery).filter {"
                " refusals[PublicationTag($0, .tokenStatus)] != nil }",
                "[DeliveryID]()",
            )
        ],
    ),
    Mutation(
        "drop every token status that Kafka refuses",
        [
            expression(
                PUBLISHING,
                "left[place].isOutdated || place < left.count - 1",
                "true",
            )
        ],
    ),
    # Limits and bulkheads
    Mutation(
        "read a retry topic beyond a record that is not due",
        [expression(INTAKE, "held.stops(partition)", "false")],
    ),
    Mutation(
        "treat a new assignment as paused",
        [statements(PAUSES, "        paused = []\n")],
        seed=26,
    ),
    Mutation(
        "accept more events than the limit",
        [expression(GATE, "min(free, share, Self.batch)", "Self.batch")],
    ),
    Mutation(
        "never resume paused partitions",
        [expression(GATE, "records * 2 <= limits.events", "false")],
    ),
    Mutation(
        "send to a device that already has a request in flight",
        [
            statements(
                ENGINE,
                "            dispatch.sent(lane: lane)\n",
                "            dispatch.sent(lane: lane)\n            leaveLine(id)\n",
            )
        ],
    ),
    Mutation(
        "leave a replaced event in its route's queue",
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
        "accept a ticket from before its delivery moved",
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
        "serve one source until its queue is empty",
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
        "open the breaker again after a single failed probe",
        [expression(BREAKER, "trial.failed.count * 2 > limits.probes", "true")],
    ),
    Mutation(
        "treat a proxy's error page as an answer from APNs",
        [expression(REASONS, "!row.needsReason || reason != nil", "true")],
    ),
    # Broadcasts
    Mutation(
        "send all broadcasts of a channel one after the other",
        [
            statements(
                ENGINE,
                "            for older in dispatch.line(of: device) where older != id {"
                " supersede(older, now: now) }\n",
            )
        ],
    ),
    Mutation(
        "retry a broadcast although a newer one waits",
        [
            expression(
                ENGINE,
                "isDeviceThrottled || !supersededByNewer(id, now: now)",
                "true",
            )
        ],
    ),
    Mutation(
        "defer a broadcast",
        [expression(ARRIVAL, "canPostpone && !arrival.facts.isBroadcast", "canPostpone")],
    ),
    Mutation(
        "let events that wait for a failing topic fill the whole limit",
        [expression(INTAKE, "eventWaits.stops(partition)", "false")],
    ),
    Mutation(
        "drop a token status that has room to wait",
        [expression(INTAKE, "statusWaits.contains(id) && statusWaits.isExceeded", "statusWaits.contains(id)")],
    ),
    # Recipients
    Mutation(
        "forget the last of the recipients that are retried together",
        [
            statements(
                RECIPIENTS,
                "        deferral.recipients.sort { $0.index < $1.index }\n",
                "        deferral.recipients.sort { $0.index < $1.index }\n"
                "        if deferral.recipients.count > 1 { deferral.recipients.removeLast() }\n",
            )
        ],
    ),
    Mutation(
        "keep the recipients of a closed record waiting",
        [
            statements(
                RECIPIENTS,
                "                $0.waiting = RecipientSet(of: $0.waiting.recipientCount)\n",
            )
        ],
    ),
    Mutation(
        "send recipients again whose retry record was refused",
        [
            statements(
                RECIPIENTS,
                "                record.refused[recipient.index] = recipient\n",
            )
        ],
    ),
    Mutation(
        "send recipients although their schema is unknown",
        [expression(RECIPIENTS, "record.failure", "nil as AttemptFailure?")],
    ),
    Mutation(
        "defer an event with recipients as a whole",
        [expression(ENGINE, "deliveries[id].facts.recipientCount > 0", "false")],
    ),
    Mutation(
        "take recipients regardless of the limit",
        [expression(GATE, "recipients < threeQuarters && events < limits.events - reserve", "true")],
    ),
    Mutation(
        "never free the place of a recipient",
        [
            statements(
                INTAKE,
                "        gate.recipientLeft()\n"
                "        shares.left(source: source, byteCount: 0)\n",
            )
        ],
    ),
    Mutation(
        "keep no place for recipients that are retried together",
        [
            statements(
                INTAKE,
                "        gate.recipientEntered()\n"
                "        shares.entered(source: source, byteCount: 0)\n",
            )
        ],
    ),
    Mutation(
        "give a retried recipient the attempts of others",
        [
            statements(
                TIERS,
                "        history.attempts = recipients[index].attempts\n",
            )
        ],
    ),
    Mutation(
        "number the recipients of a retry record anew",
        [
            expression(
                CONCLUSION,
                "facts.history?.place(ofRecipient: recipient.index) ?? place",
                "place",
            )
        ],
    ),
    Mutation(
        "report a retried recipient by its place in the retry record",
        [
            expression(
                ARRIVAL,
                "arrival.facts.history?.place(ofRecipient: index)",
                "nil as RecipientPlace?",
            )
        ],
    ),
    Mutation(
        "keep all recipients in a retry record",
        [expression(ARRIVAL, "fanOut.value(keeping: recipients, of: record)", "record.value")],
    ),
    Mutation(
        "send to a token again that is listed twice",
        [statements(ARRIVAL, "            facts.isRepeated = true\n")],
    ),
    Mutation(
        "settle a recipient that was handed back",
        [
            statements(
                LEDGER,
                "        letGo(entry.line) { $0.inHand.remove(recipient) }\n",
                "        letGo(entry.line) {\n"
                "            $0.inHand.remove(recipient)\n"
                "            $0.settled.insert(recipient)\n"
                "        }\n",
            )
        ],
    ),
    Mutation(
        "settle a record although a recipient was handed back",
        [expression(LEDGER, "fanOut.settled.isComplete", "true")],
    ),
    Mutation(
        "list settled recipients at the next offset",
        [
            expression(
                SETTLED_RECIPIENTS,
                "offset.rawValue - end.rawValue",
                "offset.rawValue - end.rawValue + 1",
            )
        ],
    ),
    Mutation(
        "deliver recipients again that the metadata lists as settled",
        [
            statements(
                LEDGER,
                "        if restored != nil { restoreRecipients(line, fingerprint) }\n",
            )
        ],
    ),
    Mutation(
        "omit settled recipients of records that have not arrived yet",
        [
            statements(
                LEDGER,
                "            records += restored.recipients.drop {"
                " $0.record.offset <= farthest }\n",
            )
        ],
    ),
    Mutation(
        "keep a refused retry record of recipients in its transaction",
        [
            statements(
                ENGINE,
                "            publishing.left(id)\n"
                "            intake.recipientsRefused(fanOut, deferral.recipients)\n",
                "            intake.recipientsRefused(fanOut, deferral.recipients)\n",
            )
        ],
    ),
    # Transactions
    Mutation(
        "commit offsets of outcomes that wait for the next transaction",
        [
            statements(
                ENGINE,
                "        for id in members {"
                " deliveries[id].forEachSettledRecord { settled.append($0) } }\n",
                "        for id in members + (publishing.transactions?.waiting ?? [])"
                " where deliveries.contains(id) {\n"
                "            deliveries[id].forEachSettledRecord { settled.append($0) }\n"
                "        }\n",
            )
        ],
    ),
    Mutation(
        "publish outcomes of a lost assignment",
        [expression(PUBLISHING, "transactions?.dropAll()", "nil as [DeliveryID]?")],
    ),
    Mutation(
        "commit a transaction before all its records are acknowledged",
        [expression(TRANSACTION, "phase == .closing && unfinished == 0", "phase == .closing")],
    ),
    Mutation(
        "treat the refusal of a batch as the refusal of its record",
        [expression(TRANSACTION, "members == [id]", "members.contains(id)")],
    ),
    Mutation(
        "repeat a transaction with a refused batch at the same size",
        [statements(TRANSACTION, "        size.refused(members.count)\n")],
    ),
    Mutation(
        "omit the records of an aborted transaction from the next one",
        [statements(TRANSACTION, "        waiting = members + waiting\n")],
    ),
    Mutation(
        "omit facts about dead tokens from the input log",
        [
            statements(
                "Delivery/Replay/LoggedValues.swift",
                "        try log.pass(&facts.deadSince)\n",
            )
        ],
        seed=16,
    ),
    Mutation(
        "omit ends of connections from the input log",
        [
            statements(
                ENGINE,
                "        log?.note(.connectionClosed) {\n            $0.write(id)\n"
                "            $0.write(cause == .certificateRefused)\n"
                "            $0.write(now)\n        }\n",
            )
        ],
    ),
    # Campaigns
    Mutation(
        "send the events of a paused campaign",
        [
            expression(
                CAMPAIGNS,
                "order.effect(isOver: end.map { $0 <= now } ?? false)",
                "order.effect(isOver: order.state == .paused || end.map { $0 <= now } ?? false)",
            )
        ],
    ),
    Mutation(
        "cancel a campaign that is to be paused",
        [
            expression(
                CAMPAIGNS,
                "order.effect(isOver: end.map { $0 <= now } ?? false)",
                "order.state == .paused ? .cancelled : order.effect(isOver: false)",
            )
        ],
    ),
    Mutation(
        "send the events of a paced campaign as they arrive",
        [
            expression(
                CAMPAIGNS,
                "queues[name] == nil && orders[name]?.pace?.take(now: now) ?? true",
                "true",
            )
        ],
    ),
    Mutation(
        "give each member the whole pace",
        [expression(CAMPAIGNS, "Pace(perSecond: $0 * share)", "Pace(perSecond: $0)")],
    ),
    Mutation(
        "begin a pace anew with each order of another campaign",
        [expression(CAMPAIGNS, "share == self.share", "false")],
    ),
    Mutation(
        "pass half of a pace",
        [
            expression(
                RATES,
                "max(fullAt ?? now, now) + interval",
                "max(fullAt ?? now, now) + interval * 2",
            )
        ],
    ),
    Mutation(
        "keep the last event that waits for a pace",
        [
            statements(
                CAMPAIGNS,
                "                guard orders[name]?.pace?.take(now: now) ?? true"
                " else { continue }\n",
                "                guard (queues[name]?.count ?? 0) > 1,\n"
                "                    orders[name]?.pace?.take(now: now) ?? true\n"
                "                else { continue }\n",
            )
        ],
    ),
    Mutation(
        "let what waits for a stream go when a pace is ordered",
        [
            expression(
                ENGINE,
                "(campaigns.effect(on: campaign, now: now.instant), deliveries[id].place)",
                '(campaigns.effect(on: campaign, now: now.instant).word == "paced"'
                " ? CampaignOrder.Effect.running"
                " : campaigns.effect(on: campaign, now: now.instant), deliveries[id].place)",
            )
        ],
    ),
    Mutation(
        "apply an order only to events that arrive later",
        [expression(ENGINE, "changed.contains(campaign)", "false")],
    ),
    Mutation(
        "defer an event that is for now or never",
        [
            expression(
                "Delivery/Arrival.swift",
                "canStayAway(arrival) && !arrival.facts.isNowOrNever",
                "canStayAway(arrival)",
            )
        ],
    ),
    Mutation(
        "retry whatever the campaign's order is",
        [statements(ENGINE, "        guard !isStoppedByCampaign(id, now: now) else { return }\n")],
    ),
    Mutation(
        "believe the list about a token that an answer of this turn is about",
        [expression("Delivery/Hygiene/Hygiene.swift", "doubted.union(others).subtracting(spoken.keys)", "doubted.union(others)")],
    ),
    Mutation(
        "believe what was known of a token before its event waited for its campaign",
        [expression(ENGINE, "held + campaigns.due(now: now, in: deliveries)", "held")],
        seed=25,
    ),
    Mutation(
        "keep an aborted transaction's counts in the tally",
        [statements(TALLY, "            entries[place].discardPending()\n")],
    ),
    Mutation(
        "commit offsets before the tally has their outcomes",
        [expression(TALLY, "batches.last?.number", "nil")],
    ),
    Mutation(
        "count an event that has another record twice in the tally",
        [
            expression(
                ENGINE,
                "tag.publication == .outcome && !settings.isTransactional",
                "!settings.isTransactional",
            )
        ],
    ),
]
