/// The head of a request (RFC 9112, sections 2 to 6).
///
/// The checks prevent two readers from seeing two different requests in the same bytes (section
/// 11.2).
struct RequestHead: Hashable, Sendable {
    let request: HTTPRequest
    /// The length of the body after the head; 0 without a body.
    let bodyByteCount: Int
    /// The peer waits for `100 Continue` before it sends the body (RFC 9110, section 10.1.1).
    let expectsInvitation: Bool

    /// - Parameters:
    ///   - bytes: Whole lines; the first one is not empty.
    ///   - maxBodyByteCount: 0: no body is allowed.
    /// - Throws: The first rule that the head breaks.
    init(_ bytes: ArraySlice<UInt8>, maxBodyByteCount: Int) throws(RequestProblem) {
        // A line may end without a carriage return; a bare one inside a line is rejected (section
        // 2.2).
        let lines = bytes.split(separator: UInt8(ascii: "\n")).map { line in
            line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        }
        let line = try RequestLine(lines.first ?? [])
        var fields: [HTTPField] = []
        for line in lines.dropFirst() where !line.isEmpty { fields.append(try Self.field(line)) }
        let connection = Self.list(fields, "connection")
        let host = try Self.host(fields)
        request = HTTPRequest(
            method: line.method,
            path: line.path,
            authority: line.authority ?? host,
            fields: fields,
            isPersistent: !line.isOld && !connection.contains("close")
        )
        bodyByteCount = try Self.bodyByteCount(fields, isOld: line.isOld, max: maxBodyByteCount)
        expectsInvitation = !line.isOld && Self.list(fields, "expect").contains("100-continue")
    }

    /// Reads a name, a colon directly after it, and a value without control characters.
    ///
    /// See RFC 9112, section 5. A line that starts with a blank has no name, so continued lines are
    /// rejected (section 5.2).
    private static func field(_ line: ArraySlice<UInt8>) throws(RequestProblem) -> HTTPField {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { throw .malformed }
        let name = line[..<colon]
        let value = trimmed(line[(colon + 1)...])
        guard isToken(name), value.allSatisfy(isFieldOctet) else { throw .malformed }
        return HTTPField(
            String(decoding: name, as: UTF8.self).lowercased(),
            String(decoding: value, as: UTF8.self)
        )
    }

    /// The value of Host, at most one and valid (RFC 9112, section 3.2); nil if missing or empty.
    ///
    /// A missing Host is accepted: hand-written probes omit it, and browsers never do.
    private static func host(_ fields: [HTTPField]) throws(RequestProblem) -> String? {
        let hosts = fields.filter { $0.name == "host" }
        guard hosts.count <= 1 else { throw .malformed }
        let marks = "-._~!$&'()*+,;=:[]%".utf8
        let isHost = hosts.allSatisfy { host in
            host.value.utf8.allSatisfy { isAlphanumeric($0) || marks.contains($0) }
        }
        guard isHost else { throw .malformed }
        return hosts.first.flatMap { $0.value.isEmpty ? nil : $0.value }
    }

    /// The length of the body (RFC 9112, section 6.3); an ambiguous one is rejected.
    private static func bodyByteCount(
        _ fields: [HTTPField],
        isOld: Bool,
        max: Int
    ) throws(RequestProblem) -> Int {
        let lengths = fields.filter { $0.name == "content-length" }
        guard fields.contains(where: { $0.name == "transfer-encoding" }) else {
            guard let length = lengths.first else { return 0 }
            guard lengths.count == 1 else { throw .malformed }
            let count = try number(length.value)
            guard count <= max else { throw .bodyTooLong }
            return count
        }
        // HTTP/1.0 has no transfer codings (section 6.1).
        guard lengths.isEmpty, !isOld else { throw .malformed }
        let codings = list(fields, "transfer-encoding")
        guard codings.last == "chunked", codings.count(where: { $0 == "chunked" }) == 1 else {
            throw .malformed
        }
        guard codings.count == 1 else { throw .unknownCoding }
        throw max == 0 ? .bodyTooLong : .lengthRequired
    }

