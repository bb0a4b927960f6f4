public import Vocabulary

/// Replays a run from its input log; the same inputs must lead to the same decisions.
public struct Replay {
    /// A turn in which the engine decides differently from the one that wrote the log.
    public struct Difference: Hashable, Sendable {
        /// Counted from 1.
        public let turn: Int
        public let now: Moment
        /// The lists of the decision that differ.
        public let lists: [TurnDecision.List]
    }

    /// The version of the program that wrote the log.
    public let version: String
    /// The settings of the logged engine, except the key of its hashes.
    public let settings: EngineSettings
    public private(set) var turns = 0
    /// The time of the last turn.
    public private(set) var now: Moment?
    public private(set) var engine: DeliveryEngine
    /// The decision of the last turn.
    public private(set) var decision = TurnDecision()
    private let log: [UInt8]
    private var position: Int
    /// The answer to the last question for one.
    private var nextRecipient: NextRecipient?

    /// Reads the first block of a log.
    public init(_ log: [UInt8]) throws(ReplayError) {
        self.log = log
        position = 0
        guard var head = try Self.nextBlock(of: log, &position),
            try head.value(String.self) == InputLog.magic
        else { throw .noLog }
        let format: Int = try head.number()
        guard format == InputLog.format else { throw .otherFormat(format) }
        version = try head.value()
        let seed: UInt64 = try head.number()
        settings = try head.value()
        engine = DeliveryEngine(settings: settings, seed: seed)
    }

    /// Replays one turn.
    ///
    /// - Returns: The difference; nil: there is none, or the log has ended (see `isAtEnd`).
    public mutating func next() throws(ReplayError) -> Difference? {
        guard var block = try Self.nextBlock(of: log, &position) else { return nil }
        var difference: Difference?
        while !block.isAtEnd {
            let kind = try block.element(of: InputLog.Kind.allCases)
            guard kind == .turnEnded else {
                try happened(kind, &block)
                continue
            }
            let now: Moment = try block.value()
            engine.turnEnded(now: now, into: &decision)
            (self.now, turns) = (now, turns + 1)
            var lists: [TurnDecision.List] = []
            for (list, digest) in zip(TurnDecision.List.allCases, decision.digests) {
                let isSame = try block.fixed() == digest
                if !isSame { lists.append(list) }
            }
            if !lists.isEmpty { difference = Difference(turn: turns, now: now, lists: lists) }
        }
        return difference
    }

    /// Whether no turn is left; an incomplete last block is ignored.
    public var isAtEnd: Bool { position >= log.count }

    /// The contents of the block at `position`.
    ///
    /// - Returns: nil if the log ends before the block does.
    private static func nextBlock(
        of log: [UInt8],
        _ position: inout Int
    ) throws(ReplayError) -> LogReader? {
        var head = LogReader(log[position...])
        guard head.rest.count >= 12 else {
            position = log.count
            return nil
        }
        let (word, inverse, checksum) = (try head.fixed(), try head.fixed(), try head.fixed())
        guard inverse == ~word else { throw position == 0 ? .noLog : .damaged(at: position) }
        let length = Int(word)
        guard head.rest.count >= length else {
            position = log.count
            return nil
        }
        let start = head.position
        let block = try head.slice(length)
        var actual = CRC32C()
        actual.update(block)
        guard actual.value == checksum else { throw .damaged(at: start) }
        position = head.position
        return LogReader(block)
    }
}

