import CLinux
import Glibc
import Synchronization

/// What a server does about a request.
package enum HTTPAnswer: Sendable {
    /// Sends the answer at once.
    case now(HTTPResponse)
    /// Calls `start`, which must return immediately, and sends the answer that is given to its
    /// argument: once, on any thread. Other peers are served meanwhile.
    case later(start: @Sendable (_ reply: @escaping @Sendable (HTTPResponse) -> Void) -> Void)
}

/// An answer that another thread gives.
final class PendingAnswer: Sendable {
    private let given = Mutex<HTTPResponse?>(nil)
    private let bell: AnswerBell

    init(_ bell: AnswerBell) {
        self.bell = bell
    }

    /// Nil: it is not there yet.
    var response: HTTPResponse? { given.withLock { $0 } }

    /// Only the first answer counts.
    func give(_ response: HTTPResponse) {
        given.withLock { $0 = $0 ?? response }
        bell.ring()
    }
}

/// Wakes a server's loop when an answer is given.
///
/// It lives as long as anyone may give one, which may be longer than the server.
final class AnswerBell: Sendable {
    /// A non-blocking eventfd.
    let descriptor: Int32

    /// Takes ownership of the descriptor.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    func ring() {
        _ = eventfd_write(descriptor, 1)
    }

    func silence() {
        var count: eventfd_t = 0
        // SAFETY: eventfd_read writes one number.
        _ = unsafe eventfd_read(descriptor, &count)
    }
}
