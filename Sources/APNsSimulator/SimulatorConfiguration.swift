package import HTTP2IO

/// How to run an `APNsSimulator`.
package struct SimulatorConfiguration: Sendable {
    /// Where to listen; with port 0, the kernel chooses; nil: do not listen.
    package var production: SocketAddress? = .loopback(port: 0)
    package var sandbox: SocketAddress? = .loopback(port: 0)
    /// Where to listen for channel management.
    package var productionChannels: SocketAddress?
    package var sandboxChannels: SocketAddress?
    /// The server's certificate and key; nil: generate them and an authority.
    package var identity: TLSIdentity?
    /// The DNS names and addresses for a generated certificate.
    package var names = ["localhost", "127.0.0.1", "::1"]
    /// The signing keys registered with APNs; nil: generate one.
    package var keys: [RegisteredKey]?
    package var scenario = Scenario()
    /// Used if the scenario does not define it.
    package var strictness = Strictness()
    package var settings = WireSettings()
    /// Bundle IDs that exist although they end like a topic suffix.
    package var bundleIDs: Set<String> = []
    /// Further connections are closed at once.
    package var maxConnections = 10_000
    /// How many accepted `apns-id`s to remember in order to detect duplicates.
    package var rememberedIDCount = 1 << 20
    /// For how many device tokens notifications are kept, with payloads; 0: none.
    package var rememberedDevices = 0
    /// A descriptor for a line of JSON per request.
    ///
    /// The lines of both logs name device tokens: for tests only.
    package var requestLog: Int32?
    /// A descriptor for a line of JSON per answer, with the time that it took.
    package var timingLog: Int32?

    package init() {}
}
