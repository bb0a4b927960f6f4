import APNsSimulator
import HTTPServer

/// The simulator's control endpoint: HTTP/1.1 on a loopback port, without access control.
enum ControlServer {
    /// The longest scenario that can be parsed; see `JSONLimits`.
    private static let maxBodyByteCount = 16_777_215
    /// Longer than `ControlRoutes` waits for the simulator.
    private static let maxExchange = Duration.seconds(60)

    /// Serves on its own thread until the process ends; port 0 takes a free port.
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
