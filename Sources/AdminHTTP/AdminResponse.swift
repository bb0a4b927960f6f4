/// An answer of the admin port.
struct AdminResponse: Sendable {
    enum Status: String, Hashable, Sendable {
        case ok = "200 OK"
        case badRequest = "400 Bad Request"
        case notFound = "404 Not Found"
        case methodNotAllowed = "405 Method Not Allowed"
        case contentTooLarge = "413 Content Too Large"
        case headTooLarge = "431 Request Header Fields Too Large"
        case unavailable = "503 Service Unavailable"
        case unknownVersion = "505 HTTP Version Not Supported"
    }

    var status: Status
    var contentType = "text/plain; charset=utf-8"
    /// Beyond those that every answer has.
    var fields: [(name: String, value: String)] = []
    var body: [UInt8]

    init(_ status: Status, _ text: String) {
        self.status = status
        body = Array(text.utf8)
    }

    init(_ status: Status, contentType: String, body: [UInt8]) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    /// As it goes over the wire (RFC 9112, 2.1).
    ///
    /// - Parameters:
    ///   - isBodyless: The answer to HEAD is that to GET without its body (RFC 9110, 9.3.2).
    ///   - isLast: The connection ends behind it.
    /// - Returns: Head and body.
    func bytes(isBodyless: Bool, isLast: Bool) -> [UInt8] {
        var head = """
            HTTP/1.1 \(status.rawValue)\r
            Content-Type: \(contentType)\r
            Content-Length: \(body.count)\r
            Cache-Control: no-store\r
            X-Content-Type-Options: nosniff\r

            """
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        if isLast { head += "Connection: close\r\n" }
        head += "\r\n"
        return Array(head.utf8) + (isBodyless ? [] : body)
    }
}
