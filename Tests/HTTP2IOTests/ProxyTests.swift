import HTTP2IO
import HTTP2Peer
import Testing

@Suite struct ProxyTests {
    private func client(_ tunnel: ProxyTunnel) throws -> ClientConnection {
        try ClientConnection(
            inMemoryWithServerName: "localhost",
            tunnel: tunnel,
            tls: .client(trust: .pem(Pair.authority.rootPEM))
        )
    }

    @Test(arguments: [
        (ProxyTunnel(host: "api.push.apple.com", port: 443), "api.push.apple.com:443", nil),
        (ProxyTunnel(host: "2001:db8::1", port: 2197), "[2001:db8::1]:2197", nil),
        (
            ProxyTunnel(host: "a", port: 1, authorization: "Basic eDp5"), "a:1",
            "Proxy-Authorization: Basic eDp5\r\n"
        ),
    ])
    func `the proxy is asked for a tunnel`(
        tunnel: ProxyTunnel,
        target: String,
        extra: String?
    ) throws {
        let client = try client(tunnel)
        client.flush()
        #expect(
            String(decoding: client.takeOutgoing(), as: UTF8.self)
                == "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\(extra ?? "")\r\n"
        )
    }

    @Test(arguments: [
        "HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n",
        "HTTP/1.0 299\r\n\r\n",
        // A carriage return that ends no line, and a status in the wrong place.
        "HTTP/1.1 200 \r\r\nX: 407\r\n\r\r\n\r\n",
        // Informational responses come before the final one (RFC 9110, 15.2).
        "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ])
    func `TLS starts once the tunnel is open`(answer: String) throws {
        for pieceLength in [1, 3, 1000] {
            let client = try client(ProxyTunnel(host: "api.push.apple.com", port: 443))
            client.flush()
            _ = client.takeOutgoing()
            let answer = Array(answer.utf8)
            for start in stride(from: 0, to: answer.count, by: pieceLength) {
                #expect(client.takeOutgoing().isEmpty)
                client.receive(Array(answer[start...].prefix(pieceLength)))
            }
            try expectTLS(client)
        }
    }

    private func expectTLS(_ client: ClientConnection) throws {
        let server = try ServerConnection(inMemory: .server(Pair.identity))
        for _ in 0..<4 {
            client.flush()
            server.receive(client.takeOutgoing())
            server.flush()
            client.receive(server.takeOutgoing())
        }
        var events: [ConnectionEvent] = []
        client.takeEvents(into: &events)
        #expect(events == [.opened(maxConcurrentStreams: 1000)])
    }

    @Test(arguments: [
        ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", ProxyError.refused(status: 407)),
        ("HTTP/1.0 502 Bad Gateway\r\nX: y\r\n\r\n", .refused(status: 502)),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", .refused(status: 101)),
        ("HTTP/1.1 302 200\r\n\r\n", .refused(status: 302)),
        ("HTTP/1.1 abc\r\n\r\n", .notHTTP),
        ("HTTP/1.1\r\n\r\n", .notHTTP),
        ("HTTP/2.0 200 OK\r\n\r\n", .notHTTP),
        ("SSH-1.99 200 OK\r\n\r\n", .notHTTP),
        // No status, but digits where one might be found.
        ("HTTP/1.1\r\nX: 200\r\n\r\n", .notHTTP),
        ("HTTP/1.1\r\n 200 OK\r\n\r\n", .notHTTP),
        ("HTTP/1.1\t200 OK 200\r\n\r\n", .notHTTP),
        ("HTTP/1.1 +20 OK\r\n\r\n", .notHTTP),
        ("HTTP/1.1 2000\r\n\r\n", .notHTTP),
        ("HTTP/1.1 20\r\n\r\n", .notHTTP),
        ("HTTP/1.1 000 OK\r\n\r\n", .notHTTP),
        ("HTTP/2 200\r\n\r\n", .notHTTP),
        ("HTTP/ 200 OK\r\n\r\n", .notHTTP),
        ("SSH-2.0-OpenSSH", .notHTTP),
        ("HTTP/1.1 200 OK\r\n" + String(repeating: "x", count: 17_000), .notHTTP),
        // The limit covers everything before the tunnel is open, also in one piece.
        ("HTTP/1.1 200 OK\r\n" + String(repeating: "x", count: 17_000) + "\r\n\r\n", .notHTTP),
        (String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 700), .notHTTP),
    ])
    func `a proxy that opens no tunnel is reported`(answer: String, error: ProxyError) throws {
        let client = try client(ProxyTunnel(host: "api.push.apple.com", port: 443))
        client.receive(Array(answer.utf8))
        var events: [ConnectionEvent] = []
        client.takeEvents(into: &events)
        #expect(events == [.closed(.proxy(error))])
    }
}