    /// Reads a number of digits only (RFC 9110, section 8.6); one that is too large becomes
    /// `Int.max`.
    private static func number(_ text: String) throws(RequestProblem) -> Int {
        var number = 0
        guard !text.isEmpty else { throw .malformed }
        for byte in text.utf8 {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { throw .malformed }
            let (tens, isBeyond) = number.multipliedReportingOverflow(by: 10)
            let (sum, isOver) = tens.addingReportingOverflow(Int(byte - UInt8(ascii: "0")))
            number = isBeyond || isOver ? .max : sum
        }
        return number
    }

    /// The members of a list field, in lower case (RFC 9110, section 5.6.1).
    private static func list(_ fields: [HTTPField], _ name: String) -> [String] {
        fields.filter { $0.name == name }
            .flatMap { $0.value.utf8.split(separator: UInt8(ascii: ",")) }
            .map { String(decoding: trimmed(Array($0)[...]), as: UTF8.self).lowercased() }
            .filter { !$0.isEmpty }
    }

    private static func trimmed(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let blanks: [UInt8] = [UInt8(ascii: " "), UInt8(ascii: "\t")]
        let tail = value.drop { blanks.contains($0) }
        let last = tail.lastIndex { !blanks.contains($0) }
        return last.map { tail[...$0] } ?? []
    }
}

/// The first line of a request (RFC 9112, section 3).
private struct RequestLine {
    let method: String
    let path: String
    /// nil: the request target has no authority.
    let authority: String?
    /// Whether the version is HTTP/1.0.
    let isOld: Bool

    /// Reads three words separated by single blanks; anything else is ambiguous.
    init(_ line: ArraySlice<UInt8>) throws(RequestProblem) {
        let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard words.count == 3, isToken(words[0]),
            words[1].allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw .malformed }
        method = String(decoding: words[0], as: UTF8.self)
        switch String(decoding: words[2], as: UTF8.self) {
        case "HTTP/1.1": isOld = false
        case "HTTP/1.0": isOld = true
        default: throw Self.isVersion(words[2]) ? .unknownVersion : .malformed
        }
        let target = String(decoding: words[1], as: UTF8.self)
        (authority, path) = try Self.parts(target, method: method)
    }

    /// Splits a request target in any of its forms (RFC 9112, section 3.2).
    private static func parts(
        _ target: String,
        method: String
    ) throws(RequestProblem) -> (authority: String?, path: String) {
        if method == "OPTIONS", target == "*" { return (nil, target) }
        var rest = target[...]
        var authority: String?
        let scheme = "http://"
        if target.lowercased().hasPrefix(scheme) {
            let name = rest.dropFirst(scheme.count).prefix { $0 != "/" && $0 != "?" }
            // An empty host is invalid (RFC 9110, section 4.2.1).
            guard !name.isEmpty else { throw .malformed }
            authority = String(name)
            rest = target[name.endIndex...]
            if rest.first != "/" { return (authority, "/") }
        }
        guard rest.first == "/" else { throw .malformed }
        return (authority, String(rest.prefix { $0 != "?" }))
    }

    /// `HTTP/`, a digit, a dot and a digit (RFC 9112, section 2.3).
    private static func isVersion(_ word: ArraySlice<UInt8>) -> Bool {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        let numbers = word.dropFirst(5)
        return word.starts(with: "HTTP/".utf8) && numbers.count == 3
            && numbers.first.map(digits.contains) == true
            && numbers.last.map(digits.contains) == true
            && numbers.dropFirst().first == UInt8(ascii: ".")
    }
}

/// Whether the bytes are a token (RFC 9110, section 5.6.2).
private func isToken(_ bytes: ArraySlice<UInt8>) -> Bool {
    !bytes.isEmpty
        && bytes.allSatisfy { isAlphanumeric($0) || "!#$%&'*+-.^_`|~".utf8.contains($0) }
}

private func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"):
        true
    default: false
    }
}

/// Whether the byte is no control character other than tab (RFC 9110, section 5.5).
private func isFieldOctet(_ byte: UInt8) -> Bool {
    byte == 0x09 || (byte >= 0x20 && byte != 0x7F)
}
