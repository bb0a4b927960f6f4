/// A field of a request or an answer (RFC 9110, 5).
package struct HTTPField: Hashable, Sendable {
    /// In lower case in a request; as it is to be written in an answer.
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A whole request, its body included.
package struct HTTPRequest: Hashable, Sendable {
    /// Case matters (RFC 9110, 9.1).
    package let method: String
    /// Of the request's target, without the query; begins with `/`, or is the `*` of OPTIONS.
    package let path: String
    /// Whom the peer asks, as `name:port`: the target's word, or else that of the field Host (RFC
    /// 9112, 3.2.2); nil where neither says so.
    package let authority: String?
    /// In the order in which they came.
    package let fields: [HTTPField]
    /// At most what the server's limits admit.
    package internal(set) var body: [UInt8] = []
    /// It came over TLS.
    package internal(set) var isSecure = false
    /// The peer wants to continue after the answer.
    let isPersistent: Bool

    /// The value of a field by its name in lower case; nil without such a field.
    ///
    /// Several fields of one name are one list (RFC 9110, 5.3).
    package subscript(name: String) -> String? {
        let values = fields.filter { $0.name == name }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}

extension HTTPRequest {
    /// As it would be read; fields have their names in lower case.
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

/// Why a request is not taken; nothing behind it can be distinguished from it.
package enum RequestProblem: Error, Hashable, Sendable {
    case malformed
    /// Longer than `RequestParser.maxHeadByteCount`.
    case headTooLong
    /// The body's length is not announced (RFC 9112, 6.3).
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
