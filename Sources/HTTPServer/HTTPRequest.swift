/// A field of a request or an answer (RFC 9110, section 5).
package struct HTTPField: Hashable, Sendable {
    /// In lower case in a request; in an answer, as it is written.
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A complete request, including its body.
package struct HTTPRequest: Hashable, Sendable {
    /// Case-sensitive (RFC 9110, section 9.1).
    package let method: String
    /// The path of the request target without the query; starts with `/`, or is `*` (OPTIONS).
    package let path: String
    /// The requested server as `name:port`: from the request target, else from the field Host.
    ///
    /// See RFC 9112, section 3.2.2. nil if neither gives it.
    package let authority: String?
    /// In the order received.
    package let fields: [HTTPField]
    /// At most the length that the server's limits allow.
    package internal(set) var body: [UInt8] = []
    /// Whether it came over TLS.
    package internal(set) var isSecure = false
    /// Whether the connection stays open after the answer.
    let isPersistent: Bool

    /// The value of the field with this name in lower case; nil without such a field.
    ///
    /// Several fields of the same name are joined to one list (RFC 9110, section 5.3).
    package subscript(name: String) -> String? {
        let values = fields.filter { $0.name == name }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}

extension HTTPRequest {
    /// Makes a request as the parser would; field names must be in lower case.
    package init(_ method: String, _ path: String, _ fields: [HTTPField] = []) {
        self.init(
            method: method,
            path: path,
            authority: fields.first { $0.name == "host" }?.value,
            fields: fields,
            isPersistent: true
        )
    }
}

/// Why a request is rejected; the bytes after it cannot be told apart from it.
package enum RequestProblem: Error, Hashable, Sendable {
    case malformed
    /// Longer than `RequestParser.maxHeadByteCount`.
    case headTooLong
    /// The body's length is not announced (RFC 9112, section 6.3).
    case lengthRequired
    case bodyTooLong
    case unknownCoding
    case unknownVersion

    package var status: HTTPResponse.Status {
        switch self {
        case .malformed: .badRequest
        case .headTooLong: .headTooLarge
        case .lengthRequired: .lengthRequired
        case .bodyTooLong: .contentTooLarge
        case .unknownCoding: .notImplemented
        case .unknownVersion: .unknownVersion
        }
    }
}
