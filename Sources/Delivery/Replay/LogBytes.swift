import APNsRules
import ConnectionPool
import Vocabulary

/// Why a log cannot be replayed.
public enum ReplayError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file is no input log.
    case noLog
    /// It was written in a format that this version does not read.
    case otherFormat(Int)
    /// What stands at this byte is not what was written.
    case damaged(at: Int)

    public var description: String {
        switch self {
        case .noLog: "not an input log"
        case .otherFormat(let format):
            "written in format \(format), which this version does not read"
        case .damaged(let position): "damaged at byte \(position)"
        }
    }
}

/// A value that an `InputLog` holds.
protocol Logged {
    func write(to log: inout LogWriter)
    init(from log: inout LogReader) throws(ReplayError)
}

/// Appends values to the bytes of a log.
struct LogWriter: Sendable {
    private(set) var bytes: [UInt8] = []

    /// In groups of seven bits, the lowest first; small negative numbers are short, too (zigzag).
    @inline(__always)
    mutating func write(number: some FixedWidthInteger) {
        let wide = Int64(truncatingIfNeeded: number)
        var rest = UInt64(bitPattern: wide << 1 ^ wide >> 63)
        while rest > 0x7F {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func write(_ flag: Bool) { bytes.append(flag ? 1 : 0) }

    mutating func write(_ text: String) {
        write(text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    mutating func write(_ number: Double) { write(number: number.bitPattern) }

    mutating func write(_ value: some Logged) { value.write(to: &self) }

    mutating func write(_ value: (some Logged)?) {
        write(value != nil)
        if let value { write(value) }
    }

    mutating func write(_ values: [some Logged]) {
        write(values.count)
        for value in values { write(value) }
    }

    /// One of an enum's cases, by its place.
    mutating func write<Value: Equatable>(_ value: Value, of values: [Value]) {
        write(values.firstIndex(of: value) ?? values.count)
    }

    /// Four bytes, the lowest first.
    mutating func write(fixed word: UInt32) {
        for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
    }

    mutating func append(_ other: [UInt8]) { bytes += other }

    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }
}

/// Reads what a `LogWriter` wrote.
struct LogReader {
    private let bytes: ArraySlice<UInt8>
    private(set) var position: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    var isAtEnd: Bool { position == bytes.endIndex }
    var rest: ArraySlice<UInt8> { bytes[position...] }

    private mutating func byte() throws(ReplayError) -> UInt8 {
        guard position < bytes.endIndex else { throw .damaged(at: position) }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func number<Number: FixedWidthInteger>() throws(ReplayError) -> Number {
        var (value, shift) = (UInt64(0), 0)
        while true {
            let byte = try byte()
            guard shift < 64 else { throw .damaged(at: position) }
            value |= UInt64(byte & 0x7F) << shift
            shift += 7
            guard byte & 0x80 != 0 else { break }
        }
        let wide = Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
        return Number(truncatingIfNeeded: wide)
    }

    mutating func flag() throws(ReplayError) -> Bool { try byte() != 0 }

    mutating func text() throws(ReplayError) -> String {
        String(decoding: try slice(try number()), as: UTF8.self)
    }

    mutating func double() throws(ReplayError) -> Double { Double(bitPattern: try number()) }

    mutating func value<Value: Logged>(_: Value.Type = Value.self) throws(ReplayError) -> Value {
        try Value(from: &self)
    }

    mutating func optional<Value: Logged>(
        _: Value.Type = Value.self
    ) throws(ReplayError) -> Value? {
        try flag() ? try Value(from: &self) : nil
    }

    mutating func array<Value: Logged>(_: Value.Type = Value.self) throws(ReplayError) -> [Value] {
        let count: Int = try number()
        guard count >= 0, count <= bytes.endIndex - position else {
            throw .damaged(at: position)
        }
        var values: [Value] = []
        for _ in 0..<count { values.append(try Value(from: &self)) }
        return values
    }

    mutating func fixed() throws(ReplayError) -> UInt32 {
        var word: UInt32 = 0
        for shift in [0, 8, 16, 24] { word |= UInt32(try byte()) << shift }
        return word
    }

    mutating func slice(_ count: Int) throws(ReplayError) -> ArraySlice<UInt8> {
        guard count >= 0, count <= bytes.endIndex - position else {
            throw .damaged(at: position)
        }
        defer { position += count }
        return bytes[position..<position + count]
    }

    /// One of an enum's cases, by its place.
    mutating func element<Value>(of values: [Value]) throws(ReplayError) -> Value {
        let index: Int = try number()
        guard values.indices.contains(index) else { throw .damaged(at: position) }
        return values[index]
    }
}

extension Int: Logged {
    func write(to log: inout LogWriter) { log.write(number: self) }
    init(from log: inout LogReader) throws(ReplayError) { self = try log.number() }
}

extension String: Logged {
    func write(to log: inout LogWriter) { log.write(self) }
    init(from log: inout LogReader) throws(ReplayError) { self = try log.text() }
}

extension Instant: Logged {
    func write(to log: inout LogWriter) { log.write(number: nanoseconds) }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(nanoseconds: try log.number())
    }
}

extension Timestamp: Logged {
    func write(to log: inout LogWriter) { log.write(number: milliseconds) }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(milliseconds: try log.number())
    }
}

extension Moment: Logged {
    func write(to log: inout LogWriter) {
        log.write(instant)
        log.write(timestamp)
    }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(instant: try log.value(), timestamp: try log.value())
    }
}

extension Duration: Logged {
    func write(to log: inout LogWriter) {
        log.write(number: components.seconds)
        log.write(number: components.attoseconds)
    }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(
            secondsComponent: try log.number(),
            attosecondsComponent: try log.number()
        )
    }
}

