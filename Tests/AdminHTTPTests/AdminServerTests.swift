import AdminHTTP
import Foundation
import HTTP2IO
import HTTPServer
import Telemetry
import Testing

@Suite struct AdminServerTests {
    private static let obstacles = [
        Readiness.Obstacle(part: "kafka", reason: "no \"broker\" answers"),
        Readiness.Obstacle(part: "credential example", reason: "parked"),
    ]

    private static func state(isWell: Bool) -> AdminState {
        let readiness = Readiness(obstacles: isWell ? [] : obstacles)
        return AdminState(
            isAlive: { isWell },
            readiness: { readiness },
            metrics: { Metrics(version: "1", shards: []).families },
            statusJSON: { Array("{}".utf8) }
        )
    }

    /// Runs a server on a free port for as long as `body` takes.
    private func withServer(
        isWell: Bool = true,
        host: String = "127.0.0.1",
        limits: HTTPServer.Limits = .init(),
        _ body: (HTTPAddress) async throws -> Void
    ) async throws {
        let (addresses, listening) = AsyncStream.makeStream(of: HTTPAddress.self)
        let state = Self.state(isWell: isWell)
        let server = AdminServer(host: host, port: 0, state: state, limits: limits)
        let task = Task {
            defer { listening.finish() }
            try await server.run { listening.yield($0) }
        }
        var iterator = addresses.makeAsyncIterator()
        if let address = await iterator.next() {
            #expect(address.port != 0)
            try await body(address)
        } else {
            Issue.record("the server never listened")
        }
        task.cancel()
        try await task.value
    }

    @Test(arguments: [
        ("/live", true, 200, "alive\n"),
        ("/live", false, 503, "not alive\n"),
        ("/ready", true, 200, "{\"ready\":true,\"reasons\":[]}\n"),
        (
            "/ready", false, 503,
            """
            {"ready":false,"reasons":[{"part":"kafka","reason":"no \\"broker\\" answers"},\
            {"part":"credential example","reason":"parked"}]}

            """
        ),
        ("/startup", false, 200, "started\n"),
        ("/status.json", true, 200, "{}"),
        ("/elsewhere", true, 404, "not found\n"),
        ("/live/x", true, 404, "not found\n"),
        ("/live?verbose", true, 200, "alive\n"),
    ])
    func `a path has its answer`(path: String, isWell: Bool, status: Int, body: String) async throws
    {
        try await withServer(isWell: isWell) { address in
            let answer = try await LoopbackRequest.send("GET", path, to: address)
            #expect(answer.status == status)
            #expect(answer.body == body)
        }
    }

    @Test func `metrics say which format they are in`() async throws {
        try await withServer { address in
            let answer = try await LoopbackRequest.send("GET", "/metrics", to: address)
            #expect(answer.head.contains("text/plain; version=0.0.4; charset=utf-8"))
            #expect(answer.head.contains("Vary: Accept"))
            #expect(answer.body.contains("heliograph_shards 0\n"))
        }
    }

    @Test func `HEAD has the head of GET and no body`() async throws {
        try await withServer { address in
            let whole = try await LoopbackRequest.send("GET", "/", to: address)
            let head = try await LoopbackRequest.send("HEAD", "/", to: address)
            #expect(head.head == whole.head)
            #expect(head.body == "")
            #expect(whole.body.hasPrefix("<!doctype html>"))
        }
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "OPTIONS"])
    func `only GET and HEAD are answered`(method: String) async throws {
        try await withServer { address in
            let answer = try await LoopbackRequest.send(method, "/live", to: address)
            #expect(answer.status == 405)
            #expect(answer.head.contains("Allow: GET, HEAD"))
        }
    }

    @Test func `the page asks nobody but its own server`() async throws {
        try await withServer { address in
            let answer = try await LoopbackRequest.send("GET", "/", to: address)
            #expect(answer.head.contains("default-src 'none'"))
            #expect(!answer.body.contains("://"))
            #expect(answer.body.contains("fetch(\"status.json\""))
        }
    }

    @Test func `the page is made of its files, and its policy names each of them`() async throws {
        let folder = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/AdminHTTP/Page")
        let files = try FileManager.default.contentsOfDirectory(
            at: folder,
            includingPropertiesForKeys: nil
        )
        try await withServer { address in
            let answer = try await LoopbackRequest.send("GET", "/", to: address)
            for file in files where file.pathExtension != "html" {
                let text = try String(contentsOf: file, encoding: .utf8)
                let element = file.pathExtension == "js" ? "script" : "style"
                #expect(answer.body.contains("<\(element)>\(text)</\(element)>"))
                let policy = answer.head.split(separator: "\(element)-src ").last?.prefix {
                    $0 != ";"
                }
                #expect(policy?.contains("'sha256-\(Self.sha256(text))'") == true)
            }
            #expect(!answer.body.contains("src=") && !answer.body.contains("stylesheet"))
        }
    }

    private static func sha256(_ text: String) -> String {
        let digits = Array(SHA256.hexadecimal(of: Array(text.utf8)))
        let digest = stride(from: 0, to: 64, by: 2).compactMap {
            UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
        return Data(digest).base64EncodedString()
    }

    @Test(arguments: [1, 20])
    func `a peer that keeps the server waiting is dropped`(
        milliseconds: Int
    ) async throws {
        var limits = HTTPServer.Limits()
        limits.maxExchange = .milliseconds(milliseconds)
        try await withServer(limits: limits) { address in
            let received = try await LoopbackRequest.waitInSilence(for: address)
            #expect(received == "")
        }
    }

    @Test func `a port in use is one error with the address`() async throws {
        try await withServer { address in
            let second = AdminServer(
                host: address.host,
                port: address.port,
                state: Self.state(isWell: true)
            )
            await #expect(throws: AdminServerError(.addressInUse(address))) {
                try await second.run()
            }
        }
    }

    @Test func `a host that is no address is refused`() async {
        let server = AdminServer(host: "a.b.c", port: 0, state: Self.state(isWell: true))
        await #expect(throws: AdminServerError(.notAnAddress("a.b.c"))) { try await server.run() }
    }

    @Test func `an error names the setting that helps`() {
        let address = HTTPAddress(host: "::1", port: 9464)
        #expect(
            AdminServerError(.addressInUse(address)).description
                == "admin port: [::1]:9464 is in use by another process; "
                + "set admin.port, 0 is a free one"
        )
        #expect(
            AdminServerError(.notAnAddress("a.b")).description
                == "admin port: 'a.b' is neither an IP address nor localhost"
        )
        #expect(
            AdminServerError(.failed(address, cause: "Permission denied")).description
                == "admin port: cannot serve on [::1]:9464: Permission denied"
        )
    }

    @Test(arguments: ["Content-Length: 5", "Transfer-Encoding: chunked"])
    func `no request may have a body`(field: String) async throws {
        try await withServer { address in
            let answer = try await LoopbackRequest.send("GET", "/live", field, to: address)
            #expect(answer.status == 413)
        }
    }

    @Test func `a task cancelled at once returns`() async throws {
        let server = AdminServer(host: "localhost", port: 0, state: Self.state(isWell: true))
        let task = Task { try await server.run() }
        task.cancel()
        try await task.value
    }
}
