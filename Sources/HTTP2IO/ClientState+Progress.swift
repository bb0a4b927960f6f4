import CNghttp2
import Vocabulary

/// How a client's connection makes progress.
extension ClientState {
    /// Has nghttp2 open a stream, with a single header field that is never sent; `writeHeaders`
    /// puts the request's own in its place.
    ///
    /// - Returns: The new stream's ID.
    mutating func openStream(hasBody: Bool) throws(SubmitError) -> Int32 {
        let userData = unsafe StreamTable<ClientStream>.userData(of: streams.value.table.nextSlot)
        let raw = unsafe channel.session.raw
        var field = unsafe Self.placeholder
        var provider = unsafe nghttp2_data_provider(
            source: nghttp2_data_source(),
            read_callback: readRequestBody
        )
        // SAFETY: nghttp2 copies the field and the provider. Without a priority specification
        // HEADERS carry no priority (RFC 9113, 5.3.2).
        let streamID =
            hasBody
            ? unsafe nghttp2_submit_request(raw, nil, &field, 1, &provider, userData)
            : unsafe nghttp2_submit_request(raw, nil, &field, 1, nil, userData)
        switch streamID {
        case 1...: return streamID
        case NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE.rawValue: throw .streamIDsExhausted
        default: throw .notOpen
        }
    }

    /// `:method`, from which nghttp2 takes how a response may look; the static table has this very
    /// field, so that nghttp2 neither encodes it nor changes its own dynamic table.
    private static var placeholder: nghttp2_nv {
        let name: StaticString = ":method"
        let value: StaticString = "POST"
        let flags =
            NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
        // SAFETY: static strings stay where they are, and nghttp2 only reads them.
        return unsafe nghttp2_nv(
            name: UnsafeMutablePointer(mutating: name.utf8Start),
            value: UnsafeMutablePointer(mutating: value.utf8Start),
            namelen: name.utf8CodeUnitCount,
            valuelen: value.utf8CodeUnitCount,
            flags: UInt8(flags)
        )
    }

    /// Carries out a wish whose failure ends the connection: out of memory, or a flood.
    mutating func attempt(_ body: (inout HTTP2Session) throws(HTTP2Error) -> Void) {
        do throws(HTTP2Error) {
            try body(&channel.session)
        } catch {
            finish(failure(of: .session(error)))
        }
    }

    mutating func receiveFromSocket() {
        do throws(ConnectionFailure) {
            if phase == .tunnelling {
                receiveFromProxy(try channel.receivePlainFromSocket())
                if channel.isClosedByPeer { peerClosed() }
                return
            }
            try channel.receiveFromSocket()
        } catch {
            advance()
            return finish(error)
        }
        advance()
        if channel.isClosedByPeer { peerClosed() }
    }

    /// Reads what the peer said before writing to it failed: answers, or the GOAWAY's reason.
    mutating func hearOut() {
        // As often as the kernel's buffers could need.
        for _ in 0..<16 where hasSession && phase != .closed { receiveFromSocket() }
    }

    mutating func peerClosed() {
        if phase == .closed { return }
        if let goAway = streams.value.goAway { return finish(.goAway(goAway.errorCode)) }
        finish(.closedByPeer)
    }

    /// Makes progress with the ciphertext that is there.
    mutating func advance() {
        if phase == .handshaking { shakeHands() }
        guard hasSession, phase != .closed else { return }
        do throws(ChannelError) {
            try channel.receiveFrames()
        } catch {
            if case .sentAway(let goAway) = error {
                streams.value.goAwayArrived(
                    lastStreamID: goAway.lastStreamID,
                    errorCode: goAway.errorCode.rawValue,
                    debugData: goAway.debugData
                )
            }
            return finish(failure(of: error))
        }
        noteSettings()
        noteGoAway()
        resetEarlyAnswers()
    }

    /// Whether frames may flow: TLS is up.
    var hasSession: Bool {
        switch phase {
        case .connecting, .tunnelling, .handshaking: false
        case .settling, .open, .draining, .closed: true
        }
    }

    /// TCP is up, to the server or to the proxy.
    mutating func connected() {
        if let tunnel {
            phase = .tunnelling
            channel.writePlain(ProxyHandshake.request(tunnel))
        } else {
            phase = .handshaking
            shakeHands()
        }
    }

    mutating func receiveFromProxy(_ bytes: [UInt8]) {
        do throws(ProxyError) {
            guard let rest = try proxyHandshake.receive(bytes) else { return }
            channel.receive(rest)
        } catch {
            return finish(.proxy(error))
        }
        phase = .handshaking
        advance()
    }

