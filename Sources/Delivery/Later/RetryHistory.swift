public import Vocabulary

/// A record's position in Kafka, with the topic's name.
public struct RecordPosition: Hashable, Sendable {
    public var partition: TopicPartition
    public var offset: Offset

    public init(partition: TopicPartition, offset: Offset) {
        self.partition = partition
        self.offset = offset
    }
}

/// What a retry record says about its event: where it came from, and earlier attempts.
public struct RetryHistory: Hashable, Sendable {
    /// The record that the event was first read from.
    public var origin: RecordPosition
    /// That record's own timestamp.
    public var timestamp: Timestamp?
    /// When that record was consumed.
    public var receivedAt: Timestamp
    /// Streams opened so far, over all rounds.
    public var attempts: Int
    public var firstFailedAt: Timestamp
    /// The earliest time to send the event.
    public var dueAt: Timestamp
    /// The retry record's own timestamp, set by Kafka or its producer; nil if it has none.
    public var writtenAt: Timestamp?
    /// The index of the tier in `RetryTiers`; given by the topic, not by the record.
    public var tier: Int
    /// Why the last attempt failed.
    public var reason: String
    /// The recipients in the record, if they were deferred one by one; otherwise, the record has
    /// all of the event's.
    public var recipients: [Recipient]

    /// A recipient's own history.
    public struct Recipient: Hashable, Sendable {
        /// Its place among the recipients of the event's first record.
        public var place: RecipientPlace
        public var attempts: Int
        public var firstFailedAt: Timestamp
        public var reason: String

        public init(
            place: RecipientPlace,
            attempts: Int,
            firstFailedAt: Timestamp,
            reason: String
        ) {
            self.place = place
            self.attempts = attempts
            self.firstFailedAt = firstFailedAt
            self.reason = reason
        }
    }

    public init(
        origin: RecordPosition,
        timestamp: Timestamp?,
        receivedAt: Timestamp,
        attempts: Int,
        firstFailedAt: Timestamp,
        dueAt: Timestamp,
        writtenAt: Timestamp? = nil,
        tier: Int,
        reason: String,
        recipients: [Recipient] = []
    ) {
        self.origin = origin
        self.timestamp = timestamp
        self.receivedAt = receivedAt
        self.attempts = attempts
        self.firstFailedAt = firstFailedAt
        self.dueAt = dueAt
        self.writtenAt = writtenAt
        self.tier = tier
        self.reason = reason
        self.recipients = recipients
    }

    /// The history of one of the record's recipients.
    func ofRecipient(_ index: Int) -> RetryHistory {
        guard recipients.indices.contains(index) else { return self }
        var history = self
        history.attempts = recipients[index].attempts
        history.firstFailedAt = recipients[index].firstFailedAt
        history.reason = recipients[index].reason
        history.recipients = []
        return history
    }

    /// The place of one of the record's recipients among those of the event's first record; nil:
    /// the record has all of them.
    func place(ofRecipient index: Int) -> RecipientPlace? {
        recipients.indices.contains(index) ? recipients[index].place : nil
    }
}

/// The decision to retry an event later, from a retry topic.
public struct Deferral: Hashable, Sendable {
    public var tier: Int
    public var dueAt: Timestamp
    public var firstFailedAt: Timestamp
    /// Streams opened so far, over all rounds.
    public var attempts: Int
    public var reason: Reason
    public var httpStatus: Int?
    /// The recipients that are retried, in ascending order; empty: the whole record is.
    public var recipients: [DeferredRecipient] = []
}

/// A recipient that is retried later, and its own history.
public struct DeferredRecipient: Hashable, Sendable {
    /// Its index among the recipients of the record.
    public var index: Int
    public var attempts: Int
    public var firstFailedAt: Timestamp
    public var reason: Reason
    public var httpStatus: Int?
}

extension RetryHistory {
    /// What the event waited for in the last round, without a failed attempt; nil: one has failed.
    var waited: LocalReason? {
        LocalReason(rawValue: reason).flatMap {
            $0 == .campaignPaused || $0 == .notDueYet ? $0 : nil
        }
    }
}

