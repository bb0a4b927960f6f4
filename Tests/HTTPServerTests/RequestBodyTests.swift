import HTTPServer
import Testing

/// Sections are from RFC 9112 unless stated otherwise.
@Suite struct RequestBodyTests {
    private static let maxByteCount = 100

    private func steps(_ fields: String, _ body: String = "") -> [RequestParser.Step] {
        RequestParser.steps(
            "POST /a HTTP/1.1\r\n\(fields)\r\n\r\n\(body)",
            maxBodyByteCount: Self.maxByteCount
        )
    }

    private func bodies(_ steps: [RequestParser.Step]) -> [String] {
        steps.map { step in
            switch step {
            case .request(let request): String(decoding: request.body, as: UTF8.self)
            case .refusal(let problem): "refused: \(problem)"
            case .invitation: "invited"
            case .incomplete: "incomplete"
            }
        }
    }

    @Test(arguments: [
        ("Content-Length: 5", "hello", ["hello"]),
        ("content-length:5", "hello", ["hello"]),
        ("Content-Length: 0005", "hello", ["hello"]),
        ("Content-Length: 5", "hell", []),
        ("Content-Length: 5", "a\r\n\r\nGET / HTTP/1.1\r\n\r\n", ["a\r\n\r\n", ""]),
        ("Content-Length: 0", "", [""]),
        ("Host: a", "", [""]),
        ("Host: a", "hello", [""]),
        ("Expect: 100-continue\r\nContent-Length: 2", "", ["invited"]),
        ("Expect: something-else\r\nContent-Length: 2", "ab", ["ab"]),
        ("Expect: 100-continue\r\nContent-Length: 2", "ab", ["ab"]),
        ("Expect: 100-continue\r\nContent-Length: 0", "", [""]),
    ])
    func `a body has the length that its header gives (6.2, 6.3)`(
        fields: String,
        body: String,
        expected: [String]
    ) {
        let whole = "POST /a HTTP/1.1\r\n\(fields)\r\n\r\n"
        var parser = RequestParser(maxBodyByteCount: Self.maxByteCount)
        // In one piece, so that bytes that came with the head are available for the body.
        parser.append(Array((whole + body).utf8))
        var steps: [RequestParser.Step] = []
        while true {
            let step = parser.next()
            if case .incomplete = step { break }
            steps.append(step)
        }
        #expect(bodies(steps) == expected)
    }

    @Test func `HTTP/1.0 has no 100 Continue (RFC 9110, 10.1.1)`() {
        let text = "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        #expect(RequestParser.steps(text, maxBodyByteCount: 2).isEmpty)
    }

    @Test(arguments: [
        // Two readers might see different lengths (6.3).
        ("Content-Length: 5\r\nContent-Length: 6", RequestProblem.malformed),
        ("Content-Length: 5\r\nContent-Length: 5", .malformed),
        ("Content-Length: 5, 5", .malformed),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", .malformed),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5", .malformed),
        ("Transfer-Encoding: identity\r\nContent-Length: 5", .malformed),
        // Not a number (RFC 9110, 8.6).
        ("Content-Length: +5", .malformed), ("Content-Length: -5", .malformed),
        ("Content-Length: 0x5", .malformed), ("Content-Length: 5 5", .malformed),
        ("Content-Length: 5.0", .malformed), ("Content-Length:", .malformed),
        ("Content-Length: \u{665}", .malformed),
        // Chunked is not the last coding, or not the only one (6.1, 6.3).
        ("Transfer-Encoding: xchunked", .malformed), ("Transfer-Encoding: identity", .malformed),
        ("Transfer-Encoding: chunked, identity", .malformed),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", .malformed),
        ("Transfer-Encoding: chunked, chunked", .malformed),
        ("Transfer-Encoding: \"chunked\"", .malformed), ("Transfer-Encoding:", .malformed),
        ("Transfer-Encoding: gzip, chunked", .unknownCoding),
        ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", .unknownCoding),
        // A chunked body does not give its length.
        ("Transfer-Encoding: chunked", .lengthRequired),
        ("Transfer-Encoding: , Chunked ,", .lengthRequired),
        // Too long, also beyond the range of an integer.
        ("Content-Length: 101", .bodyTooLong),
        ("Content-Length: 9223372036854775808", .bodyTooLong),
        ("Content-Length: 18446744073709551621", .bodyTooLong),
        ("Content-Length: 99999999999999999999999999999999999999999", .bodyTooLong),
    ])
    func `a body whose length is ambiguous or too large is rejected (6.1, 6.3, 11.2)`(
        fields: String,
        problem: RequestProblem
    ) {
        for expectation in ["", "Expect: 100-continue\r\n"] {
            #expect(steps(expectation + fields, "0\r\n\r\n") == [.refusal(problem)])
        }
    }

    @Test func `HTTP/1.0 has no transfer codings (6.1)`() {
        let text = "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        #expect(RequestParser.steps(text, maxBodyByteCount: 9) == [.refusal(.malformed)])
    }

    @Test(arguments: ["Content-Length: 1", "Transfer-Encoding: chunked"])
    func `if no body is allowed, any body is too long`(field: String) {
        let text = "POST / HTTP/1.1\r\n\(field)\r\n\r\n0\r\n\r\n"
        #expect(RequestParser.steps(text) == [.refusal(.bodyTooLong)])
    }

    @Test(arguments: [0, 1, 99, 100, 101])
    func `a body has a size limit`(byteCount: Int) {
        let body = String(repeating: "x", count: byteCount)
        let expected = byteCount > 100 ? "refused: bodyTooLong" : body
        #expect(bodies(steps("Content-Length: \(byteCount)", body)) == [expected])
    }

    @Test(arguments: [1, 2, 3, 7, 64, 8192])
    func `the result does not depend on how the bytes are split`(pieceByteCount: Int) {
        let large = String(repeating: "y", count: 200_000)
        let text =
            "\r\n\r\nPOST /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"
            + "POST /b HTTP/1.1\nContent-Length: 200000\n\n\(large)"
            + "\r\nGET /c HTTP/1.1\r\nA: b\r\n\r\nPOST /d HTTP/1.1\r\nContent-Length: 200001\r\n\r\n"
        let bytes = Array(text.utf8)
        let whole = RequestParser.steps(bytes, maxBodyByteCount: 200_000)
        let split = RequestParser.steps(
            bytes,
            maxBodyByteCount: 200_000,
            pieceByteCount: pieceByteCount
        )
        #expect(whole.count == 4)
        #expect(split == whole)
        #expect(whole.last == .refusal(.bodyTooLong))
    }
}
