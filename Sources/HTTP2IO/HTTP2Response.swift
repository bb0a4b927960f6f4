/// A complete response: status, header fields and the beginning of the body.
public struct HTTP2Response: Hashable, Sendable {
    /// The value of `:status`.
    public private(set) var status = 0
    /// The body, cut to the connection's `maxResponseBodyByteCount`.
    public private(set) var body: [UInt8] = []
    public private(set) var isBodyTruncated = false
    /// Header fields one after the other: two lengths of two bytes each, name, value.
    ///
    /// One array for all, because a response on the fast path should cost one allocation.
    private var fields: [UInt8] = []

    public init() {}

    public init(status: Int, headers: [(String, String)] = [], body: [UInt8] = []) {
        self.status = status
        self.body = body
        for (name, value) in headers {
            var name = name
            var value = value
            name.withUTF8 { name in
                value.withUTF8 { unsafe appendField(name, $0) }
            }
        }
    }

    /// The value of the first field of that name, which must be in lower case.
    public func value(of name: String) -> ArraySlice<UInt8>? {
        var index = 0
        while index < fields.count {
            let (nameRange, valueRange) = field(at: index)
            if nameRange.count == name.utf8.count, isName(name, at: nameRange.lowerBound) {
                return fields[valueRange]
            }
            index = valueRange.upperBound
        }
        return nil
    }

    /// The text of the first field of that name, which must be in lower case.
    public func text(of name: String) -> String? {
        value(of: name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Every field in order of arrival, pseudo-header fields left out.
    public var headers: [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        var index = 0
        while index < fields.count {
            let (name, value) = field(at: index)
            headers.append(
                (
                    String(decoding: fields[name], as: UTF8.self),
                    String(decoding: fields[value], as: UTF8.self)
                )
            )
            index = value.upperBound
        }
        return headers
    }

    /// Whether nothing of it has come.
    var isEmpty: Bool { status == 0 && fields.isEmpty && body.isEmpty }

    /// Forgets an informational response (RFC 9110, 15.2).
    mutating func restart() {
        status = 0
        fields.removeAll(keepingCapacity: true)
    }

    /// - Parameter digits: The three digits of `:status`; nghttp2 has checked them.
    mutating func setStatus(_ digits: UnsafeBufferPointer<UInt8>) {
        status = unsafe digits.reduce(0) { $0 * 10 + Int($1) - Int(UInt8(ascii: "0")) }
    }

    /// Appends a copy of the field.
    ///
    /// Both lengths are below 65536: the header list is bounded.
    mutating func appendField(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) {
        let byteCount = 4 + name.count + value.count
        if fields.isEmpty { fields.reserveCapacity(max(byteCount, 128)) }
        fields.append(addingCapacity: byteCount) { room in
            unsafe room.withUnsafeMutableBufferPointer { buffer, count in
                let room = UnsafeMutableRawBufferPointer(buffer)
                // SAFETY: the room is for all of it.
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

    mutating func appendBody(_ bytes: UnsafeBufferPointer<UInt8>, limit: Int) {
        let accepted = min(bytes.count, limit - body.count)
        unsafe body.append(contentsOf: bytes.prefix(accepted))
        if accepted < bytes.count { isBodyTruncated = true }
    }

    private func isName(_ name: String, at start: Int) -> Bool {
        let name = name.utf8.span
        let bytes = fields.span
        for index in name.indices where name[index] != bytes[start + index] { return false }
        return true
    }

    private func field(at index: Int) -> (name: Range<Int>, value: Range<Int>) {
        let nameLength = Int(fields[index]) << 8 | Int(fields[index + 1])
        let valueLength = Int(fields[index + 2]) << 8 | Int(fields[index + 3])
        let name = index + 4..<index + 4 + nameLength
        return (name, name.upperBound..<name.upperBound + valueLength)
    }
}
