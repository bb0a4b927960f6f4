/// An answer to a request.
package struct HTTPResponse: Hashable, Sendable {
    /// Code and reason phrase (RFC 9110, 15).
    package enum Status: String, Hashable, Sendable {
        case ok = "200 OK"
        case noContent = "204 No Content"
        case badRequest = "400 Bad Request"
        case unauthorized = "401 Unauthorized"
        case forbidden = "403 Forbidden"
        case notFound = "404 Not Found"
        case methodNotAllowed = "405 Method Not Allowed"
        case lengthRequired = "411 Length Required"
        case contentTooLarge = "413 Content Too Large"
        case misdirected = "421 Misdirected Request"
        case headTooLarge = "431 Request Header Fields Too Large"
        case notImplemented = "501 Not Implemented"
        case unavailable = "503 Service Unavailable"
        case unknownVersion = "505 HTTP Version Not Supported"
    }

    package var status: Status
    package var contentType: String
    /// Beyond those that every answer has.
    package var fields: [HTTPField] = []
    /// Nothing of it is sent with `noContent`.
    package var body: [UInt8]

    package init(_ status: Status, _ text: String) {
        self.init(status, contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
    }

    package init(_ status: Status, contentType: String, body: [UInt8]) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    /// The answer to a request that is not taken.
    init(_ problem: RequestProblem) {
        self.init(problem.status, "\(problem.status.rawValue)\n")
    }

    /// Status line and fields as they go over the wire, with the empty line (RFC 9112, 2.1);
    /// `isLast`: the connection ends behind the answer.
    func head(isLast: Bool) -> [UInt8] {
        var head = "HTTP/1.1 \(status.rawValue)\r\n"
        // Without a body there is no length either (RFC 9110, 8.6).
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

    /// What keeps a browser from running, framing or reading an answer for another site, unless
    /// the answer has a field of its own in its place.
    private static let shield = [
        HTTPField("X-Content-Type-Options", "nosniff"),
        HTTPField("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
        HTTPField("Cross-Origin-Resource-Policy", "same-origin"),
    ]

    /// The body as it goes over the wire: the answer to HEAD is that to GET without it (RFC 9110,
    /// 9.3.2).
    func content(for method: String) -> [UInt8] {
        method == "HEAD" || status == .noContent ? [] : body
    }
}
