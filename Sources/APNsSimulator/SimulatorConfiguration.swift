package import HTTP2IO

/// How to run an `APNsSimulator`.
package struct SimulatorConfiguration: Sendable {
    /// Where to listen; port 0 lets the kernel choose, nil is nowhere.
    package var production: SocketAddress? = .loopback(port: 0)
    package var sandbox: SocketAddress? = .loopback(port: 0)
    /// The server's certificate and key; nil makes an authority and both.
    package var identity: TLSIdentity?
    /// DNS names and addresses for the certificate that is made.
    package var names = ["localhost", "127.0.0.1", "::1"]
    /// The signing keys APNs knows; nil makes one.
    package var keys: [RegisteredKey]?
    /// Known beside those, or beside the one that is made.
    package var furtherKeys: [RegisteredKey] = []
    package var scenario = Scenario()
    package var strictness = Strictness()
    /// Bundle IDs that exist although they end like a topic's suffix.
    package var bundleIDs: Set<String> = []
    /// SETTINGS_MAX_CONCURRENT_STREAMS before the first valid provider token.
    package var unprovenStreamLimit: UInt32 = 1
    /// And after it, or with a client certificate.
    package var provenStreamLimit: UInt32 = 1000
    /// Connections beyond are closed at once.
    package var maxConnections = 10_000
    /// Accepted `apns-id`s that duplicates are looked for in.
    package var rememberedIDCount = 1 << 20
    /// A descriptor for a line of JSON per request.
    ///
    /// The lines name device tokens: for tests only.
    package var requestLog: Int32?

    package init() {}
}
