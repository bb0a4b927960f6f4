import CLinux
import Foundation
import Glibc
import Synchronization

/// A small HTTP/1.1 server: requests with bounded bodies, one thread, every peer within its time.
///
/// It has a thread of its own, so that it answers however busy the rest of the process is. See
/// `ServerLoop` for what peers may do, `RequestHead` for what is refused, and
/// `docs/decisions/0028-one-http-server.md` for why.
package final class HTTPServer: Sendable {
    /// Makes the answer, on the server's thread: all peers wait for it.
    package typealias Answer = @Sendable (HTTPRequest) -> HTTPResponse

    /// The limits of one peer, and of all of them.
    package struct Limits: Hashable, Sendable {
        /// Connections at one time; one more takes the place of the oldest.
        package var maxConnections = 64
        /// How long a request and its answer may take, from the first byte to the last.
        package var maxExchange = Duration.seconds(5)
        /// How long a peer may rest between two requests: a scraper keeps its connection.
        package var maxRest = Duration.seconds(150)
        /// Longer bodies are refused; each connection may hold one.
        package var maxBodyByteCount = 0

        package init() {}
    }

    /// Where it listens; with the port that was chosen, if a free one was requested.
    package let address: HTTPAddress
    private let name: String
    private let limits: Limits
    private let onTrouble: @Sendable (String) -> Void
    private let identity: @Sendable () -> ServerIdentity?
    private let answer: Answer
    private let listener: Int32
    /// Becomes readable when the loop is to end.
    private let wakeup: Int32
    private let hasStarted = Atomic(false)

    /// Listens, so that peers may connect; nobody is answered before `start`.
    ///
    /// - Parameters:
    ///   - address: An IP address or `localhost`; port 0 is a free one.
    ///   - name: Of the server's thread, at most 15 bytes count (pthread_setname_np(3)).
    ///   - limits: The standard ones admit no body.
    ///   - identity: With what it speaks TLS, asked for each peer; a peer that speaks without is
    ///     answered as well, and its requests are not `isSecure`. Nil: without TLS.
    ///   - onTrouble: Called with why no peer can be let in, once a minute at most.
    ///   - answer: What is answered.
    /// - Throws: When it cannot listen there.
    package init(
        _ address: HTTPAddress,
        name: String,
        limits: Limits = Limits(),
        identity: @escaping @Sendable () -> ServerIdentity? = { nil },
        onTrouble: @escaping @Sendable (String) -> Void = { _ in },
        answer: @escaping Answer
    ) throws(HTTPServerError) {
        let socket = try ListeningSocket.open(address)
        let wakeup = eventfd(0, Int32(EFD_CLOEXEC))
        guard wakeup >= 0 else {
            let error = HTTPServerError(errno, address)
            close(socket.descriptor)
            throw error
        }
        (listener, self.address, self.wakeup) = (socket.descriptor, socket.address, wakeup)
        self.name = name
        self.limits = limits
        self.identity = identity
        self.onTrouble = onTrouble
        self.answer = answer
    }

    deinit {
        if !hasStarted.load(ordering: .relaxed) { close(listener) }
        close(wakeup)
    }

    /// Serves until the task is cancelled, and returns when the port is closed.
    ///
    /// At most once, and not after `start`.
    package func serve() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in start { continuation.resume() } }
        } onCancel: {
            stop()
        }
    }

    /// Serves on a thread of its own until `stop`; at most once.
    ///
    /// - Parameter onEnd: Called on that thread when the port is closed.
    package func start(onEnd: @escaping @Sendable () -> Void = {}) {
        precondition(!hasStarted.exchange(true, ordering: .relaxed), "started twice")
        // Keeps the server, whose descriptors the loop uses, until the loop ends.
        let thread = Thread { [self] in
            unsafe heliograph_name_thread(name)
            ServerLoop(
                answer: answer,
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

    /// Has the loop close every connection and the port; before `start` it then ends at once.
    package func stop() {
        _ = eventfd_write(wakeup, 1)
    }
}
