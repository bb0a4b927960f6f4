import APNsSimulator
import HTTPServer

/// The simulator's control endpoint: HTTP/1.1 on a loopback port, without any protection.
struct ControlServer {
    private let server: HTTPServer

    /// Listens; port 0 is a free one.
    init(port: UInt16, simulator: RunningSimulator) throws {
        var limits = HTTPServer.Limits()
        limits.maxBodyByteCount = Self.maxBodyByteCount
        limits.maxExchange = Self.maxExchange
        let routes = ControlRoutes(simulator: simulator)
        do throws(HTTPServerError) {
            server = try HTTPServer(
                HTTPAddress(host: "127.0.0.1", port: port),
                name: "control",
                limits: limits
            ) { routes.answer(to: $0) }
        } catch {
            throw DemoError("control port \(port): \(error.cause)")
        }
    }

    /// The longest scenario that can be read: see `JSONLimits`.
    private static let maxBodyByteCount = 16_777_215
    /// More than `ControlRoutes` waits for the simulator.
    private static let maxExchange = Duration.seconds(60)

    /// Serves on a thread of its own until the process ends.
    ///
    /// - Returns: The port.
    func start() async throws -> UInt16 {
        server.start()
        return server.address.port
    }
}
