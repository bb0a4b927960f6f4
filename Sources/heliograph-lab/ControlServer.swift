import APNsSimulator
import FlyingFox
import FlyingSocks
import Foundation
import HTTP2IO

/// The simulator's control endpoint: HTTP/1.1 on a loopback port, without any protection.
struct ControlServer {
    private let server: HTTPServer

    /// Port 0 is a free one.
    init(port: UInt16, simulator: RunningSimulator) throws {
        do throws(SystemError) {
            // The server's own failure to listen is told by nobody: who waits for it waits in vain.
            _ = try Listener(.loopback(port: port))
        } catch {
            throw DemoError("control port \(port): \(error.text)")
        }
        server = HTTPServer(
            address: try sockaddr_in.inet(ip4: "127.0.0.1", port: port),
            timeout: Self.answerSeconds,
            logger: .disabled,
            handler: ControlRoutes(simulator: simulator)
        )
    }

    private static let answerSeconds = 15.0
    private static let startSeconds = 60.0

    /// Serves in a task of its own.
    ///
    /// - Returns: The port.
    func start() async throws -> UInt16 {
        let server = server
        let serving = Task { try await server.run() }
        do {
            try await server.waitUntilListening(timeout: Self.startSeconds)
        } catch {
            serving.cancel()
            throw DemoError("control port: \(error)")
        }
        guard case .ip4(_, let port) = await server.listeningAddress else {
            throw DemoError("control port: not listening")
        }
        return port
    }
}
