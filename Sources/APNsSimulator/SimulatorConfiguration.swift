package import HTTP2IO

/// How to run an `APNsSimulator`.
package struct SimulatorConfiguration: Sendable {
    /// Where to listen; port 0 lets the kernel choose, nil is nowhere.
    package var production: SocketAddress? = .loopback(port: 0)
    package var sandbox: SocketAddress? = .loopback(port: 0)
    /// Where to listen for the management of channels.
    package var productionChannels: SocketAddress?
    package var sandboxChannels: SocketAddress?
    /// The server's certificate and key; nil makes an authority and both.
    package var identity: TLSIdentity?
    /// DNS names and addresses for the certificate that is made.
    package var names = ["localhost", "127.0.0.1", "::1"]
    /// The signing keys APNs knows; nil makes one.
    package var keys: [RegisteredKey]?
    package var scenario = Scenario()
    /// Where the scenario does not say.
    package var strictness = Strictness()
    package var settings = WireSettings()
    /// Bundle IDs that exist although they end like a topic's suffix.
    package var bundleIDs: Set<String> = []
    /// Connections beyond are closed at once.
    package var maxConnections = 10_000
    /// Accepted `apns-id`s that duplicates are looked for in.
    package var rememberedIDCount = 1 << 20
    /// Device tokens whose notifications are kept, payloads included; 0 keeps none.
    package var rememberedDevices = 0
    /// A descriptor for a line of JSON per request.
    ///
    /// The lines of both logs name device tokens: for tests only.
    package var requestLog: Int32?
    /// A descriptor for a line of JSON per answer, with the time that it took.
    package var timingLog: Int32?

    package init() {}
}