extension RetryHistory {
    public static let headerPrefix = "heliograph-retry-"

    private enum Name {
        static let topic = headerPrefix + "topic"
        static let partition = headerPrefix + "partition"
        static let offset = headerPrefix + "offset"
        static let timestamp = headerPrefix + "timestamp"
        static let received = headerPrefix + "received"
        static let attempts = headerPrefix + "attempts"
        static let firstFailure = headerPrefix + "first-failure"
        static let due = headerPrefix + "due"
        static let tier = headerPrefix + "tier"
        static let reason = headerPrefix + "reason"
        static let recipients = headerPrefix + "recipients"
    }

    /// The headers, except those that earlier rounds added.
    public static func stripped(_ headers: [RecordHeader]) -> [RecordHeader] {
        headers.filter { !$0.name.hasPrefix(headerPrefix) }
    }

    /// The retry record's headers: the event's own, byte for byte, followed by the history.
    public func headers(over own: [RecordHeader], tierName: String) -> [RecordHeader] {
        var facts = [
            (Name.topic, origin.partition.topic.name),
            (Name.partition, "\(origin.partition.partition)"),
            (Name.offset, "\(origin.offset)"),
            (Name.received, "\(receivedAt.milliseconds)"),
            (Name.attempts, "\(attempts)"),
            (Name.firstFailure, "\(firstFailedAt.milliseconds)"),
            (Name.due, "\(dueAt.milliseconds)"),
            (Name.tier, tierName),
            (Name.reason, reason),
        ]
        if let timestamp { facts.append((Name.timestamp, "\(timestamp.milliseconds)")) }
        if !recipients.isEmpty { facts.append((Name.recipients, Self.text(of: recipients))) }
        return Self.stripped(own)
            + facts.map { RecordHeader(name: $0.0, value: Array($0.1.utf8)) }
    }

    /// Reads the history from the headers of a record in a retry topic.
    ///
    /// Nil if a header is missing, repeated or invalid: the record is then treated as a new event.
    ///
    /// Anyone with write access to the topic can forge these headers. They therefore decide nothing
    /// but a bounded wait, counts and names: the origin must be a topic of the same source,
    /// `receivedAt` may not lie in the future, `RetryTiers` bounds `dueAt` by the tier's delay, and
    /// `Retry` bounds `firstFailedAt` once the record is due.
    public init?(
        headers: [RecordHeader],
        writtenAt: Timestamp?,
        of purpose: RetryTopics.Purpose,
        in topics: RetryTopics,
        now: Timestamp
    ) {
        let texts = Texts(headers)
        guard let topic = texts[Name.topic].map(KafkaTopic.init),
            topics.source(of: topic) == purpose.source,
            let partition = texts.number(Name.partition, upTo: Int64(Int32.max)),
            let offset = texts.number(Name.offset), let received = texts.number(Name.received),
            let attempts = texts.number(Name.attempts, upTo: Self.maxAttempts),
            let firstFailure = texts.number(Name.firstFailure),
            let due = texts.number(Name.due), let reason = texts[Name.reason],
            let recipients = Self.recipients(in: texts[Name.recipients]),
            !texts.hasRepetition
        else { return nil }
        origin = RecordPosition(
            partition: TopicPartition(topic: topic, partition: Int32(partition)),
            offset: Offset(offset)
        )
        timestamp = texts.number(Name.timestamp).map(Timestamp.init(milliseconds:))
        receivedAt = min(Timestamp(milliseconds: received), now)
        self.attempts = Int(attempts)
        firstFailedAt = Timestamp(milliseconds: firstFailure)
        dueAt = Timestamp(milliseconds: due)
        self.writtenAt = writtenAt
        tier = purpose.tier
        self.reason = reason
        self.recipients = recipients
    }

    /// More than any event can have had, and far from overflow.
    private static let maxAttempts: Int64 = 1_000_000_000

