import HTTP2IO
import HTTP2Peer
import HTTPServer
import Testing

/// TLS as seen without a TLS client; `test_admin_access.py` uses curl and Python.
@Suite struct ServerTLSTests {
    private static let authority = EphemeralAuthority()
    private static let pair = authority.serverIdentity()

    private static let answer: HTTPServer.Answer = { request in
        HTTPResponse(.ok, request.isSecure ? "over TLS\n" : "without TLS\n")
    }

    private func identity() throws -> ServerIdentity {
        try ServerIdentity(
            certificate: Self.pair.certificateChainPEM,
            privateKey: Self.pair.privateKeyPEM
        )
    }

    @Test func `a peer without TLS is answered, and the handler knows it`() async throws {
        let identity = try identity()
        try await withServer(identity: { identity }, answer: Self.answer) { address in
            let answer = try await LoopbackPeer.exchange("GET / HTTP/1.0\r\n\r\n", with: address)
            #expect(answer.hasSuffix("without TLS\n"))
        }
    }

    /// Invalid handshake records, complete and truncated, and one after a request.
    @Test(arguments: [
        "\u{16}\u{3}\u{1}\u{0}\u{5}hello", "\u{16}\u{3}\u{1}\u{0}\u{0}",
        "\u{16}\u{3}\u{3}\u{40}\u{0}\u{1}", "\u{16}",
        "GET / HTTP/1.1\r\n\r\n\u{16}\u{3}\u{1}\u{0}\u{5}hello\r\n\r\n",
    ])
    func `bytes that begin like TLS but are not do no harm`(bytes: String) async throws {
        let identity = try identity()
        try await withServer(identity: { identity }, answer: Self.answer) { address in
            _ = try? await LoopbackPeer.exchange(bytes, with: address, isClosing: true)
            let answer = try await LoopbackPeer.exchange("GET / HTTP/1.0\r\n\r\n", with: address)
            #expect(answer.hasSuffix("without TLS\n"))
        }
    }

    @Test func `for files that do not match, one of them is reported`() throws {
        let other = Self.authority.serverIdentity()
        #expect {
            try ServerIdentity(
                certificate: Self.pair.certificateChainPEM,
                privateKey: other.privateKeyPEM
            )
        } throws: { error in
            let problem = error as? ServerIdentity.Problem
            return problem?.isOfKey == true
                && problem?.description == "does not match the certificate"
        }
        #expect {
            try ServerIdentity(certificate: Self.pair.certificateChainPEM, privateKey: nil)
        } throws: { error in
            let problem = error as? ServerIdentity.Problem
            return problem?.isOfKey == false
                && problem?.description == "holds no private key; set private_key_file"
        }
    }
}
