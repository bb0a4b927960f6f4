/// The entries of an event's `recipients`, in their order.
///
/// An entry with a token of 64 digits and no fields of its own takes 84 bytes.
public struct RecipientList: Hashable, Sendable {
    /// What becomes of an entry.
    public enum Status: UInt8, Hashable, Sendable {
        /// Gets a notification.
        case valid
        /// An earlier valid entry has the same token; the device gets one notification.
        case duplicate
        case invalid
    }

    /// The fields that an entry may have besides its token; nil: the event's value, or the default.
    public struct Fields: Hashable, Sendable {
        public var apnsID: APNsID?
        public var collapseID: CollapseID?
        /// As in `Event.expiration`.
        public var expiration: Int64?

        public init(
            apnsID: APNsID? = nil,
            collapseID: CollapseID? = nil,
            expiration: Int64? = nil
        ) {
            self.apnsID = apnsID
            self.collapseID = collapseID
            self.expiration = expiration
        }

        static let none = Fields()
    }

    /// Why an entry is invalid, and which of its fields are valid on their own.
    public struct Refusal: Hashable, Sendable {
        public var reason: LocalReason
        public var violations: [Violation]
        public var deviceToken: DeviceToken?
        public var apnsID: APNsID?

        public init(
            reason: LocalReason,
            violations: [Violation],
            deviceToken: DeviceToken? = nil,
            apnsID: APNsID? = nil
        ) {
            self.reason = reason
            self.violations = violations
            self.deviceToken = deviceToken
            self.apnsID = apnsID
        }
    }

    private struct Entry: Hashable, Sendable {
        /// The entry's bytes, in the record's `eventBytes`.
        let start: UInt32
        let end: UInt32
        /// The end of its token in `digits`, where the next entry's token starts.
        let digitsEnd: UInt32
        /// An index in `fields`, or in `refusals` for an invalid entry; -1: there is nothing.
        let details: Int32
        let status: Status
    }

    /// The array with its brackets, in the record's `eventBytes`.
    public let bytes: Range<Int>
    public private(set) var validCount = 0
    public private(set) var duplicateCount = 0
    private var entries: [Entry] = []
    /// The tokens as in the event, one after the other.
    private var digits: [UInt8] = []
    private var fields: [Fields] = []
    private var refusals: [Refusal] = []

    private init(bytes: Range<Int>, count: Int) {
        self.bytes = bytes
        entries.reserveCapacity(count)
        digits.reserveCapacity(count * 64)
    }
}

extension RecipientList {
    public var count: Int { entries.count }

    public var invalidCount: Int { refusals.count }

    /// What a record with recipients takes besides the list: such records hold no place of
    /// `limits.in_flight_events`, so only their bytes limit how many are in memory.
    private static let overhead = 2048

    /// The approximate size in memory, in bytes, of the list and of what belongs to it.
    public var byteCount: Int {
        Self.overhead + entries.count * MemoryLayout<Entry>.stride + digits.count
            + fields.count * MemoryLayout<Fields>.stride
            + refusals.reduce(0) { count, refusal in
                refusal.violations.reduce(count + MemoryLayout<Refusal>.stride) {
                    $0 + MemoryLayout<Violation>.stride + $1.byteCount
                }
            }
    }

    public func status(at index: Int) -> Status { entries[index].status }

    /// The entry's bytes, in the record's `eventBytes`.
    public func bytes(at index: Int) -> Range<Int> {
        Int(entries[index].start)..<Int(entries[index].end)
    }

    /// The token of an entry; traps if the entry is invalid.
    public func deviceToken(at index: Int) -> DeviceToken {
        precondition(entries[index].status != .invalid, "the entry has no token")
        return DeviceToken(checked: digits.span.extracting(digitRange(at: index)))
    }

    /// The other fields of an entry; traps if the entry is invalid.
    public func fields(at index: Int) -> Fields {
        precondition(entries[index].status != .invalid, "the entry has no fields")
        let details = Int(entries[index].details)
        return details < 0 ? .none : fields[details]
    }

    /// Why an entry is invalid; nil: it is not.
    public func refusal(at index: Int) -> Refusal? {
        entries[index].status == .invalid ? refusals[Int(entries[index].details)] : nil
    }

    private func digitRange(at index: Int) -> Range<Int> {
        (index == 0 ? 0 : Int(entries[index - 1].digitsEnd))..<Int(entries[index].digitsEnd)
    }
}

