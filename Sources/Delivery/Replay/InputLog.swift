import Vocabulary

/// Records an engine's inputs, and a digest of its decisions, so that `Replay` can repeat the run.
///
/// It contains no device token and no payload: the engine sees neither. The first block holds the
/// version, the seed and the settings; each further one holds the inputs of a turn and a digest of
/// each list of its decision. A block is its length, the complement of its length and its CRC-32C,
/// four bytes each, followed by its contents.
struct InputLog: Sendable {
    /// The engine's inputs and queries; a query can change the engine, too.
    enum Kind: UInt8, CaseIterable {
        case recordArrived, recordDecoded, tokenHeard, schemaFetched, schemaFetchFailed
        case responseArrived, streamBroke, connectionOpened, streamLimitChanged, goAwayReceived
        case pingAnswered, connectionClosed, credentialReplaced, keyRevoked
        case published, publicationFailed, publicationAbandoned, deferralRefused, producerReplaced
        case transactionCallSucceeded, transactionCallFailed, transactionalProducerFailed
        case partitionsAssigned, storedOffsetsFetched, endSeen, endReached, partitionsRevoked
        case partitionRestarted, partitionChanged, offsetLost, campaignsOrdered
        case tallyWritten, tallyRefused
        case commitMetadataRefused, commitRefused, commitFinished, shutdownRequested
        case intakeBudgetAsked, nextToDecodeAsked, nextRecipientAsked, recipientArrived, turnEnded
    }

    static let format = 2
    static let magic = "heliograph-input-log"

    /// Complete blocks.
    private var written = LogWriter()
    private var block = LogWriter()

    init(version: String, settings: EngineSettings, seed: UInt64) {
        block.write(Self.magic)
        block.write(Self.format)
        block.write(version)
        block.write(number: seed)
        block.write(settings)
        endBlock()
    }

    mutating func note(_ kind: Kind, _ write: (inout LogWriter) -> Void = { _ in }) {
        block.write(number: kind.rawValue)
        write(&block)
    }

    /// The turn has ended with this decision, which completes its block.
    mutating func turnEnded(now: Moment, _ decision: TurnDecision) {
        note(.turnEnded) { block in
            block.write(now)
            for digest in decision.digests { block.write(fixed: digest) }
        }
        endBlock()
    }

    private mutating func endBlock() {
        var checksum = CRC32C()
        checksum.update(block.bytes)
        let length = UInt32(block.bytes.count)
        written.write(fixed: length)
        // The complement detects a damaged length, which would otherwise look like the log's end.
        written.write(fixed: ~length)
        written.write(fixed: checksum.value)
        written.append(block.bytes)
        block.removeAll()
    }

    /// Returns the complete blocks, and removes them.
    mutating func take() -> [UInt8] {
        defer { written.removeAll() }
        return written.bytes
    }
}

extension TurnDecision {
    /// A list of the decision.
    public enum List: String, CaseIterable, Sendable {
        case tokenRefreshes = "token refreshes"
        case cancels
        case sends
        case connections
        case tokenWords = "token words"
        case schemaFetches = "schema fetches"
        case tallies
        case transactions
        case publications
        case dropped
        case group
        case stop
    }

    /// The digest of each list, in the order of `List.allCases`.
    var digests: [UInt32] {
        List.allCases.map { list in
            var digest = WordDigest()
            forEachWord(of: list) { digest.mix($0) }
            return UInt32(truncatingIfNeeded: digest.value ^ digest.value >> 32)
        }
    }

    /// Passes the contents of a list to `take` as numbers; equal lists give equal numbers.
    public func forEachWord(of list: List, _ take: (UInt64) -> Void) {
        switch list {
        case .tokenRefreshes:
            for refresh in tokenRefreshes {
                take(UInt64(refresh.credential))
                take(refresh.sentAt.word)
            }
        case .cancels:
            for cancel in cancels {
                take(cancel.delivery.rawValue)
                take(UInt64(cancel.connection.rawValue))
            }
        case .sends:
            for send in sends {
                // The delivery's ID is left out: it depends on the order in which slots were freed.
                take(UInt64(send.connection.rawValue))
                take(UInt64(send.route.index))
                send.arrival.forEachWord(take)
            }
        case .connections: for step in connections { step.forEachWord(take) }
        case .tokenWords:
            for word in tokenWords {
                take(word.token.rawValue)
                take(word.deadSince?.word ?? 1)
            }
        case .schemaFetches: for schema in schemaFetches { take(schema.name.word) }
        case .tallies:
            for record in tallies {
                take(record.key.rawValue)
                take(UInt64(record.partition.index))
                take(record.owner)
                take(UInt64(record.batch))
                take(UInt64(record.counts.sent))
                for kind in OutcomeKind.allCases { take(UInt64(record.counts[kind])) }
            }
        case .transactions: for step in transactions { step.forEachWord(take) }
        case .publications:
            for record in publications {
                take(UInt64(record.tag.publication.rawValue))
                record.arrival.forEachWord(take)
                record.conclusion.forEachWord(take)
            }
        case .dropped:
            for record in dropped {
                take(UInt64(record.tag.publication.rawValue))
                record.record.arrival.forEachWord(take)
                take(record.record.isLast ? 1 : 0)
            }
        case .group: for step in group { step.forEachWord(take) }
        case .stop: if let stop { take("\(stop)".word) }
        }
    }
}