    mutating func shakeHands() {
        do throws(ConnectionFailure) {
            guard try channel.handshake() else { return }
        } catch {
            return finish(error)
        }
        phase = .settling
        let settings: [HTTP2Setting] = [
            .pushDisabled,
            .maxHeaderListSize(UInt32(clamping: limits.maxResponseHeaderByteCount)),
        ]
        attempt { (session) throws(HTTP2Error) in
            try session.submitSettings(settings)
            try session.setConnectionWindow(1_048_576)
        }
    }

    private mutating func noteSettings() {
        guard streams.value.hasNewSettings else { return }
        streams.value.hasNewSettings = false
        for size in streams.value.headerTableSizes { headers.limitTable(to: size) }
        streams.value.headerTableSizes.removeAll()
        // Without the setting there is no limit, and 100 is the least that RFC 9113, 6.5.2 wants
        // peers to allow: no peer is hurt by it.
        let limit = min(channel.session.peerMaxConcurrentStreams ?? 100, limits.maxOpenStreams)
        if phase == .settling {
            phase = .open
            streams.value.events.append(.opened(maxConcurrentStreams: limit))
        } else if limit != maxConcurrentStreams {
            streams.value.events.append(.streamLimitChanged(limit))
        }
        maxConcurrentStreams = limit
    }

    /// nghttp2 closes the streams above the last one that it had sent; the others are ours.
    private mutating func noteGoAway() {
        guard let goAway = streams.value.goAway else { return }
        if phase == .settling || phase == .open { phase = .draining }
        for slot in streams.value.table.slotsInOrder
        where streams.value.table[slot].streamID > goAway.lastStreamID {
            streams.value.fail(slot, .aboveGoAway)
        }
    }

    /// A request that was answered before its body was sent needs no rest (RFC 9113, 8.1).
    private mutating func resetEarlyAnswers() {
        guard !streams.value.earlyAnswers.isEmpty else { return }
        let early = streams.value.earlyAnswers
        streams.value.earlyAnswers.removeAll(keepingCapacity: true)
        for streamID in early {
            attempt { (session) throws(HTTP2Error) in
                try session.submitReset(streamID, errorCode: HTTP2ErrorCode.cancel.rawValue)
            }
        }
    }

    /// Why a session without a purpose ended.
    var naturalEnd: ConnectionFailure {
        if let code = streams.value.sentGoAway, code != .noError { return .protocolViolation(code) }
        if let goAway = streams.value.goAway { return .goAway(goAway.errorCode) }
        return .closedHere
    }

    mutating func sendFrames() throws(ConnectionFailure) {
        if phase == .connecting { return }
        guard hasSession else { return try channel.flush() }
        var wasFull: Bool
        repeat {
            repeat {
                streams.value.writeMark = channel.producedByteCount
            } while try sendBatch()
            wasFull = channel.isBacklogFull
            try channel.flush()
            // A socket that took everything will not become writable once more.
        } while wasFull && !channel.hasBacklog
    }

    private mutating func sendBatch() throws(ConnectionFailure) -> Bool {
        do throws(ChannelError) {
            return try Self.sendBatch(&channel, &headers)
        } catch {
            throw failure(of: error)
        }
    }

    /// Two parts of the state, so that one may look into the other's work.
    private static func sendBatch(
        _ channel: inout FrameChannel,
        _ headers: inout HeaderQueue
    ) throws(ChannelError) -> Bool {
        try channel.sendBatch { headers.writeHeaders(&$0, $1) }
    }

    private func failure(of error: ChannelError) -> ConnectionFailure {
        switch error {
        case .session: .protocolViolation(streams.value.sentGoAway ?? .protocolError)
        case .sentAway(let goAway): .goAway(goAway.errorCode)
        case .failed(let failure): failure
        }
    }

    mutating func finish(_ failure: ConnectionFailure) {
        if phase == .closed { return }
        phase = .closed
        channel.close()
        for slot in streams.value.table.slotsInOrder {
            streams.value.fail(slot, lastFailure(of: slot))
        }
        streams.value.events.append(.closed(failure))
    }

    private func lastFailure(of slot: Int) -> StreamFailure {
        guard let mark = streams.value.table[slot].writeMark, mark < channel.sentByteCount else {
            return .neverWritten
        }
        return .connectionClosed
    }
}
