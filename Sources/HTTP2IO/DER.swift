/// The subset of DER (X.690) needed for Apple's topic extension and for telling files apart.
public enum DERReader {
    public static let utf8String: UInt8 = 0x0C
    public static let sequence: UInt8 = 0x30

    /// Reads the topics of extension 1.2.840.113635.100.6.3.6 or …6.3.4.
    ///
    /// The value is a SEQUENCE in which a UTF8String (the topic) and a SEQUENCE of UTF8Strings (its
    /// kinds) alternate, or a single UTF8String (the only topic).
    ///
    /// - Returns: nil if the bytes are anything else.
    static func topics(in bytes: [UInt8]) -> [String]? {
        var outer = bytes[...]
        guard let (tag, content) = element(&outer), outer.isEmpty else { return nil }
        if tag == utf8String, !content.isEmpty { return [String(decoding: content, as: UTF8.self)] }
        guard tag == sequence else { return nil }
        var rest = content
        var topics: [String] = []
        while !rest.isEmpty {
            guard let (tag, content) = element(&rest) else { return nil }
            if tag == utf8String { topics.append(String(decoding: content, as: UTF8.self)) }
        }
        return topics.isEmpty ? nil : topics
    }

    /// Removes and returns the first element; nil if it is incomplete.
    static func element(
        _ bytes: inout ArraySlice<UInt8>
    ) -> (tag: UInt8, content: ArraySlice<UInt8>)? {
        guard let tag = bytes.popFirst(), let first = bytes.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            // Long form (8.1.3.5): the number of length octets; two are enough here.
            length = 0
            guard first == 0x81 || first == 0x82 else { return nil }
            for _ in 0..<first & 0x7F {
                guard let octet = bytes.popFirst() else { return nil }
                length = length << 8 | Int(octet)
            }
        }
        guard length <= bytes.count else { return nil }
        defer { bytes = bytes.dropFirst(length) }
        return (tag, bytes.prefix(length))
    }
}