/// FNV-1a over 64-bit words.
public struct WordDigest: Hashable, Sendable {
    public private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    public init() {}

    public mutating func mix(_ word: UInt64) {
        value = (value ^ word) &* 0x0000_0100_0000_01B3
        value ^= value >> 29
    }
}

extension Arrival {
    /// The position of its record.
    fileprivate func forEachWord(_ take: (UInt64) -> Void) {
        take(UInt64(facts.partition.index))
        take(facts.offset.word)
        if let recipient = facts.recipient { take(UInt64(recipient)) }
    }
}

extension Conclusion {
    fileprivate func forEachWord(_ take: (UInt64) -> Void) {
        switch self {
        case .ended(let ending):
            take(ending.kind.rawValue.word)
            take((ending.reason?.text ?? "").word)
            take(ending.finding.tokenAction.rawValue.word)
            take(UInt64(ending.finding.httpStatus ?? 0))
            take(UInt64(ending.attempts))
            take(ending.finding.unregisteredAt?.word ?? 1)
            take(ending.finding.isTokenReadmitted ? 1 : 0)
            take(ending.completedAt.word)
        case .deferred(let deferral):
            take(UInt64(deferral.tier))
            take(deferral.dueAt.word)
            take(deferral.firstFailedAt.word)
            take(UInt64(deferral.attempts))
            take(deferral.reason.text.word)
            for recipient in deferral.recipients {
                take(UInt64(recipient.index))
                take(UInt64(recipient.attempts))
                take(recipient.firstFailedAt.word)
                take(recipient.reason.text.word)
            }
        }
    }
}

extension ConnectionStep {
    fileprivate func forEachWord(_ take: (UInt64) -> Void) {
        switch self {
        case .connect(let id, let route):
            take(0)
            take(UInt64(id.rawValue))
            take(UInt64(route.index))
        case .ping(let id):
            take(1)
            take(UInt64(id.rawValue))
        case .drain(let id):
            take(2)
            take(UInt64(id.rawValue))
        case .drainStalled(let id):
            take(3)
            take(UInt64(id.rawValue))
        case .close(let id, let reason):
            take(4)
            take(UInt64(id.rawValue))
            take("\(reason)".word)
        }
    }
}

extension TransactionStep {
    fileprivate func forEachWord(_ take: (UInt64) -> Void) {
        switch self {
        case .open: take(0)
        case .begin: take(1)
        case .commit(let commits):
            take(2)
            for commit in commits { commit.forEachWord(take) }
        case .abort: take(3)
        case .repeatCall: take(4)
        case .replaceProducer: take(5)
        }
    }
}

extension GroupStep {
    fileprivate func forEachWord(_ take: (UInt64) -> Void) {
        switch self {
        case .fetchStoredOffsets(let partitions):
            take(0)
            for partition in partitions { take(UInt64(partition.index)) }
        case .assign(let starts):
            take(1)
            for start in starts {
                take(UInt64(start.partition.index))
                start.position.forEachWord(take)
                take(start.after.map { UInt64($0.fingerprint) } ?? .max)
                take(start.lastKnown.map { UInt64($0.fingerprint) } ?? .max)
            }
        case .unassign: take(2)
        case .leave: take(3)
        case .commit(let commits):
            take(4)
            for commit in commits { commit.forEachWord(take) }
        case .pause(let partitions):
            take(5)
            for partition in partitions { take(UInt64(partition.index)) }
        case .resume(let partitions):
            take(6)
            for partition in partitions { take(UInt64(partition.index)) }
        }
    }
}

extension StartPosition {
    fileprivate func forEachWord(_ take: (UInt64) -> Void) {
        switch self {
        case .at(let offset): take(offset.word)
        case .beginning: take(.max)
        case .end: take(.max - 1)
        case .stored: take(.max - 2)
        }
    }
}

extension PartitionCommit {
    fileprivate func forEachWord(_ take: (UInt64) -> Void) {
        take(UInt64(partition.index))
        take(offset.word)
        take(metadata.word)
    }
}

extension Instant {
    fileprivate var word: UInt64 { UInt64(bitPattern: nanoseconds) }
}

extension Timestamp {
    fileprivate var word: UInt64 { UInt64(bitPattern: milliseconds) }
}

extension Offset {
    fileprivate var word: UInt64 { UInt64(bitPattern: rawValue) }
}

extension String {
    /// Swift's own hash differs between processes.
    fileprivate var word: UInt64 {
        var digest = WordDigest()
        for byte in utf8 { digest.mix(UInt64(byte)) }
        return digest.value
    }
}