extension DeliveryID: Logged {
    func write(to log: inout LogWriter) { log.write(number: rawValue) }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(rawValue: try log.number())
    }
}

extension ConnectionID: Logged {
    func write(to log: inout LogWriter) { log.write(number: rawValue) }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(rawValue: try log.number())
    }
}

extension PartitionID: Logged {
    func write(to log: inout LogWriter) { log.write(index) }
    init(from log: inout LogReader) throws(ReplayError) { self.init(index: try log.number()) }
}

extension Offset: Logged {
    func write(to log: inout LogWriter) { log.write(number: rawValue) }
    init(from log: inout LogReader) throws(ReplayError) { self.init(try log.number()) }
}

extension KeyedHash: Logged {
    func write(to log: inout LogWriter) { log.write(number: rawValue) }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(rawValue: try log.number())
    }
}

extension PublicationTag: Logged {
    func write(to log: inout LogWriter) { log.write(number: rawValue) }
    init(from log: inout LogReader) throws(ReplayError) {
        guard let tag = PublicationTag(rawValue: try log.number()) else {
            throw .damaged(at: log.position)
        }
        self = tag
    }
}

extension Reason: Logged {
    func write(to log: inout LogWriter) {
        switch self {
        case .apns, .unknownAPNs: log.write(false)
        case .local: log.write(true)
        }
        log.write(text)
    }
    init(from log: inout LogReader) throws(ReplayError) {
        let isLocal = try log.flag()
        let text = try log.text()
        guard isLocal else {
            self.init(apnsText: text)
            return
        }
        guard let reason = LocalReason(rawValue: text) else { throw .damaged(at: log.position) }
        self = .local(reason)
    }
}

extension SchemaReference: Logged {
    func write(to log: inout LogWriter) {
        switch self {
        case .id(let id):
            log.write(false)
            log.write(number: id)
        case .guid(let guid):
            log.write(true)
            log.write(guid)
        }
    }
    init(from log: inout LogReader) throws(ReplayError) {
        self = try log.flag() ? .guid(try log.text()) : .id(try log.number())
    }
}

