public import Vocabulary

/// An event's `traceparent` and `tracestate`, for its outcome.
///
/// W3C Trace Context, level 2, sections 3.2 and 3.3. Invalid values, which the specification says
/// to ignore, are not passed on: a trace without a valid parent helps nobody, and a tracestate
/// belongs to its own traceparent. Valid values are passed on unchanged.
public struct TraceContext: Hashable, Sendable {
    /// `traceparent`, and `tracestate` if there is one; the names are in lower case.
    public let headers: [RecordHeader]

    /// Finds the trace context in a record's headers, whose names may be in any case.
    ///
    /// Nil if there is no traceparent, more than one, or an invalid one.
    public init?(_ candidates: [RecordHeader]) {
        guard !candidates.isEmpty else { return nil }
        var parent: [UInt8]?
        var state: [UInt8]?
        for header in candidates {
            if header.isNamed(Self.parentName) {
                // With two of them, it is unclear which is meant.
                guard parent == nil, let value = header.value else { return nil }
                parent = value
            } else if header.isNamed(Self.stateName), let value = header.value {
                // Appended in place: there may be thousands, and each would copy all before.
                if state != nil { state?.append(UInt8(ascii: ",")) }
                if state == nil { state = value } else { state?.append(contentsOf: value) }
            }
        }
        guard let parent, TraceParent.isValid(parent.span) else { return nil }
        var headers = [RecordHeader(name: Self.parentName, value: parent)]
        if let state, TraceState.isValid(state) {
            headers.append(RecordHeader(name: Self.stateName, value: state))
        }
        self.headers = headers
    }

    private static let parentName = "traceparent"
    private static let stateName = "tracestate"
}

/// `traceparent`: `00-` trace ID `-` parent ID `-` flags (section 3.2.2).
enum TraceParent {
    private static let byteCount = 55
    private static let traceID = 3..<35
    private static let parentID = 36..<52

    /// A later version may be longer; its first part follows these rules (section 3.2.4).
    static func isValid(_ text: Span<UInt8>) -> Bool {
        guard text.count >= byteCount, text.count <= maxByteCount else { return false }
        for index in 0..<byteCount {
            let isDash = index == 2 || index == 35 || index == 52
            guard isDash ? text[index] == UInt8(ascii: "-") : isDigit(text[index]) else {
                return false
            }
        }
        let version = (text[0], text[1])
        if version == (UInt8(ascii: "f"), UInt8(ascii: "f")) { return false }
        if version == (UInt8(ascii: "0"), UInt8(ascii: "0")) {
            guard text.count == byteCount else { return false }
        } else if text.count > byteCount {
            guard text[byteCount] == UInt8(ascii: "-") else { return false }
        }
        return !isZero(text.extracting(traceID)) && !isZero(text.extracting(parentID))
    }

    /// Generous for later versions; anything longer is not a trace identifier.
    private static let maxByteCount = 512

    /// Upper case is invalid (section 3.2.1).
    private static func isDigit(_ byte: UInt8) -> Bool {
        byte.isHexDigit && !(UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte)
    }

    private static func isZero(_ digits: Span<UInt8>) -> Bool {
        digits.indices.allSatisfy { digits[$0] == UInt8(ascii: "0") }
    }
}

/// `tracestate`: at most 32 members `key=value`, each of one vendor (section 3.3.1).
enum TraceState {
    private static let maxMembers = 32
    private static let maxKeyByteCount = 256
    private static let maxValueByteCount = 256

    static func isValid(_ text: [UInt8]) -> Bool {
        var keys: Set<[UInt8]> = []
        var count = 0
        for part in text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            let member = trimmed(part)
            // Empty members are allowed.
            guard !member.isEmpty else { continue }
            count += 1
            guard count <= maxMembers, let equals = member.firstIndex(of: UInt8(ascii: "=")),
                isKey(member[..<equals]), isValue(member[(equals + 1)...]),
                keys.insert(Array(member[..<equals])).inserted
            else { return false }
        }
        return count > 0
    }

    private static func trimmed(_ part: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var part = part.drop(while: isSpace)
        while let last = part.last, isSpace(last) { part.removeLast() }
        return part
    }

    /// Lower-case letters, digits and `_-*/@`; the first is a letter or a digit.
    private static func isKey(_ key: ArraySlice<UInt8>) -> Bool {
        guard let first = key.first, key.count <= maxKeyByteCount, isLetterOrDigit(first)
        else { return false }
        return key.allSatisfy { isLetterOrDigit($0) || "_-*/@".utf8.contains($0) }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// Printable ASCII, except comma and equals sign.
    private static func isValue(_ value: ArraySlice<UInt8>) -> Bool {
        !value.isEmpty && value.count <= maxValueByteCount
            && value.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "=") }
    }
}

extension RecordHeader {
    /// `name` must be in lower case.
    fileprivate func isNamed(_ name: String) -> Bool {
        self.name.utf8.count == name.utf8.count && self.name.lowercased() == name
    }
}