extension Replay {
    /// Passes one input from the log to the engine.
    private mutating func happened(
        _ kind: InputLog.Kind,
        _ log: inout LogReader
    ) throws(ReplayError) {
        switch kind {
        case .recordArrived: engine.recordArrived(Arrival.known(by: try log.value()))
        case .recordDecoded:
            let id: DeliveryID = try log.value()
            let arrival = Arrival.known(by: try log.value())
            engine.recordDecoded(id, arrival, now: try log.value())
        case .tokenHeard:
            let token: KeyedHash = try log.value()
            let deadSince = try log.optional(Timestamp.self)
            engine.tokenHeard(token, deadSince: deadSince, now: try log.value())
        case .schemaFetched: engine.schemaFetched(try log.value())
        case .schemaFetchFailed: engine.schemaFetchFailed(try log.value(), now: try log.value())
        case .responseArrived:
            let id: DeliveryID = try log.value()
            engine.responseArrived(try log.value(), for: id, now: try log.value())
        case .streamBroke:
            let id: DeliveryID = try log.value()
            engine.streamBroke(id, try log.element(of: StreamBreak.allCases), now: try log.value())
        case .connectionOpened:
            engine.connectionOpened(
                try log.value(),
                maxConcurrentStreams: try log.number(),
                now: try log.value()
            )
        case .streamLimitChanged:
            engine.streamLimitChanged(try log.value(), to: try log.number(), now: try log.value())
        case .goAwayReceived:
            engine.goAwayReceived(try log.value(), reason: try log.optional(), now: try log.value())
        case .pingAnswered: engine.pingAnswered(try log.value(), now: try log.value())
        case .connectionClosed:
            let id: ConnectionID = try log.value()
            let cause: CloseCause = try log.flag() ? .certificateRefused : .other
            engine.connectionClosed(id, cause, now: try log.value())
        case .credentialReplaced: engine.credentialReplaced(try log.number(), now: try log.value())
        case .keyRevoked: engine.keyRevoked(try log.number(), now: try log.value())
        case .published: engine.published(try log.value())
        case .publicationFailed:
            let tag: PublicationTag = try log.value()
            let fault = try log.element(of: PublicationFault.allCases)
            engine.publicationFailed(tag, fault, now: try log.value())
        case .publicationAbandoned:
            _ = engine.publicationAbandoned(try log.value(), now: try log.value())
        case .deferralRefused: engine.deferralRefused(try log.value(), now: try log.value())
        case .producerReplaced: engine.producerReplaced()
        case .transactionCallSucceeded: _ = engine.transactionCallSucceeded()
        case .transactionCallFailed:
            let failure = try log.element(of: TransactionFailure.allCases)
            engine.transactionCallFailed(failure, isInDoubt: try log.flag(), now: try log.value())
        case .transactionalProducerFailed:
            let failure = try log.element(of: TransactionFailure.allCases)
            engine.transactionalProducerFailed(failure, now: try log.value())
        case .partitionsAssigned:
            engine.partitionsAssigned(try log.array(), now: try log.value())
        case .storedOffsetsFetched:
            let partitions = try log.array(PartitionID.self)
            var stored: [PartitionID: CommittedPosition?] = [:]
            for partition in partitions {
                stored.updateValue(try log.optional(), forKey: partition)
            }
            engine.storedOffsetsFetched(stored, now: try log.value())
        case .endSeen: engine.endSeen(try log.value(), try log.value())
        case .endReached: engine.endReached(try log.value(), try log.value())
        case .partitionsRevoked:
            engine.partitionsRevoked(lost: try log.flag(), now: try log.value())
        case .partitionRestarted: engine.partitionRestarted(try log.value())
        case .partitionChanged: engine.partitionChanged(try log.value(), from: try log.value())
        case .offsetLost:
            let (partition, offset): (PartitionID, Offset) = (try log.value(), try log.value())
            let (oldest, next): (Int64, Int64) = (try log.number(), try log.number())
            guard oldest <= next else { throw .damaged(at: position) }
            _ = engine.offsetLost(
                partition,
                offset,
                in: oldest..<next,
                oldestBefore: try log.optional()
            )
        case .campaignsOrdered:
            let names = try log.array(KeyedHash.self)
            let orders = try log.array(CampaignOrder.self)
            guard names.count == orders.count, Set(names).count == names.count
            else { throw .damaged(at: position) }
            engine.campaignsOrdered(
                Dictionary(uniqueKeysWithValues: zip(names, orders)),
                share: try log.value(),
                now: try log.value()
            )
        case .tallyWritten: engine.tallyWritten(try log.number())
        case .tallyRefused: engine.tallyRefused(try log.number())
        case .commitMetadataRefused: _ = engine.commitMetadataRefused()
        case .commitRefused: engine.commitRefused(try log.array(), now: try log.value())
        case .commitFinished: engine.commitFinished(failed: try log.array())
        case .shutdownRequested: engine.shutdownRequested(now: try log.value())
        case .intakeBudgetAsked: _ = engine.intakeBudget(now: try log.value())
        case .nextToDecodeAsked: _ = engine.nextToDecode()
        case .nextRecipientAsked: nextRecipient = engine.nextRecipient(now: try log.value())
        case .recipientArrived:
            guard let next = nextRecipient else { throw .damaged(at: position) }
            let arrival = Arrival.known(by: try log.value())
            engine.recipientArrived(next, arrival, now: try log.value())
        case .turnEnded: preconditionFailure("a turn's end is no input")
        }
    }
}
