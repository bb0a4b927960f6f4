import AdminHTTP
import Telemetry
import Testing

/// What peers may do to the admin port, and that the next one is answered all the same.
@Suite struct HostilePeerTests {
    private func withServer(
        limits: AdminServer.Limits = .init(),
        _ body: (AdminAddress) async throws -> Void
    ) async throws {
        let (addresses, listening) = AsyncStream.makeStream(of: AdminAddress.self)
        let state = AdminState(
            isAlive: { true },
            readiness: { Readiness() },
            metrics: { [] },
            statusJSON: { [] }
        )
        let server = AdminServer(host: "127.0.0.1", port: 0, state: state, limits: limits)
        let task = Task { try await server.run { listening.yield($0) } }
        var iterator = addresses.makeAsyncIterator()
        try await body(try #require(await iterator.next()))
        task.cancel()
        try await task.value
    }

    private func expectAlive(_ address: AdminAddress) async throws {
        let answer = try await LoopbackRequest.send("GET", "/live", to: address)
        #expect(answer.status == 200)
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
        ("\u{0}\u{1}\u{16}\u{3}\r\n", 400, "\r\n"),
    ])
    func `a request has its status, however it is written`(
        head: String,
        status: Int,
        end: String
    ) async throws {
        try await withServer { address in
            let answer = try await LoopbackRequest.exchange(head + end, with: address)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            try await expectAlive(address)
        }
    }

    @Test(arguments: [(8100, 200), (9000, 431)])
    func `a head has a bound`(byteCount: Int, status: Int) async throws {
        try await withServer { address in
            let filler = String(repeating: "x", count: byteCount)
            let request = "GET /live HTTP/1.1\r\nA: \(filler)\r\nConnection: close\r\n\r\n"
            let answer = try await LoopbackRequest.exchange(request, with: address)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
        }
    }

    @Test func `several requests on one connection are answered in turn`() async throws {
        try await withServer { address in
            let requests =
                "GET /live HTTP/1.1\r\n\r\nGET /none HTTP/1.1\r\n\r\n"
                + "HEAD /live HTTP/1.1\r\nConnection: close\r\n\r\n"
            let answers = try await LoopbackRequest.exchange(requests, with: address)
            let statuses = answers.split(separator: "HTTP/1.1 ").map { $0.prefix(3) }
            #expect(statuses == ["200", "404", "200"])
            #expect(answers.hasSuffix("\r\n\r\n"), "HEAD has no body")
        }
    }

    /// The last one is no request: the peer has closed its side behind the others.
    @Test func `what came before a peer's end is answered`() async throws {
        try await withServer { address in
            let requests = String(repeating: "HEAD /live HTTP/1.1\r\n\r\n", count: 50) + "HEAD"
            let answers = try await LoopbackRequest.exchange(
                requests,
                with: address,
                isClosing: true
            )
            #expect(answers.split(separator: "HTTP/1.1 200").count == 50)
        }
    }

    @Test func `peers that send nothing keep nobody out`() async throws {
        var limits = AdminServer.Limits()
        limits.maxConnections = 4
        limits.maxExchange = .seconds(3600)
        try await withServer(limits: limits) { address in
            let silent = try await LoopbackRequest.connections(20, to: address)
            for _ in 0..<5 { try await expectAlive(address) }
            withExtendedLifetime(silent) {}
        }
    }

    @Test func `a peer that sends a byte now and then has no more time than a silent one`()
        async throws
    {
        var limits = AdminServer.Limits()
        limits.maxExchange = .seconds(2)
        try await withServer(limits: limits) { address in
            // Ends only because the server closes: the request never does.
            let sentCount = try await LoopbackRequest.drip("x", to: address)
            #expect(sentCount > 0)
            try await expectAlive(address)
        }
    }
}
