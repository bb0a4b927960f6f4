import HTTPServer
import Testing

/// Hostile peers, after which the next peer is still answered.
@Suite struct HostilePeerTests {
    private func expectAlive(_ address: HTTPAddress) async throws {
        let answer = try await LoopbackPeer.exchange(
            "GET /live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            with: address
        )
        #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer)")
    }

    @Test(arguments: [
        ("GET /live HTTP/1.1\r\nConnection: Close\r\n", 200, "\r\n"),
        ("GET /live HTTP/1.1\nHost: a\nConnection: close\n", 200, "\n"),
        ("\r\n\r\nGET /live HTTP/1.0\r\n", 200, "\r\n"),
        ("GET /live\r\n", 400, "\r\n"),
        ("GET live HTTP/1.1\r\n", 400, "\r\n"),
        ("GET /live HTTP/1.1\r\n: no name\r\n", 400, "\r\n"),
        ("GET /live HTTP/1.1\r\nno colon\r\n", 400, "\r\n"),
        ("GET /live HTTP/2.0\r\n", 505, "\r\n"),
        ("GET /live HTTP/1.1\r\nContent-Length: 5\r\n", 413, "\r\nhello"),
        ("POST /live HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", 413, "\r\n0\r\n\r\n"),
        ("POST /live HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n", 501, "\r\n0\r\n\r\n"),
        ("\u{0}\u{1}\u{16}\u{3}\r\n", 400, "\r\n"),
    ])
    func `every request gets its status, with either line ending`(
        head: String,
        status: Int,
        end: String
    ) async throws {
        try await withServer { address in
            let answer = try await LoopbackPeer.exchange(head + end, with: address)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            try await expectAlive(address)
        }
    }

    @Test(arguments: [(8100, 200), (9000, 431)])
    func `a head has a size limit`(byteCount: Int, status: Int) async throws {
        try await withServer { address in
            let filler = String(repeating: "x", count: byteCount)
            let request = "GET /live HTTP/1.1\r\nA: \(filler)\r\nConnection: close\r\n\r\n"
            let answer = try await LoopbackPeer.exchange(request, with: address)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
        }
    }

    /// The answer reaches the peer even though the server stops reading the request.
    @Test(arguments: ["Content-Length: 1000000", "Transfer-Encoding: chunked", "A"])
    func `a refusal arrives while the request is still being sent`(field: String) async throws {
        try await withServer { address in
            let filler = String(repeating: "x", count: 1_000_000)
            let answer = try await LoopbackPeer.exchange(
                "POST / HTTP/1.1\r\n\(field)\r\n\r\n\(filler)",
                with: address
            )
            #expect(answer.hasPrefix("HTTP/1.1 4"), "\(answer)")
            #expect(answer.contains("Connection: close\r\n"))
            try await expectAlive(address)
        }
    }

    @Test func `several requests on one connection are answered in order`() async throws {
        try await withServer { address in
            let requests =
                "GET /live HTTP/1.1\r\n\r\nGET /none HTTP/1.1\r\n\r\n"
                + "HEAD /live HTTP/1.1\r\nConnection: close\r\n\r\n"
            let answers = try await LoopbackPeer.exchange(requests, with: address)
            #expect(answers.split(separator: "HTTP/1.1 200 OK").count == 3)
            #expect(answers.hasSuffix("\r\n\r\n"), "HEAD has no body")
        }
    }

    /// The last request is incomplete, because the peer closed its side after the others.
    @Test func `requests received before a peer's close are answered`() async throws {
        try await withServer { address in
            let requests = String(repeating: "HEAD /live HTTP/1.1\r\n\r\n", count: 50) + "HEAD"
            let answers = try await LoopbackPeer.exchange(
                requests,
                with: address,
                isClosing: true
            )
            #expect(answers.split(separator: "HTTP/1.1 200").count == 50)
        }
    }

    /// Unread bytes at a close would reset the connection and lose bytes in transit.
    @Test func `the last answer arrives even if the peer sends more after its request`()
        async throws
    {
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: 8 << 20)
        let large: HTTPServer.Answer = { _ in
            HTTPResponse(.ok, contentType: "text/plain", body: body)
        }
        try await withServer(limits: .bodies(upTo: 0), answer: large) { address in
            let answer = try await LoopbackPeer.connected(to: address) { peer in
                try peer.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
                // The head has arrived, so the request was read; these bytes stay in the kernel.
                let start = try peer.read(upTo: 64)
                try peer.send("\r\n")
                return start + (try peer.readToEnd())
            }
            #expect(answer.hasSuffix("\r\n\r\n" + String(decoding: body, as: UTF8.self)))
        }
    }

    @Test func `peers that send nothing do not keep others out`() async throws {
        var limits = HTTPServer.Limits()
        limits.maxConnections = 4
        limits.maxExchange = .seconds(3600)
        try await withServer(limits: limits) { address in
            let silent = try await LoopbackPeer.silent(20, to: address)
            for _ in 0..<5 { try await expectAlive(address) }
            withExtendedLifetime(silent) {}
        }
    }

    /// A byte of a head, and one of a body.
    @Test(
        .timeLimit(.minutes(10)),
        arguments: ["", "POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n"]
    )
    func `a peer that sends single bytes slowly has no more time than a silent one`(
        start: String
    ) async throws {
        var limits = HTTPServer.Limits()
        limits.maxExchange = .seconds(20)
        limits.maxBodyByteCount = 1_000_000
        try await withServer(limits: limits) { address in
            // Ends only when the server closes: the request never ends, and nothing is answered.
            let (sentCount, answer) = try await LoopbackPeer.connected(to: address) { peer in
                try peer.send(start)
                return (peer.drip("x"), (try? peer.readToEnd()) ?? "")
            }
            #expect(sentCount > 0)
            #expect(answer == "")
            try await expectAlive(address)
        }
    }

    /// Empty lines before a request are skipped and add no time.
    @Test(.timeLimit(.minutes(10)), arguments: ["\r\n", "\n"])
    func `a peer that sends empty lines slowly has no more idle time than a silent one`(
        line: String
    ) async throws {
        var limits = HTTPServer.Limits()
        limits.maxExchange = .seconds(3600)
        limits.maxRest = .seconds(2)
        try await withServer(limits: limits) { address in
            // Without an idle timeout it would continue until its lines exceed the limit of a head.
            let answer = try await LoopbackPeer.connected(to: address) { peer in
                try peer.send("HEAD /live HTTP/1.1\r\n\r\n")
                let answer = try peer.read(until: "\r\n\r\n")
                _ = peer.drip(line)
                return answer + ((try? peer.readToEnd()) ?? "")
            }
            #expect(answer.hasPrefix("HTTP/1.1 200 "))
            #expect(answer.hasSuffix("\r\n\r\n") && !answer.contains("HTTP/1.1 4"))
            try await expectAlive(address)
        }
    }

    @Test func `a peer that reads its answer slowly is dropped`() async throws {
        var limits = HTTPServer.Limits()
        limits.maxExchange = .seconds(2)
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: 64 << 20)
        let large: HTTPServer.Answer = { request in
            request.path == "/large"
                ? HTTPResponse(.ok, contentType: "text/plain", body: body)
                : HTTPResponse(.ok, "well\n")
        }
        try await withServer(limits: limits, answer: large) { address in
            let byteCount = try await LoopbackPeer.connected(to: address) { peer in
                try peer.send("GET /large HTTP/1.1\r\n\r\n")
                return peer.sip()
            }
            #expect(byteCount < 64 << 20)
            try await expectAlive(address)
        }
    }
}
