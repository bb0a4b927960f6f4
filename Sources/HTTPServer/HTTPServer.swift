import CLinux
import Foundation
import Glibc
import Synchronization

/// A small HTTP/1.1 server with one thread, bounded bodies and a time limit for each peer.
///
/// Its own thread lets it answer however busy the rest of the process is. See `ServerLoop` for what
/// peers may do, `RequestHead` for what is rejected, and `docs/decisions/0028-one-http-server.md`
/// for the reasons.
package final class HTTPServer: Sendable {
    /// Makes the answer to a request; runs on the server's thread, so all peers wait for it.
    package typealias Answer = @Sendable (HTTPRequest) -> HTTPResponse
    /// Like `Answer`, for a server with answers that take time.
    package typealias Handler = @Sendable (HTTPRequest) -> HTTPAnswer

    /// The limits for one peer and for all peers together.
    package struct Limits: Hashable, Sendable {
        /// Concurrent connections; a further one replaces the oldest.
        package var maxConnections = 64
        /// How long a request and its answer may take, from the first byte to the last.
        package var maxExchange = Duration.seconds(5)
        /// How long an answer that is given later may take; then the connection is closed.
        package var maxWait = Duration.seconds(30)
        /// How long a connection that is to be closed waits for its peer to close it, at most as long
        /// as an exchange may take.
        package var maxLinger = Duration.seconds(1)
        /// How long a connection may be idle between two requests: scrapers keep theirs open.
        package var maxRest = Duration.seconds(150)
        /// Longer bodies are rejected; each connection may hold one in memory.
        package var maxBodyByteCount = 0

        package init() {}
    }

    /// The address on which it listens; if port 0 was requested, with the port that was chosen.
    package let address: HTTPAddress
    private let name: String
    private let limits: Limits
    private let onTrouble: @Sendable (String) -> Void
    private let identity: @Sendable () -> ServerIdentity?
    private let handler: Handler
    private let bell: AnswerBell
    private let listener: Int32
    /// Becomes readable when the loop must end.
    private let wakeup: Int32
    private let hasStarted = Atomic(false)

    /// Opens the port of a server that has all its answers at once.
    package convenience init(
        _ address: HTTPAddress,
        name: String,
        limits: Limits = Limits(),
        identity: @escaping @Sendable () -> ServerIdentity? = { nil },
        onTrouble: @escaping @Sendable (String) -> Void = { _ in },
        answer: @escaping Answer
    ) throws(HTTPServerError) {
        try self.init(
            address,
            name: name,
            limits: limits,
            identity: identity,
            onTrouble: onTrouble,
            handler: { .now(answer($0)) }
        )
    }

    /// Opens the port, so that peers can connect; answers start with `start` or `serve`.
    ///
    /// - Parameters:
    ///   - address: An IP address or `localhost`; port 0 takes a free port.
    ///   - name: The name of the server's thread, at most 15 bytes (pthread_setname_np(3)).
    ///   - limits: The defaults allow no body.
    ///   - identity: The TLS identity, requested for each peer. A peer without TLS is answered as
    ///     well, but its requests are not `isSecure`. nil: no TLS.
    ///   - onTrouble: Called with the reason why no peer can be accepted, at most once a minute.
    ///   - handler: Makes the answer to a request.
    /// - Throws: If it cannot listen on this address.
    package init(
        _ address: HTTPAddress,
        name: String,
        limits: Limits = Limits(),
        identity: @escaping @Sendable () -> ServerIdentity? = { nil },
        onTrouble: @escaping @Sendable (String) -> Void = { _ in },
        handler: @escaping Handler
    ) throws(HTTPServerError) {
        let socket = try ListeningSocket.open(address)
        let wakeup = eventfd(0, Int32(EFD_CLOEXEC))
        let bell = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard wakeup >= 0, bell >= 0 else {
            let error = HTTPServerError(errno, address)
            for descriptor in [socket.descriptor, wakeup, bell] where descriptor >= 0 {
                close(descriptor)
            }
            throw error
        }
        self.bell = AnswerBell(bell)
        (listener, self.address, self.wakeup) = (socket.descriptor, socket.address, wakeup)
        self.name = name
        self.limits = limits
        self.identity = identity
        self.onTrouble = onTrouble
        self.handler = handler
    }

    deinit {
        if !hasStarted.load(ordering: .relaxed) { close(listener) }
        close(wakeup)
    }

    /// Serves until the task is cancelled, and returns when the port is closed.
    ///
    /// Call it at most once, and not after `start`.
    package func serve() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in start { continuation.resume() } }
        } onCancel: {
            stop()
        }
    }

    /// Serves on its own thread until `stop`; call it at most once.
    ///
    /// - Parameter onEnd: Called on that thread when the port is closed.
    package func start(onEnd: @escaping @Sendable () -> Void = {}) {
        precondition(!hasStarted.exchange(true, ordering: .relaxed), "started twice")
        // Retains the server, whose descriptors the loop uses, until the loop ends.
        let thread = Thread { [self] in
            unsafe heliograph_name_thread(name)
            ServerLoop(
                handler: handler,
                bell: bell,
                limits: limits,
                identity: identity,
                listener: listener,
                stop: wakeup,
                onTrouble: onTrouble
            ).run()
            onEnd()
        }
        thread.stackSize = 1 << 20
        thread.start()
    }

    /// Makes the loop close all connections and the port; before `start`, the loop then ends at
    /// once.
    package func stop() {
        _ = eventfd_write(wakeup, 1)
    }
}
