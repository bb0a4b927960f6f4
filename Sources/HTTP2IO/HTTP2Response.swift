/// A complete response: status, header fields and the start of the body.
public struct HTTP2Response: Hashable, Sendable {
    /// The value of `:status`.
    public private(set) var status = 0
    public private(set) var isBodyTruncated = false
    /// The header fields, followed by the body.
    ///
    /// A field is two lengths of two bytes each, name, value. All of it is in one array, so that a
    /// response on the fast path costs one allocation.
    private var bytes: [UInt8] = []
    private var fieldsByteCount = 0

    public init() {}

    public init(status: Int, headers: [(String, String)] = [], body: [UInt8] = []) {
        self.status = status
        for (name, value) in headers {
            var name = name
            var value = value
            name.withUTF8 { name in
                value.withUTF8 { unsafe appendField(name, $0) }
            }
        }
        bytes += body
    }

    /// The body, truncated to the connection's `maxResponseBodyByteCount`.
    public var body: [UInt8] { Array(bytes[fieldsByteCount...]) }

    /// The value of the first field with this name, which must be in lower case.
    public func value(of name: String) -> ArraySlice<UInt8>? {
        var index = 0
        while index < fieldsByteCount {
            let (nameRange, valueRange) = field(at: index)
            if nameRange.count == name.utf8.count, isName(name, at: nameRange.lowerBound) {
                return bytes[valueRange]
            }
            index = valueRange.upperBound
        }
        return nil
    }

    /// The value as text of the first field with this name, which must be in lower case.
    public func text(of name: String) -> String? {
        value(of: name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// All fields in order of arrival, without pseudo-header fields.
    public var headers: [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        var index = 0
        while index < fieldsByteCount {
            let (name, value) = field(at: index)
            headers.append(
                (
                    String(decoding: bytes[name], as: UTF8.self),
                    String(decoding: bytes[value], as: UTF8.self)
                )
            )
            index = value.upperBound
        }
        return headers
    }

    /// The usual size of a response with the kept fields and a reason.
    private static let usualByteCount = 256

    /// Whether nothing has arrived.
    var isEmpty: Bool { status == 0 && bytes.isEmpty }

    /// Drops what has arrived: an informational response (RFC 9110, 15.2), or a response to be
    /// reused.
    mutating func restart() {
        status = 0
        isBodyTruncated = false
        fieldsByteCount = 0
        bytes.removeAll(keepingCapacity: bytes.capacity <= 2 * Self.usualByteCount)
    }

    mutating func setStatus(_ status: Int) {
        self.status = status
    }

    /// Appends a copy of the field, unless the body has started.
    ///
    /// Both lengths are below 65536, because the header list is limited.
    mutating func appendField(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) {
        guard bytes.count == fieldsByteCount else { return }
        let byteCount = 4 + name.count + value.count
        if bytes.isEmpty { bytes.reserveCapacity(max(byteCount, Self.usualByteCount)) }
        fieldsByteCount += byteCount
        bytes.append(addingCapacity: byteCount) { room in
            unsafe room.withUnsafeMutableBufferPointer { buffer, count in
                let room = UnsafeMutableRawBufferPointer(buffer)
                // SAFETY: the buffer has room for all of it.
                unsafe room.storeBytes(
                    of: UInt16(truncatingIfNeeded: name.count).bigEndian,
                    as: UInt16.self
                )
                unsafe room.storeBytes(
                    of: UInt16(truncatingIfNeeded: value.count).bigEndian,
                    toByteOffset: 2,
                    as: UInt16.self
                )
                unsafe UnsafeMutableRawBufferPointer(rebasing: room[4...])
                    .copyMemory(from: UnsafeRawBufferPointer(name))
                unsafe UnsafeMutableRawBufferPointer(rebasing: room[(4 + name.count)...])
                    .copyMemory(from: UnsafeRawBufferPointer(value))
                count = byteCount
            }
        }
    }

    mutating func appendBody(_ bytes: UnsafeRawBufferPointer, limit: Int) {
        let accepted = min(bytes.count, limit - (self.bytes.count - fieldsByteCount))
        unsafe self.bytes.append(contentsOf: bytes.prefix(accepted))
        if accepted < bytes.count { isBodyTruncated = true }
    }

    private func isName(_ name: String, at start: Int) -> Bool {
        let name = name.utf8.span
        let bytes = bytes.span
        for index in name.indices where name[index] != bytes[start + index] { return false }
        return true
    }

    private func field(at index: Int) -> (name: Range<Int>, value: Range<Int>) {
        let nameLength = Int(bytes[index]) << 8 | Int(bytes[index + 1])
        let valueLength = Int(bytes[index + 2]) << 8 | Int(bytes[index + 3])
        let name = index + 4..<index + 4 + nameLength
        return (name, name.upperBound..<name.upperBound + valueLength)
    }
}
