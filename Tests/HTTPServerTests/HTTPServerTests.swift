import HTTPServer
import Synchronization
import Testing

@Suite struct HTTPServerTests {
    /// Answers with a description of the request.
    private static let echo: HTTPServer.Answer = { request in
        guard request.method != "DELETE" else { return HTTPResponse(.noContent, "not sent") }
        let digest = request.body.reduce(0) { ($0 * 31 + Int($1)) % 65_521 }
        return HTTPResponse(.ok, "\(request.path) \(request.body.count) \(digest)\n")
    }

    private func text(ofHead status: String, _ byteCount: Int, isLast: Bool = true) -> String {
        "HTTP/1.1 \(status)\r\nContent-Type: text/plain; charset=utf-8\r\n"
            + "Content-Length: \(byteCount)\r\n\(Self.always)"
            + (isLast ? "Connection: close\r\n" : "") + "\r\n"
    }

    /// The fields of every answer, refusals included, so that no web page can use it.
    private static let always = """
        Cache-Control: no-store\r
        X-Content-Type-Options: nosniff\r
        Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r
        Cross-Origin-Resource-Policy: same-origin\r

        """

    @Test func `an answer has a head and a body`() async throws {
        try await withServer { address in
            let answer = try await LoopbackPeer.exchange("GET / HTTP/1.0\r\n\r\n", with: address)
            #expect(answer == text(ofHead: "200 OK", 5) + "well\n")
        }
    }

    @Test func `a field that the answer sets itself appears once`() async throws {
        let own: HTTPServer.Answer = { _ in
            var response = HTTPResponse(.ok, "well\n")
            response.fields = [HTTPField("Content-Security-Policy", "default-src 'self'")]
            return response
        }
        try await withServer(answer: own) { address in
            let answer = try await LoopbackPeer.exchange("GET / HTTP/1.0\r\n\r\n", with: address)
            #expect(answer.split(separator: "Content-Security-Policy: ").count == 2)
            #expect(answer.contains("Content-Security-Policy: default-src 'self'\r\n"))
        }
    }

    @Test func `an answer to HEAD has the length of the answer to GET`() async throws {
        try await withServer { address in
            let answer = try await LoopbackPeer.exchange("HEAD / HTTP/1.0\r\n\r\n", with: address)
            #expect(answer == text(ofHead: "200 OK", 5))
        }
    }

