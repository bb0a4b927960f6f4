/// An answer to a request.
package struct HTTPResponse: Hashable, Sendable {
    /// Status code and reason phrase (RFC 9110, section 15).
    package enum Status: String, Hashable, Sendable {
        case ok = "200 OK"
        case noContent = "204 No Content"
        case badRequest = "400 Bad Request"
        case unauthorized = "401 Unauthorized"
        case forbidden = "403 Forbidden"
        case notFound = "404 Not Found"
        case methodNotAllowed = "405 Method Not Allowed"
        case conflict = "409 Conflict"
        case lengthRequired = "411 Length Required"
        case contentTooLarge = "413 Content Too Large"
        case misdirected = "421 Misdirected Request"
        case headTooLarge = "431 Request Header Fields Too Large"
        case notImplemented = "501 Not Implemented"
        case badGateway = "502 Bad Gateway"
        case unavailable = "503 Service Unavailable"
        case gatewayTimeout = "504 Gateway Timeout"
        case unknownVersion = "505 HTTP Version Not Supported"
    }

    package var status: Status
    package var contentType: String
    /// In addition to the fields that every answer has.
    package var fields: [HTTPField] = []
    /// Not sent with `noContent`.
    package var body: [UInt8]

    package init(_ status: Status, _ text: String) {
        self.init(status, contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
    }

    package init(_ status: Status, contentType: String, body: [UInt8]) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    /// The answer to a rejected request.
    init(_ problem: RequestProblem) {
        self.init(problem.status, "\(problem.status.rawValue)\n")
    }

    /// The status line and the fields on the wire, with the empty line (RFC 9112, section 2.1).
    ///
    /// `isLast`: the server closes the connection after this answer.
    func head(isLast: Bool) -> [UInt8] {
        var head = "HTTP/1.1 \(status.rawValue)\r\n"
        // Without a body, Content-Length is absent as well (RFC 9110, section 8.6).
        if status != .noContent {
            head += "Content-Type: \(contentType)\r\nContent-Length: \(body.count)\r\n"
        }
        head += "Cache-Control: no-store\r\n"
        for field in Self.shield where !fields.contains(where: { $0.name == field.name }) {
            head += "\(field.name): \(field.value)\r\n"
        }
        for field in fields { head += "\(field.name): \(field.value)\r\n" }
        if isLast { head += "Connection: close\r\n" }
        head += "\r\n"
        return Array(head.utf8)
    }

    /// Fields that stop browsers from running, framing or reading an answer for another site.
    ///
    /// A field of the answer with the same name replaces the one here.
    private static let shield = [
        HTTPField("X-Content-Type-Options", "nosniff"),
        HTTPField("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
        HTTPField("Cross-Origin-Resource-Policy", "same-origin"),
    ]

    /// The body on the wire.
    ///
    /// The answer to HEAD is the answer to GET without the body (RFC 9110, section 9.3.2).
    func content(for method: String) -> [UInt8] {
        method == "HEAD" || status == .noContent ? [] : body
    }
}