extension APNsAnswer: Logged {
    /// Without `apnsUniqueID`: nothing is decided by it.
    func write(to log: inout LogWriter) {
        log.write(status)
        log.write(reason)
        log.write(unregisteredAt)
        log.write(retryAfter)
    }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(
            status: try log.number(),
            reason: try log.optional(),
            unregisteredAt: try log.optional(),
            retryAfter: try log.optional()
        )
    }
}

extension AssignedPartition: Logged {
    func write(to log: inout LogWriter) {
        log.write(id)
        log.write(name.topic.name)
        log.write(number: name.partition)
        log.write(source)
        log.write(isOfRetryTopic)
    }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(
            try log.value(),
            named: TopicPartition(
                topic: KafkaTopic(try log.text()),
                partition: try log.number()
            ),
            source: try log.number(),
            isOfRetryTopic: try log.flag()
        )
    }
}

extension CommittedPosition: Logged {
    func write(to log: inout LogWriter) {
        log.write(offset)
        log.write(metadata)
    }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(offset: try log.value(), metadata: try log.text())
    }
}

extension ArrivalFacts: Logged {
    func write(to log: inout LogWriter) {
        log.write(partition)
        log.write(offset)
        log.write(number: fingerprint)
        log.write(byteCount)
        log.write(source)
        log.write(number: kind.rawValue)
        log.write(receivedAt)
        log.write(history)
        log.write(awaitedSchema)
        log.write(invalidReason?.rawValue)
        log.write(isBroadcast)
        log.write(pushType.rawValue)
        log.write(route?.index)
        log.write(names?.target)
        log.write(names?.notification)
        log.write(deadSince)
        log.write(tokenRegisteredAt)
        log.write(expiration.map(Int.init))
        log.write(collapse)
        log.write(rateLimit)
    }

    init(from log: inout LogReader) throws(ReplayError) {
        self.init(
            partition: try log.value(),
            offset: try log.value(),
            fingerprint: try log.number(),
            byteCount: try log.number(),
            source: try log.number(),
            kind: try log.element(of: [.event, .invalid, .tombstone]),
            receivedAt: try log.value(),
            history: try log.optional(),
            awaitedSchema: try log.optional(),
            invalidReason: try log.optional(String.self).flatMap(LocalReason.init)
        )
        isBroadcast = try log.flag()
        guard let pushType = PushType(rawValue: try log.text()) else {
            throw .damaged(at: log.position)
        }
        self.pushType = pushType
        route = try log.optional(Int.self).map(Route.init(index:))
        let target = try log.optional(KeyedHash.self)
        let notification = try log.optional(KeyedHash.self)
        if let target, let notification {
            names = DeliveryNames(target: target, notification: notification)
        }
        deadSince = try log.optional()
        tokenRegisteredAt = try log.optional()
        expiration = try log.optional(Int.self).map(Int64.init)
        collapse = try log.optional()
        rateLimit = try log.optional()
    }
}

extension RetryHistory: Logged {
    /// Without the origin and its timestamp: the engine passes them on, and looks at neither.
    func write(to log: inout LogWriter) {
        log.write(receivedAt)
        log.write(attempts)
        log.write(firstFailedAt)
        log.write(dueAt)
        log.write(writtenAt)
        log.write(tier)
        log.write(reason)
    }
    init(from log: inout LogReader) throws(ReplayError) {
        let nowhere = TopicPartition(topic: KafkaTopic(""), partition: 0)
        self.init(
            origin: RecordPosition(partition: nowhere, offset: Offset(0)),
            timestamp: nil,
            receivedAt: try log.value(),
            attempts: try log.number(),
            firstFailedAt: try log.value(),
            dueAt: try log.value(),
            writtenAt: try log.optional(),
            tier: try log.number(),
            reason: try log.text()
        )
    }
}
