import APNsSimulator
import HTTPServer

/// The simulator's control endpoint: HTTP/1.1 on a loopback port, without any protection.
enum ControlServer {
    /// The longest scenario that can be read: see `JSONLimits`.
    private static let maxBodyByteCount = 16_777_215
    /// More than `ControlRoutes` waits for the simulator.
    private static let maxExchange = Duration.seconds(60)

    /// Serves on a thread of its own until the process ends; port 0 is a free one.
    ///
    /// - Returns: The port.
    static func start(port: UInt16, simulator: RunningSimulator) throws(DemoError) -> UInt16 {
        var limits = HTTPServer.Limits()
        limits.maxBodyByteCount = maxBodyByteCount
        limits.maxExchange = maxExchange
        let routes = ControlRoutes(simulator: simulator)
        do throws(HTTPServerError) {
            let server = try HTTPServer(
                HTTPAddress(host: "127.0.0.1", port: port),
                name: "control",
                limits: limits
            ) { routes.answer(to: $0) }
            server.start()
            return server.address.port
        } catch {
            throw DemoError("control port \(port): \(error.cause)")
        }
    }
}