extension RecipientList {
    /// Makes a list, entry by entry.
    ///
    /// It finds repeated tokens by their hashes, which have a key of the process: a producer cannot
    /// choose tokens that collide.
    public struct Builder: ~Copyable {
        private var list: RecipientList
        /// Indices of valid entries, or -1 if free; by the hash of the token, with linear probing.
        private var slots: [Int32]

        /// Makes an empty list.
        ///
        /// - Parameters:
        ///   - bytes: The array with its brackets, in the record's `eventBytes`.
        ///   - count: The number of entries to come.
        public init(bytes: Range<Int>, count: Int) {
            list = RecipientList(bytes: bytes, count: count)
            var size = 4
            while size < 2 * count { size *= 2 }
            slots = Array(repeating: -1, count: size)
        }

        /// Adds a valid entry.
        ///
        /// - Parameters:
        ///   - token: Digits already known to be a device token.
        ///   - fields: The entry's other fields; nil: it has none.
        ///   - bytes: The entry's bytes, in the record's `eventBytes`.
        public mutating func append(
            checked token: Span<UInt8>,
            _ fields: Fields? = nil,
            bytes: Range<Int>
        ) {
            let isFirst = isFirst(token)
            unsafe token.withUnsafeBufferPointer {
                unsafe list.digits.append(contentsOf: $0)
            }
            if let fields { list.fields.append(fields) }
            list.validCount += isFirst ? 1 : 0
            list.duplicateCount += isFirst ? 0 : 1
            append(
                isFirst ? .valid : .duplicate,
                details: fields == nil ? -1 : list.fields.count - 1,
                bytes
            )
        }

        /// Adds an invalid entry, which never makes a later one a duplicate.
        public mutating func append(_ refusal: Refusal, bytes: Range<Int>) {
            list.refusals.append(refusal)
            append(.invalid, details: list.refusals.count - 1, bytes)
        }

        /// The number of entries so far.
        public var count: Int { list.count }

        public consuming func finished() -> RecipientList { list }

        private mutating func append(_ status: Status, details: Int, _ bytes: Range<Int>) {
            list.entries.append(
                Entry(
                    start: UInt32(bytes.lowerBound),
                    end: UInt32(bytes.upperBound),
                    digitsEnd: UInt32(list.digits.count),
                    details: Int32(details),
                    status: status
                )
            )
        }

        /// Whether no valid entry has this token yet; the next entry is then the first.
        private mutating func isFirst(_ token: Span<UInt8>) -> Bool {
            precondition(list.count < slots.count, "more entries than announced")
            var slot = token.hashOfCanonicalDigits & (slots.count - 1)
            while slots[slot] >= 0 {
                let digits = list.digits.span.extracting(list.digitRange(at: Int(slots[slot])))
                if digits.hasSameCanonicalDigits(as: token) { return false }
                slot = (slot + 1) & (slots.count - 1)
            }
            slots[slot] = Int32(list.count)
            return true
        }
    }
}

/// Digits of a token in either case, eight at a time.
extension Span<UInt8> {
    /// `DeviceToken.canonical` for each of eight digits.
    private static var caseBits: UInt64 { 0x2020_2020_2020_2020 }

    fileprivate var hashOfCanonicalDigits: Int {
        var hasher = Hasher()
        var index = 0
        while index + 8 <= count {
            hasher.combine(word(at: index) | Self.caseBits)
            index += 8
        }
        while index < count {
            hasher.combine(DeviceToken.canonical(self[index]))
            index += 1
        }
        return hasher.finalize()
    }

    fileprivate func hasSameCanonicalDigits(as other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        var index = 0
        while index + 8 <= count {
            guard (word(at: index) ^ other.word(at: index)) & ~Self.caseBits == 0 else {
                return false
            }
            index += 8
        }
        while index < count {
            guard DeviceToken.canonical(self[index]) == DeviceToken.canonical(other[index])
            else { return false }
            index += 1
        }
        return true
    }

    private func word(at index: Int) -> UInt64 {
        precondition(index >= 0 && index + 8 <= count)
        // SAFETY: the eight bytes are within the span.
        return unsafe bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
    }
}

extension Violation {
    fileprivate var byteCount: Int {
        instanceLocation.utf8.count + keywordLocation.utf8.count + message.utf8.count
    }
}
