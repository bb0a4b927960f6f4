/// The head of an HTTP/1.1 request (RFC 9112, 2 and 3), as far as the admin port looks at it.
struct RequestHead: Hashable, Sendable {
    let method: String
    /// Of the request's target, without the query.
    let path: String
    /// Nil without an `Accept`; several are one list (RFC 9110, 5.3).
    let accept: String?
    /// The peer wants to go on after the answer.
    let isPersistent: Bool
    /// A body follows.
    let hasBody: Bool

    enum Problem: Error, Hashable, Sendable {
        case malformed
        case tooLong
        case unknownVersion
    }

    /// Longer ones are refused; no scraper, probe or browser comes near.
    static let maxByteCount = 8192

    /// Takes the first head off the bytes.
    ///
    /// - Parameter bytes: What the peer sent and nobody took.
    /// - Returns: nil when more must come first.
    /// - Throws: What makes the connection unusable.
    static func take(from bytes: inout [UInt8]) throws(Problem) -> RequestHead? {
        // An empty line in front of a request is skipped (RFC 9112, 2.2).
        while bytes.first == cr || bytes.first == lf { bytes.removeFirst() }
        guard let end = endOfHead(in: bytes) else {
            guard bytes.count <= maxByteCount else { throw .tooLong }
            return nil
        }
        guard end <= maxByteCount else { throw .tooLong }
        defer { bytes.removeFirst(end) }
        return try RequestHead(lines: bytes[..<end])
    }

    private static let cr = UInt8(ascii: "\r")
    private static let lf = UInt8(ascii: "\n")

    /// One past the empty line; a line may end without its carriage return (RFC 9112, 2.2).
    private static func endOfHead(in bytes: [UInt8]) -> Int? {
        var isLineEmpty = false
        for (index, byte) in bytes.enumerated() {
            if byte == lf {
                if isLineEmpty { return index + 1 }
                isLineEmpty = true
            } else if byte != cr {
                isLineEmpty = false
            }
        }
        return nil
    }

    private init(lines bytes: ArraySlice<UInt8>) throws(Problem) {
        let lines = bytes.split(separator: Self.lf).map { line in
            line.last == Self.cr ? line.dropLast() : line
        }
        let words = (lines.first ?? []).split(separator: UInt8(ascii: " "))
            .map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 3, words[1].hasPrefix("/"), words[2].hasPrefix("HTTP/") else {
            throw .malformed
        }
        guard words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0" else { throw .unknownVersion }
        var fields: [String: String] = [:]
        for line in lines.dropFirst() where !line.isEmpty {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex
            else { throw .malformed }
            let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
            let value = Self.trimmed(line[(colon + 1)...])
            fields[name] = fields[name].map { "\($0), \(value)" } ?? value
        }
        method = words[0]
        path = String(words[1].prefix { $0 != "?" })
        accept = fields["accept"]
        let connection = fields["connection"]?.lowercased() ?? ""
        isPersistent = words[2] == "HTTP/1.1" && !connection.contains("close")
        hasBody = fields["transfer-encoding"] != nil || fields["content-length"] ?? "0" != "0"
    }

    private static func trimmed(_ value: ArraySlice<UInt8>) -> String {
        let blanks: [UInt8] = [UInt8(ascii: " "), UInt8(ascii: "\t")]
        let tail = value.drop { blanks.contains($0) }
        let last = tail.lastIndex { !blanks.contains($0) }
        return String(decoding: last.map { tail[...$0] } ?? [], as: UTF8.self)
    }
}
