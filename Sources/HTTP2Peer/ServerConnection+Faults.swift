import Glibc
import HTTP2IO

/// Protocol violations for simulated faults.
extension ServerConnection {
    /// Sends bytes inside TLS that need not be a frame.
    package func sendRaw(_ bytes: [UInt8]) {
        guard phase == .open else { return }
        unsafe output.append(upTo: bytes.count) { room in
            unsafe room.copyBytes(from: bytes)
            return room.count
        }
    }

    /// Answers the ClientHello with a fatal alert (RFC 8446, 6.2) and ends the connection.
    package func refuseHandshake(alert: UInt8 = 40) {
        guard phase == .handshaking else { return finish(.closedHere) }
        do throws(ConnectionFailure) {
            // Reads first: closing a socket with unread bytes would reset the TCP connection.
            _ = try channel.receivePlainFromSocket()
            channel.writePlain([21, 3, 3, 0, 2, 2, alert])
            try channel.flush()
        } catch {
            return finish(error, abruptly: true)
        }
        finish(.closedHere, abruptly: true)
    }

    /// Ends the sending direction of the socket; nothing can be sent after this.
    package func endSending() {
        guard fileDescriptor >= 0 else { return }
        _ = shutdown(fileDescriptor, Int32(SHUT_WR))
    }
}
