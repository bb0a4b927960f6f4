import HTTP2IO
import HTTP2Peer
import Testing

@Suite struct TLSTests {
    /// Runs a handshake and returns its error on the client; nil if the connection opened.
    private func failure(
        trust: TLSTrust = .pem(Pair.authority.rootPEM),
        serverName: String = "localhost",
        identity: TLSIdentity = Pair.identity
    ) throws -> ConnectionFailure? {
        let client = try ClientConnection(
            inMemoryWithServerName: serverName,
            tls: .client(trust: trust)
        )
        let server = try ServerConnection(inMemory: .server(identity))
        for _ in 0..<10 {
            client.flush()
            server.flush()
            let toServer = client.takeOutgoing()
            let toClient = server.takeOutgoing()
            if !toServer.isEmpty { server.receive(toServer) }
            if !toClient.isEmpty { client.receive(toClient) }
        }
        var events: [ConnectionEvent] = []
        client.takeEvents(into: &events)
        if case .closed(let failure) = events.last { return failure }
        #expect(events == [.opened(maxConcurrentStreams: 1000)])
        return nil
    }

    @Test(arguments: ["localhost", "127.0.0.1", "::1"])
    func `a name in the certificate is accepted`(name: String) throws {
        #expect(try failure(serverName: name) == nil)
    }

    @Test func `a bad certificate is reported in OpenSSL's words`() throws {
        let authority = Pair.authority
        let cases: [(ConnectionFailure?, Int, String)] = [
            (
                try failure(trust: .pem(EphemeralAuthority().rootPEM)), 20,
                "unable to get local issuer certificate"
            ),
            (try failure(serverName: "example.com"), 62, "hostname mismatch"),
            (try failure(serverName: "127.0.0.2"), 64, "IP address mismatch"),
            (
                try failure(identity: authority.serverIdentity(validFor: .seconds(-60))), 10,
                "certificate has expired"
            ),
            (
                try failure(
                    identity: authority.providerIdentity(bundleID: "localhost", topics: [])
                ), 26,
                "unsuitable certificate purpose"
            ),
        ]
        for (failure, code, text) in cases {
            #expect(failure == .tls(.untrustedCertificate(code: code, text: text)))
            #expect(failure?.description == "certificate verification failed: \(text)")
        }
    }

    @Test func `a peer that speaks plain HTTP is recognized`() throws {
        let client = try ClientConnection(
            inMemoryWithServerName: "localhost",
            tls: .client(trust: .system)
        )
        client.receive(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
        var events: [ConnectionEvent] = []
        client.takeEvents(into: &events)
        #expect(events == [.closed(.tls(.notTLS(isHTTP1: true)))])

        let server = try ServerConnection(inMemory: .server(Pair.identity))
        server.receive(Array("GET / HTTP/1.1\r\n\r\n".utf8))
        var serverEvents: [ServerEvent] = []
        server.takeEvents(into: &serverEvents)
        #expect(serverEvents == [.closed(.tls(.notTLS(isHTTP1: true)))])
    }

    @Test(arguments: [["http/1.1"], ["http/1.1", "spdy/3"], []])
    func `a client without h2 is rejected`(protocols: [String]) throws {
        let context = try TLSContext.client(trust: .pem(Pair.authority.rootPEM))
        context.offer(protocols)
        let client = try ClientConnection(inMemoryWithServerName: "localhost", tls: context)
        let server = try ServerConnection(inMemory: .server(Pair.identity))
        client.flush()
        server.receive(client.takeOutgoing())
        client.receive(server.takeOutgoing())
        client.flush()
        server.receive(client.takeOutgoing())
        var events: [ConnectionEvent] = []
        client.takeEvents(into: &events)
        #expect(events == [.closed(.tls(.noCommonProtocol))])
        #expect(server.isClosed || protocols.isEmpty)
    }

    @Test func `a client certificate reaches the server that requests it`() throws {
        let identity = Pair.authority.providerIdentity(
            bundleID: "com.example.Old",
            topics: []
        )
        let client = try ClientConnection(
            inMemoryWithServerName: "localhost",
            tls: .client(trust: .pem(Pair.authority.rootPEM), identity: identity)
        )
        let server = try ServerConnection(
            inMemory: .server(Pair.identity, requestsClientCertificate: true)
        )
        for _ in 0..<4 {
            client.flush()
            server.receive(client.takeOutgoing())
            server.flush()
            client.receive(server.takeOutgoing())
        }
        #expect(server.clientCertificateFacts?.bundleID == "com.example.Old")
        let der = try #require(server.clientCertificateDER)
        // SEQUENCE, long form of the length (X.690, 8.1.3.5)
        #expect(der.starts(with: [0x30, 0x82]))
    }

    @Test func `a server that requests a certificate accepts a client without one`() throws {
        let server = try ServerConnection(
            inMemory: .server(Pair.identity, requestsClientCertificate: true)
        )
        let client = try ClientConnection(
            inMemoryWithServerName: "localhost",
            tls: .client(trust: .pem(Pair.authority.rootPEM))
        )
        for _ in 0..<4 {
            client.flush()
            server.receive(client.takeOutgoing())
            server.flush()
            client.receive(server.takeOutgoing())
        }
        #expect(client.maxConcurrentStreams == 1000)
        #expect(server.clientCertificateDER == nil)
    }

    @Test func `bad key material is reported at once`() {
        let key = EphemeralAuthority.signingKeyPEM()
        #expect(throws: TLSError.badMaterial("is a private key; expected certificates in PEM")) {
            try TLSContext.client(trust: .pem(key))
        }
        #expect(throws: TLSError.badMaterial("certificate: no certificate in the PEM text")) {
            try TLSContext.server(TLSIdentity(certificateChainPEM: [], privateKeyPEM: key))
        }
        // After a good block, one whose last line is missing.
        let damaged: [UInt8] = Pair.authority.rootPEM + Pair.authority.rootPEM.dropLast(30)
        let missing = "is cut short: '-----END CERTIFICATE-----' is missing"
        #expect(throws: TLSError.badMaterial(missing)) {
            try TLSContext.client(trust: .pem(damaged))
        }
        #expect(
            throws: TLSError.badMaterial("certificate: a damaged certificate in the PEM text")
        ) {
            try TLSContext.server(TLSIdentity(certificateChainPEM: damaged, privateKeyPEM: key))
        }
        #expect(
            throws: TLSError.badMaterial("private key: no usable private key in the PEM text")
        ) {
            var identity = Pair.identity
            identity.privateKeyPEM = Array("nonsense".utf8)
            return try TLSContext.server(identity)
        }
        #expect(throws: TLSError.self) {
            var identity = Pair.identity
            identity.privateKeyPEM = key
            return try TLSContext.server(identity)
        }
        #expect(throws: TLSError.self) {
            try TLSContext.client(trust: .file("/nonexistent/roots.pem"))
        }
    }
}
