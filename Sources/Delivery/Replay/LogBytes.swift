import APNsRules
import ConnectionPool
import Vocabulary

/// Why a log cannot be replayed.
public enum ReplayError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file is not an input log.
    case noLog
    /// Written in a format version that this program does not read.
    case otherFormat(Int)
    /// The bytes at this position are not what was written.
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

/// A value that an `InputLog` can contain.
///
/// One function both writes and reads it, so that the two cannot diverge.
protocol Logged {
    /// A placeholder that reading overwrites.
    static var blank: Self { get }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure)
}

/// One direction of logging: values are written (`LogWriter`) or read (`LogReader`).
protocol LogPass {
    associatedtype Failure: Error
    mutating func pass(number: inout some FixedWidthInteger) throws(Failure)
    mutating func pass(_ flag: inout Bool) throws(Failure)
    mutating func pass(_ text: inout String) throws(Failure)
    /// Rejects a value; reading throws, and writing traps, because no such value is ever written.
    func refuse() throws(Failure)
}

extension LogPass {
    mutating func pass(_ value: inout some Logged) throws(Failure) {
        try value.pass(through: &self)
    }

    mutating func pass<Value: Logged>(_ value: inout Value?) throws(Failure) {
        var isThere = value != nil
        try pass(&isThere)
        guard isThere else {
            value = nil
            return
        }
        var content = value ?? .blank
        try pass(&content)
        value = content
    }

    mutating func pass<Value: Logged>(_ values: inout [Value]) throws(Failure) {
        var count = values.count
        try pass(number: &count)
        guard count >= 0 else { return try refuse() }
        // Read elements one by one, and reserve nothing: a damaged count may be any number.
        for index in 0..<count {
            var value = index < values.count ? values[index] : .blank
            try pass(&value)
            if index < values.count { values[index] = value } else { values.append(value) }
        }
    }

    /// Passes a case of an enum, as its index.
    mutating func pass<Value: Equatable>(
        _ value: inout Value,
        of values: [Value]
    ) throws(Failure) {
        var index = values.firstIndex(of: value) ?? values.count
        try pass(number: &index)
        guard values.indices.contains(index) else { return try refuse() }
        value = values[index]
    }

    /// Passes a case of an enum, as its raw text.
    mutating func pass<Value: RawRepresentable<String>>(text value: inout Value) throws(Failure) {
        var text = value.rawValue
        try pass(&text)
        guard let read = Value(rawValue: text) else { return try refuse() }
        value = read
    }
}

/// Appends values to the bytes of a log.
struct LogWriter: LogPass, Sendable {
    private(set) var bytes: [UInt8] = []

    /// Groups of seven bits, lowest first, in zigzag encoding: small negative numbers are short,
    /// too.
    @inline(__always)
    mutating func pass(number: inout some FixedWidthInteger) {
        let wide = Int64(truncatingIfNeeded: number)
        var rest = UInt64(bitPattern: wide << 1 ^ wide >> 63)
        while rest > 0x7F {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func pass(_ flag: inout Bool) { bytes.append(flag ? 1 : 0) }

    mutating func pass(_ text: inout String) {
        write(text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    func refuse() { preconditionFailure("a value that no log holds") }

    mutating func write(_ flag: Bool) { bytes.append(flag ? 1 : 0) }

    mutating func write<Value: Logged>(_ value: Value) {
        var value = value
        pass(&value)
    }

    mutating func write<Value: Logged>(_ value: Value?) {
        var value = value
        pass(&value)
    }

    mutating func write<Value: Logged>(_ values: [Value]) {
        var values = values
        pass(&values)
    }

    mutating func write<Value: Equatable>(_ value: Value, of values: [Value]) {
        var value = value
        pass(&value, of: values)
    }

    mutating func write(number: some FixedWidthInteger) {
        var number = number
        pass(number: &number)
    }

    /// Four bytes, lowest first.
    mutating func write(fixed word: UInt32) {
        for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
    }

    mutating func append(_ other: [UInt8]) { bytes += other }

    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }
}

/// Reads the bytes that a `LogWriter` wrote.
struct LogReader: LogPass {
    private let bytes: ArraySlice<UInt8>
    private(set) var position: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    var isAtEnd: Bool { position == bytes.endIndex }
    var rest: ArraySlice<UInt8> { bytes[position...] }

    mutating func pass(number: inout some FixedWidthInteger) throws(ReplayError) {
        var (value, shift) = (UInt64(0), 0)
        while true {
            let byte = try byte()
            guard shift < 64 else { throw .damaged(at: position) }
            value |= UInt64(byte & 0x7F) << shift
            shift += 7
            guard byte & 0x80 != 0 else { break }
        }
        let wide = Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
        number = .init(truncatingIfNeeded: wide)
    }

    mutating func pass(_ flag: inout Bool) throws(ReplayError) { flag = try byte() != 0 }

    mutating func pass(_ text: inout String) throws(ReplayError) {
        text = String(decoding: try slice(try number()), as: UTF8.self)
    }

    func refuse() throws(ReplayError) { throw .damaged(at: position) }

    private mutating func byte() throws(ReplayError) -> UInt8 {
        guard position < bytes.endIndex else { throw .damaged(at: position) }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func number<Number: FixedWidthInteger>() throws(ReplayError) -> Number {
        var number: Number = 0
        try pass(number: &number)
        return number
    }

    mutating func flag() throws(ReplayError) -> Bool { try byte() != 0 }

    mutating func value<Value: Logged>(_: Value.Type = Value.self) throws(ReplayError) -> Value {
        var value = Value.blank
        try pass(&value)
        return value
    }

    mutating func optional<Value: Logged>(
        _: Value.Type = Value.self
    ) throws(ReplayError) -> Value? {
        var value: Value?
        try pass(&value)
        return value
    }

    mutating func array<Value: Logged>(_: Value.Type = Value.self) throws(ReplayError) -> [Value] {
        var values: [Value] = []
        try pass(&values)
        return values
    }

    /// Reads a case of an enum by its index.
    mutating func element<Value: Equatable>(of values: [Value]) throws(ReplayError) -> Value {
        let index: Int = try number()
        guard values.indices.contains(index) else { throw .damaged(at: position) }
        return values[index]
    }

    /// Four bytes, lowest first.
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
}