    /// The number of the event's recipients, and a line for each of them that is in the record: its
    /// index, its attempts, the time of its first failure, and the reason of the last one.
    private static func text(of recipients: [Recipient]) -> String {
        let lines = recipients.map { recipient in
            let reason = String(
                String.UnicodeScalarView(
                    recipient.reason.unicodeScalars.map { $0 == "\n" ? " " : $0 }
                )
            )
            return "\(recipient.place.index) \(recipient.attempts) "
                + "\(recipient.firstFailedAt.milliseconds) \(reason)"
        }
        return (["\(recipients[0].place.count)"] + lines).joined(separator: "\n")
    }

    /// Reads what `text(of:)` writes; empty without a text, and nil for any other text.
    private static func recipients(in text: String?) -> [Recipient]? {
        guard let text else { return [] }
        // A reason may begin or end with what makes one character with a line end or a space.
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        guard let count = number(String(lines[0]), upTo: Int64(RecipientPlace.maxCount)),
            lines.count > 1, lines.count - 1 <= count
        else { return nil }
        var recipients: [Recipient] = []
        for line in lines.dropFirst() {
            let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
                .map(String.init)
            guard words.count == 4, let index = number(words[0], upTo: count - 1),
                index > recipients.last.map({ Int64($0.place.index) }) ?? -1,
                let attempts = number(words[1], upTo: maxAttempts),
                let firstFailure = number(words[2], upTo: maxTimeOrOffset)
            else { return nil }
            recipients.append(
                Recipient(
                    place: RecipientPlace(index: Int(index), count: Int(count)),
                    attempts: Int(attempts),
                    firstFailedAt: Timestamp(milliseconds: firstFailure),
                    reason: words[3]
                )
            )
        }
        return recipients
    }

    /// Parses a decimal number without a sign, at most `limit`.
    private static func number(_ text: String, upTo limit: Int64) -> Int64? {
        guard text.utf8.first.map({ (0x30...0x39).contains($0) }) == true,
            let number = Int64(text), (0...limit).contains(number)
        else { return nil }
        return number
    }

    /// The service's own headers as text, by name.
    private struct Texts {
        private var texts: [String: String] = [:]
        private(set) var hasRepetition = false

        init(_ headers: [RecordHeader]) {
            for header in headers where header.name.hasPrefix(headerPrefix) {
                guard let value = header.value, let text = String(validating: value, as: UTF8.self)
                else { continue }
                if texts.updateValue(text, forKey: header.name) != nil { hasRepetition = true }
            }
        }

        subscript(name: String) -> String? { texts[name] }

        func number(_ name: String, upTo limit: Int64 = maxTimeOrOffset) -> Int64? {
            texts[name].flatMap { RetryHistory.number($0, upTo: limit) }
        }
    }

    /// Larger than any offset or date, and far from overflow.
    private static let maxTimeOrOffset: Int64 = 1 << 60
}

extension RetryTiers {
    /// How much longer than its tier's delay a record may wait, because clocks differ.
    private static let clockTolerance = Duration.seconds(1)

    /// How long to hold a retry record; zero or less: it may be sent.
    ///
    /// Until it is due, but at most the tier's delay after it was written, so that neither a fast
    /// clock nor a forged header blocks a partition permanently. The delay counts from writing and
    /// not from arrival, so that such records do not wait one after the other. A record without a
    /// timestamp, or with one in the future, counts from its arrival.
    public func wait(of history: RetryHistory, now: Timestamp) -> Duration {
        guard delays.indices.contains(history.tier) else { return .zero }
        // Producers choose the timestamp; the smallest integer would overflow below.
        let epoch = Timestamp(milliseconds: 0)
        let written = max(epoch, min(history.writtenAt ?? now, now))
        let latest = written.advanced(by: delays[history.tier] + Self.clockTolerance)
        return .milliseconds(min(history.dueAt, latest).milliseconds - now.milliseconds)
    }
}
