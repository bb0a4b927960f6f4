import HTTPServer
import Testing

extension RequestParser {
    /// The parser's steps for these bytes, in pieces of at most `pieceByteCount`.
    static func steps(
        _ bytes: [UInt8],
        maxBodyByteCount: Int = 0,
        pieceByteCount: Int = .max
    ) -> [Step] {
        var parser = RequestParser(maxBodyByteCount: maxBodyByteCount)
        var rest = bytes[...]
        var steps: [Step] = []
        while true {
            let step = parser.next()
            switch step {
            case .request, .invitation: steps.append(step)
            case .refusal: return steps + [step]
            case .incomplete:
                guard !rest.isEmpty else { return steps }
                let piece = rest.prefix(min(pieceByteCount, parser.capacity))
                parser.append(piece)
                rest = rest.dropFirst(piece.count)
            }
        }
    }

    static func steps(_ text: String, maxBodyByteCount: Int = 0) -> [Step] {
        steps(Array(text.utf8), maxBodyByteCount: maxBodyByteCount)
    }

    /// The first request; throws the reason if there is none.
    static func first(_ text: String, maxBodyByteCount: Int = 0) throws -> HTTPRequest {
        switch steps(text, maxBodyByteCount: maxBodyByteCount).first {
        case .request(let request): return request
        case .refusal(let problem): throw problem
        case let other: throw Unexpected(what: "\(String(describing: other))")
        }
    }

    struct Unexpected: Error { let what: String }
}

/// Sections are from RFC 9112.
@Suite struct RequestParserTests {
    @Test(arguments: [
        ("GET /live HTTP/1.1\r\n\r\n", "/live"),
        ("GET /live HTTP/1.1\n\n", "/live"),
        ("GET /live HTTP/1.1\r\nHost: a\nA: b\r\n\n", "/live"),
        ("\r\n\n\r\nGET / HTTP/1.0\r\n\r\n", "/"),
        ("GET /a/b?c=/d?e HTTP/1.1\r\n\r\n", "/a/b"),
        ("GET http://example.com:80/a?b HTTP/1.1\r\nHost: c\r\n\r\n", "/a"),
        ("GET HTTP://example.com HTTP/1.1\r\n\r\n", "/"),
        ("GET http://example.com?a/b HTTP/1.1\r\n\r\n", "/"),
        ("GET /a%20b HTTP/1.1\r\n\r\n", "/a%20b"),
    ])
    func `the path is read from the target (2.2, 3.2)`(text: String, path: String) throws {
        let request = try RequestParser.first(text)
        #expect(request.method == "GET")
        #expect(request.path == path)
    }

    @Test func `the target of OPTIONS may be an asterisk (3.2.4)`() throws {
        #expect(try RequestParser.first("OPTIONS * HTTP/1.1\r\n\r\n").path == "*")
    }

    @Test(arguments: [
        "GET /live", "GET  /live HTTP/1.1", "GET /live  HTTP/1.1", " GET /live HTTP/1.1",
        "GET /live HTTP/1.1 ", "GET\t/live\tHTTP/1.1", "GET live HTTP/1.1", "GET * HTTP/1.1",
        "GET https://a/ HTTP/1.1", "GET http:///a HTTP/1.1", "GET http:// HTTP/1.1",
        "CONNECT a:80 HTTP/1.1", " /live HTTP/1.1", "GET  HTTP/1.1",
        "GET /live http/1.1", "GET /live HTTP/1.10", "GET /live HTTP/11", "GET /live HTTP/x.1",
        "GET /live HTTP/1-1", "GET /li\u{0}ve HTTP/1.1", "GET /li\u{7F}ve HTTP/1.1",
        "GET /li\u{E9}ve HTTP/1.1", "G\u{0}T /live HTTP/1.1", "GET(/) /live HTTP/1.1",
        "GET /li\rve HTTP/1.1", "\rGET /live HTTP/1.1", "GET /live HTTP/1.1\r",
        "\u{16}\u{3}\u{1}",
    ])
    func `an ambiguous request line is malformed (3)`(line: String) {
        #expect(RequestParser.steps(line + "\r\n\r\n") == [.refusal(.malformed)])
    }

    @Test(arguments: ["HTTP/0.9", "HTTP/1.2", "HTTP/2.0", "HTTP/3.1"])
    func `other versions are not supported (2.3)`(version: String) {
        let steps = RequestParser.steps("GET / \(version)\r\n\r\n")
        #expect(steps == [.refusal(.unknownVersion)])
    }

    @Test(arguments: [
        "no colon", ": no name", "A : b", "A\t: b", "Content-Length : 5", "Content-Length\t: 0",
        "Transfer-Encoding : chunked", "Host : a", "A b: c", " A: b", "A: b\r\n folded",
        "A: b\r\n\tContent-Length: 5", "A: b\u{0}c", "A\u{0}B: c", "A: b\rc", "A: b\r",
        "A: b\u{1}", "A: b\u{7F}", "\u{E9}: b", "A(: b", "Host: a\r\nHost: a",
        "Host: a\r\nhost: b", "Host: a/b", "Host: a b", "Host: a@b", "Host: \"a\"",
    ])
    func `an ambiguous field is malformed (3.2, 5)`(field: String) {
        for first in ["GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nB: c\r\n"] {
            let steps = RequestParser.steps("\(first)\(field)\r\n\r\n")
            #expect(steps == [.refusal(.malformed)])
        }
    }