    /// RFC 9110, 8.6 and 15.3.5.
    @Test func `an answer without content has neither body nor length`() async throws {
        try await withServer(answer: Self.echo) { address in
            let answer = try await LoopbackPeer.exchange(
                "DELETE / HTTP/1.0\r\n\r\n",
                with: address
            )
            #expect(
                answer == "HTTP/1.1 204 No Content\r\n\(Self.always)Connection: close\r\n\r\n"
            )
        }
    }

    @Test(arguments: [0, 1, 8000, 8192, 70_000, 1_000_000])
    func `a body of any allowed length arrives, and so does the next request`(
        byteCount: Int
    ) async throws {
        try await withServer(limits: .bodies(upTo: 1_000_000), answer: Self.echo) { address in
            let body = String(repeating: "abcdefg", count: byteCount / 7 + 1).prefix(byteCount)
            let digest = body.utf8.reduce(0) { ($0 * 31 + Int($1)) % 65_521 }
            let answer = try await LoopbackPeer.exchange(
                "PUT /a?b HTTP/1.1\r\nContent-Length: \(byteCount)\r\n\r\n\(body)"
                    + "POST /c HTTP/1.1\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx",
                with: address
            )
            let first = "/a \(byteCount) \(digest)\n"
            #expect(
                answer == text(ofHead: "200 OK", first.utf8.count, isLast: false) + first
                    + text(ofHead: "200 OK", 9) + "/c 1 120\n"
            )
        }
    }

    @Test func `a waiting peer is told to continue with its body`() async throws {
        try await withServer(limits: .bodies(upTo: 5), answer: Self.echo) { address in
            let (word, answer) = try await LoopbackPeer.connected(to: address) { peer in
                try peer.send(
                    "POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 5\r\n"
                        + "Expect: 100-continue\r\n\r\n"
                )
                let word = try peer.read(until: "\r\n\r\n")
                try peer.send("hello")
                return (word, try peer.readToEnd())
            }
            #expect(word == "HTTP/1.1 100 Continue\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(answer.hasSuffix("/ 5 29049\n"), "\(answer)")
        }
    }

    @Test func `a waiting peer is told that its body is too large`() async throws {
        try await withServer(limits: .bodies(upTo: 4), answer: Self.echo) { address in
            let answer = try await LoopbackPeer.exchange(
                "POST / HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
                with: address
            )
            let body = "413 Content Too Large\n"
            #expect(answer == text(ofHead: "413 Content Too Large", body.utf8.count) + body)
        }
    }

    @Test func `a large answer arrives complete`() async throws {
        // No two parts of it are equal.
        let body = (0..<1_000_000).map { "\($0)\n" }.joined()
        let large: HTTPServer.Answer = { _ in HTTPResponse(.ok, body) }
        try await withServer(limits: .bodies(upTo: 0), answer: large) { address in
            let answers = try await LoopbackPeer.exchange(
                "GET / HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n",
                with: address
            )
            let count = body.utf8.count
            #expect(
                answers == text(ofHead: "200 OK", count, isLast: false) + body
                    + text(ofHead: "200 OK", count) + body
            )
        }
    }

    @Test func `others are served while an answer is made, and it arrives when it is given`()
        async throws
    {
        let replies = Mutex<[@Sendable (HTTPResponse) -> Void]>([])
        let handler: HTTPServer.Handler = { request in
            switch request.path {
            case "/later": return .later { reply in replies.withLock { $0.append(reply) } }
            case "/give":
                for reply in replies.withLock({ $0 }) { reply(HTTPResponse(.ok, "given\n")) }
                return .now(HTTPResponse(.ok, "well\n"))
            default: return .later { reply in reply(HTTPResponse(.ok, "at once\n")) }
            }
        }
        try await withServer(handler: handler) { address in
            let answers = try await LoopbackPeer.connected(to: address) { peer in
                // The second request waits for the answer to the first one.
                try peer.send("GET /later HTTP/1.1\r\n\r\nGET /once HTTP/1.0\r\n\r\n")
                while replies.withLock(\.isEmpty) {
                    _ = try LoopbackPeer.answer(to: "GET /once HTTP/1.0\r\n\r\n", from: address)
                }
                let other = try LoopbackPeer.answer(
                    to: "GET /give HTTP/1.0\r\n\r\n",
                    from: address
                )
                return [other, try peer.readToEnd()]
            }
            #expect(answers[0].hasSuffix("well\n"))
            #expect(
                answers[1] == text(ofHead: "200 OK", 6, isLast: false) + "given\n"
                    + text(ofHead: "200 OK", 8) + "at once\n"
            )
        }
        // The server has ended; nobody is there to get the answer.
        for reply in replies.withLock({ $0 }) { reply(HTTPResponse(.ok, "")) }
    }

    @Test func `a connection is closed if its answer takes too long`() async throws {
        var limits = HTTPServer.Limits.bodies(upTo: 0)
        limits.maxWait = .milliseconds(1)
        try await withServer(limits: limits, handler: { _ in .later { _ in } }) { address in
            let answer = try await LoopbackPeer.exchange("GET / HTTP/1.0\r\n\r\n", with: address)
            #expect(answer.isEmpty)
        }
    }

    @Test func `a port in use is reported as one error with the address`() async throws {
        try await withServer { address in
            #expect(throws: HTTPServerError.addressInUse(address)) {
                try HTTPServer(address, name: "test") { _ in HTTPResponse(.ok, "") }
            }
        }
    }

    @Test(arguments: ["a.b.c", "", "1.2.3", "127.0.0.1:80", "::1::"])
    func `a host that is not an address is rejected`(host: String) {
        #expect(throws: HTTPServerError.notAnAddress(host)) {
            try HTTPServer(HTTPAddress(host: host, port: 0), name: "test") { _ in
                HTTPResponse(.ok, "")
            }
        }
    }

    @Test func `a server that never served frees its port`() throws {
        let address = HTTPAddress(host: "127.0.0.1", port: 0)
        for _ in 0..<5 {
            let first = try HTTPServer(address, name: "test") { _ in HTTPResponse(.ok, "") }.address
            let next = try? HTTPServer(first, name: "test") { _ in HTTPResponse(.ok, "") }
            guard next == nil else { return }
            // Another process may have taken the port, but not each time.
        }
        Issue.record("the port is in use")
    }

    @Test func `a task cancelled at once returns, and the port is free`() async throws {
        let address = HTTPAddress(host: "localhost", port: 0)
        for _ in 0..<5 {
            let server = try HTTPServer(address, name: "test") { _ in HTTPResponse(.ok, "") }
            let task = Task { await server.serve() }
            task.cancel()
            await task.value
            let next = try? HTTPServer(server.address, name: "test") { _ in HTTPResponse(.ok, "") }
            if let next {
                #expect(next.address == server.address)
                return
            }
            // Another process may have taken the port, but not each time.
        }
        Issue.record("the port is in use")
    }
}
