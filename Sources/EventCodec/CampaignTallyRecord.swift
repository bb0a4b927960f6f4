public import JSON
public import Vocabulary

/// A record of the tally topic; see `schemas/campaign-tally.v1.schema.json`.
public struct CampaignTallyRecord: Hashable, Sendable {
    /// Why a record is not a tally.
    public struct Flaw: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String

        public init(description: String) {
            self.description = description
        }
    }

    public let campaign: CampaignName
    /// From which the events were read, of a source or a retry topic.
    public let partition: TopicPartition
    /// The only writer of the record's key; a random number.
    public let owner: UInt64
    /// Since the owner's first record.
    public let counts: OutcomeCounts
    public let updatedAt: Timestamp

    public init(
        _ campaign: CampaignName,
        _ partition: TopicPartition,
        owner: UInt64,
        _ counts: OutcomeCounts,
        updatedAt: Timestamp
    ) {
        self.campaign = campaign
        self.partition = partition
        self.owner = owner
        self.counts = counts
        self.updatedAt = updatedAt
    }

    /// The record's key: a JSON object whose members have a fixed order, so that equal keys have
    /// equal bytes.
    public var key: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writeIdentity(&writer)
        writer.endObject()
        return writer.bytes
    }

    /// The record's value: the members of the key, and the counts.
    public var value: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writeIdentity(&writer)
        writer.name(plain: "counts")
        counts.write(&writer)
        writer.member("updated_at", plain: updatedAt.rfc3339.span)
        writer.endObject()
        return writer.bytes
    }

    private func writeIdentity(_ writer: inout JSONWriter) {
        writer.member("campaign", utf8: campaign.utf8.span)
        writer.member("topic", partition.topic.name)
        writer.member("partition", Int64(partition.partition))
        writer.member("owner", plain: Self.text(owner))
    }

    /// 16 hexadecimal digits: a JSON number has no room for 64 bits in most programs.
    private static func text(_ owner: UInt64) -> String {
        let digits = String(owner, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    // MARK: Reading

    private static let campaignName = JSONName("campaign")
    private static let topicName = JSONName("topic")
    private static let partitionName = JSONName("partition")
    private static let ownerName = JSONName("owner")
    private static let countsName = JSONName("counts")
    private static let updatedName = JSONName("updated_at")

    /// Reads a record's value; ignores members that a later version may add.
    public init(parsing value: [UInt8]) throws(Flaw) {
        var document = JSONDocument()
        do {
            try document.parse(value)
        } catch {
            throw Flaw(description: "\(error)")
        }
        let root = document.root
        func member<Value>(
            _ name: JSONName,
            _ read: (JSONNode) -> Value?
        ) throws(Flaw) -> Value {
            guard let node = document.member(of: root, named: name), let value = read(node)
            else { throw Flaw(description: "`\(name.text)` is missing or malformed") }
            return value
        }
        self.init(
            try member(Self.campaignName) { document.string($0).flatMap { CampaignName($0) } },
            TopicPartition(
                topic: KafkaTopic(try member(Self.topicName) { document.string($0) }),
                partition: try member(Self.partitionName) {
                    document.integer($0).flatMap(Int32.init(exactly:))
                }
            ),
            owner: try member(Self.ownerName) {
                document.string($0).flatMap { UInt64($0, radix: 16) }
            },
            try member(Self.countsName) { OutcomeCounts($0, of: document) },
            updatedAt: try member(Self.updatedName) {
                Timestamp(rfc3339: document.content(of: $0))
            }
        )
    }
}

extension OutcomeCounts {
    private static let sentName = JSONName("sent")
    private static let kindNames = OutcomeKind.allCases.map { ($0, JSONName($0.rawValue)) }

    /// Writes an object with `sent` and each kind of outcome.
    public func write(_ writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("sent", Int64(sent))
        for kind in OutcomeKind.allCases {
            writer.name(kind.rawValue)
            writer.integer(Int64(self[kind]))
        }
        writer.endObject()
    }

    /// More than any count, and sums of millions of them are far from overflow.
    private static let maxCount: Int64 = 1 << 40

    /// Reads such an object.
    ///
    /// A missing member is 0; nil if one cannot be a count.
    fileprivate init?(_ object: JSONNode, of document: JSONDocument) {
        guard object.isObject else { return nil }
        func count(_ name: JSONName) -> Int? {
            guard let node = document.member(of: object, named: name) else { return 0 }
            guard let count = document.integer(node), (0...Self.maxCount).contains(count)
            else { return nil }
            return Int(count)
        }
        var ended: [OutcomeKind: Int] = [:]
        for (kind, name) in Self.kindNames {
            guard let count = count(name) else { return nil }
            ended[kind] = count
        }
        guard let sent = count(Self.sentName) else { return nil }
        self.init(sent: sent, ended)
    }
}
