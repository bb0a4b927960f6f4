import CNghttp2
import HTTP2IO
import Vocabulary

/// How a server's connection makes progress; internal, not for its owner.
extension ServerConnection {
    func attempt(_ body: (inout HTTP2Session) throws(HTTP2Error) -> Void) {
        if phase == .closed { return }
        do throws(HTTP2Error) {
            try body(&session)
        } catch {
            finish(.protocolViolation(.internalError))
        }
    }

    func advance() {
        if phase == .handshaking { shakeHands() }
        guard phase == .open else { return }
        do throws(ConnectionFailure) {
            while try channel.read(into: &received) { try readFrames() }
        } catch {
            return finish(error)
        }
        let refused = streams.value.refused
        streams.value.refused.removeAll(keepingCapacity: true)
        for streamID in refused { reset(streamID, errorCode: .refusedStream) }
    }

    func shakeHands() {
        do throws(ConnectionFailure) {
            guard try channel.handshake() else { return }
        } catch {
            return finish(error)
        }
        phase = .open
        submitSettings(configuration.settings)
        attempt { (session) throws(HTTP2Error) in try session.setConnectionWindow(1_048_576) }
    }

    private func readFrames() throws(ConnectionFailure) {
        defer { received.removeAll() }
        do throws(HTTP2Error) {
            try session.receive(received)
        } catch {
            throw .protocolViolation(streams.value.sentGoAway ?? .protocolError)
        }
    }

    /// Puts the true stream limit into a SETTINGS frame that was just produced.
    func correctSettings(_ frames: inout ByteQueue, _ frameByteCount: Int) {
        // SAFETY: the frame's bytes are valid in the closure; its length is checked first.
        let isSettings = unsafe frames.withLast(frameByteCount) { frame in
            unsafe frame.count >= 9 && frame[3] == 4 && frame[4] & 1 == 0
        }
        guard isSettings, !settingsToSend.isEmpty else { return }
        guard let limit = settingsToSend.removeFirst() else { return }
        streams.value.maxConcurrentStreams = limit
        unsafe frames.withLast(frameByteCount) { frame in
            // Six-byte entries after a nine-byte header (RFC 9113, sections 4.1 and 6.5.1).
            for entry in stride(from: 9, to: frame.count - 5, by: 6)
            where unsafe frame[entry] == 0 && frame[entry + 1] == 3 {
                for byte in 0..<4 {
                    unsafe frame[entry + 2 + byte] = UInt8(
                        truncatingIfNeeded: limit >> UInt32(24 - 8 * byte)
                    )
                }
            }
        }
    }

    var naturalEnd: ConnectionFailure {
        if let code = streams.value.sentGoAway, code != .noError { return .protocolViolation(code) }
        if let code = streams.value.goAway { return .goAway(code) }
        return .closedHere
    }

    func finish(_ failure: ConnectionFailure, abruptly: Bool = false) {
        if phase == .closed { return }
        phase = .closed
        if abruptly { channel.abort() } else { channel.close() }
        streams.value.events.append(.closed(failure))
    }
}
