import CNghttp2
import Glibc
public import Vocabulary

/// The rules for single fields (RFC 9113, 8.2; RFC 9110, 5.5).
enum FieldRules {
    /// Whether the field may be in an HTTP/2 response: its name in lower case, its value without
    /// line feeds and the like, and nothing about the connection (RFC 9113, 8.2.2).
    static func isAllowed(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        // SAFETY: nghttp2 reads that many bytes.
        guard unsafe nghttp2_check_header_name(name.baseAddress, name.count) != 0,
            unsafe isValidValue(value, hasControls: hasControls(value))
        else { return false }
        switch name.count {
        case 7: return unsafe !equal(name, "upgrade")
        case 10: return unsafe !equal(name, "connection") && !equal(name, "keep-alive")
        case 16: return unsafe !equal(name, "proxy-connection")
        case 17: return unsafe !equal(name, "transfer-encoding")
        default: return true
        }
    }

    /// Whether a value contains no NUL, CR or LF, and no white space at either end.
    static func isValidValue(
        _ value: UnsafeBufferPointer<UInt8>,
        hasControls: Bool
    ) -> Bool {
        if hasControls {
            // SAFETY: nghttp2 reads that many bytes.
            return unsafe nghttp2_check_header_value_rfc9113(value.baseAddress, value.count) != 0
        }
        return unsafe value.first != UInt8(ascii: " ") && value.last != UInt8(ascii: " ")
    }

    /// Whether any byte is a control character, which is rare.
    ///
    /// Checks every byte without an early exit, so that the compiler vectorises the loop.
    static func hasControls(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var found: UInt8 = 0
        for index in bytes.indices {
            let byte = unsafe bytes[index]
            found |= (byte < 0x20 ? 1 : 0) | (byte == 0x7F ? 1 : 0)
        }
        return found != 0
    }

    static func isStatus(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe equal(name, ":status")
    }

    static func isContentLength(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe name.count == 14 && equal(name, "content-length")
    }

    /// Three digits; 101 does not exist in HTTP/2 (RFC 9113, 8.6).
    static func status(_ value: UnsafeBufferPointer<UInt8>) -> Int? {
        guard value.count == 3, let status = unsafe number(value), status >= 100, status != 101
        else { return nil }
        return status
    }

    /// A number of at most 18 digits, and of nothing else.
    static func number(_ value: UnsafeBufferPointer<UInt8>) -> Int? {
        guard 1...18 ~= value.count else { return nil }
        var number = 0
        for index in value.indices {
            let digit = unsafe value[index]
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { return nil }
            number = number * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return number
    }

    private static func equal(_ bytes: UnsafeBufferPointer<UInt8>, _ text: StaticString) -> Bool {
        guard bytes.count == text.utf8CodeUnitCount, let start = bytes.baseAddress else {
            return false
        }
        // SAFETY: both have that many bytes.
        return unsafe memcmp(start, text.utf8Start, bytes.count) == 0
    }
}

extension HeaderBlock {
    /// Whether every value is valid in HTTP, so that a producer's text cannot break the framing.
    public var hasValidValues: Bool {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            let hasControls = unsafe FieldRules.hasControls(bytes)
            // SAFETY: a HeaderBlock's ranges lie in its bytes.
            return fields.allSatisfy { field in
                let value = unsafe UnsafeBufferPointer(rebasing: bytes[field.value])
                return unsafe FieldRules.isValidValue(value, hasControls: hasControls)
            }
        }
    }
}

/// A small set of header field names.
struct FieldNames {
    private let names: [[UInt8]]
    /// A bit for each length that a name has; it rules out most other names.
    private let lengths: UInt64

    /// - Parameter names: In lower case, shorter than 64 bytes.
    init(_ names: [String]) {
        self.names = names.map { Array($0.utf8) }
        lengths = names.reduce(0) { $0 | 1 << UInt64($1.utf8.count) }
    }

    func contains(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard lengths >> UInt64(name.count) & 1 != 0, let start = name.baseAddress else {
            return false
        }
        // SAFETY: both have that many bytes.
        return names.contains {
            unsafe $0.count == name.count && memcmp($0, start, name.count) == 0
        }
    }
}
