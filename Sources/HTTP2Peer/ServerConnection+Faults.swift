import Glibc
import HTTP2IO

/// What a server should never do, for simulations of one.
extension ServerConnection {
    /// Sends bytes inside TLS that need be no frame.
    package func sendRaw(_ bytes: [UInt8]) {
        guard phase == .open else { return }
        channel.appendRaw(bytes)
    }

    /// Answers the ClientHello with a fatal alert (RFC 8446, 6.2) and ends the connection.
    package func refuseHandshake(alert: UInt8 = 40) {
        guard phase == .handshaking else { return finish(.closedHere) }
        do throws(ConnectionFailure) {
            // What was not read would turn the end into a TCP reset.
            _ = try channel.receivePlainFromSocket()
            channel.writePlain([21, 3, 3, 0, 2, 2, alert])
            try channel.flush()
        } catch {
            return finish(error, abruptly: true)
        }
        finish(.closedHere, abruptly: true)
    }

    /// Ends this side's direction of the socket; nothing can be sent any more.
    package func endSending() {
        guard fileDescriptor >= 0 else { return }
        _ = shutdown(fileDescriptor, Int32(SHUT_WR))
    }
}