    @Test(arguments: [
        ("A: b", "a", "b"), ("a:b", "a", "b"), ("A:  b c\t \t", "a", "b c"), ("A:", "a", ""),
        ("A: b\r\na: c", "a", "b, c"), ("A: b\tc", "a", "b\tc"), ("A: \u{E9}", "a", "\u{E9}"),
        ("A: b:c", "a", "b:c"), ("a!#$%&'*+-.^_`|~1: b", "a!#$%&'*+-.^_`|~1", "b"),
        ("Host: [::1]:80", "host", "[::1]:80"), ("Host:", "host", ""),
    ])
    func `a field's value is read without surrounding white space (5)`(
        field: String,
        name: String,
        value: String
    ) throws {
        let request = try RequestParser.first("GET / HTTP/1.1\r\n\(field)\r\n\r\n")
        #expect(request[name] == value)
        #expect(request["none"] == nil)
    }

    @Test(arguments: [
        ("/a", "Host: b:80", "b:80"), ("/a", "Host:", nil), ("/a", "A: b", nil),
        ("http://a:81/b", "Host: c", "a:81"), ("http://a?b", "A: b", "a"),
        ("HTTP://[::1]:80", "Host: c", "[::1]:80"),
    ])
    func `the host comes from the target, otherwise from Host (3.2.2)`(
        target: String,
        field: String,
        authority: String?
    ) throws {
        let request = try RequestParser.first("GET \(target) HTTP/1.1\r\n\(field)\r\n\r\n")
        #expect(request.authority == authority)
    }

    @Test func `empty lines, complete or partial, are not a request (2.2)`() {
        var parser = RequestParser(maxBodyByteCount: 0)
        for piece in ["\r\n", "\n", "\r"] {
            parser.append(Array(piece.utf8))
            #expect(parser.next() == .incomplete)
            #expect(parser.isIdle)
        }
        parser.append(Array("\nG".utf8))
        #expect(parser.next() == .incomplete)
        #expect(!parser.isIdle)
    }

    @Test(arguments: [0, 1])
    func `a head has a size limit, whatever fills it`(surplus: Int) {
        let bound = RequestParser.maxHeadByteCount + surplus
        let fills = [
            ("GET / HTTP/1.1\r\nA: ", "x", "\r\n\r\n"), ("GET /", "x", " HTTP/1.1\r\n\r\n"),
            ("GET / HTTP/1.1\n", "A:\n", "\n"), ("", "\n", "GET / HTTP/1.1\n\n"),
        ]
        for (start, filling, end) in fills {
            let room = bound - start.utf8.count - end.utf8.count
            let padding = String(repeating: " ", count: room % filling.utf8.count)
            let filled = String(repeating: filling, count: room / filling.utf8.count)
            // One more space after the last value changes nothing else.
            let text = start + filled.dropLast(padding.isEmpty ? 0 : 1) + padding
            let whole = padding.isEmpty ? text + end : text + "\n" + end
            #expect(whole.utf8.count == bound)
            let steps = RequestParser.steps(whole)
            #expect((steps == [.refusal(.headTooLong)]) == (surplus == 1), "\(start)")
            #expect(steps.count == 1)
        }
    }

    @Test func `a head without an end is rejected once it is too long`() {
        let endless = "GET / HTTP/1.1\r\n" + String(repeating: "A: b\r\n", count: 100_000)
        #expect(RequestParser.steps(endless) == [.refusal(.headTooLong)])
        let blank = String(repeating: "\r\n", count: 100_000)
        #expect(RequestParser.steps(blank) == [.refusal(.headTooLong)])
    }

    @Test func `bytes after a rejected request are ignored`() {
        let text = "GET / HTTP/9.9\r\n\r\nGET / HTTP/1.1\r\n\r\n"
        #expect(RequestParser.steps(text) == [.refusal(.unknownVersion)])
        var parser = RequestParser(maxBodyByteCount: 0)
        parser.append(Array(text.utf8))
        #expect(parser.next() == .refusal(.unknownVersion))
        #expect(parser.next() == .refusal(.unknownVersion))
        #expect(parser.capacity == 0)
    }

    @Test func `consecutive requests are returned one by one`() throws {
        let text = "GET /a HTTP/1.1\r\n\r\n\r\nHEAD /b HTTP/1.1\n\nPUT /c HTTP/1.1\r\n\r\nGET"
        let requests = RequestParser.steps(text).map { step in
            if case .request(let request) = step { "\(request.method) \(request.path)" } else { "" }
        }
        #expect(requests == ["GET /a", "HEAD /b", "PUT /c"])
    }
}
