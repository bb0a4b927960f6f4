import Glibc
import HTTP2IO

/// One client's connection: what it has sent, and what must still be sent to it.
struct HTTPConnection {
    private enum Phase: Hashable {
        /// Waits for the bytes of a request. Next: `sending`, `waiting`, `ended`.
        case receiving
        /// Another thread makes the answer. Next: `sending`, `ended`.
        case waiting
        /// Sends an answer or `100 Continue`. Next: the state given by `then`, `ended`.
        case sending(then: Following)
        /// The last answer is sent. Further bytes are discarded until the peer closes its side:
        /// closing a socket with unread bytes resets the connection, and the peer may lose the
        /// answer (RFC 9112, section 9.6). Next: `ended`.
        case lingering(until: ContinuousClock.Instant)
        /// The connection must be closed; nothing more is read or written.
        case ended
    }

    private enum Following: Hashable {
        case body, request, lingering
    }

    let descriptor: Int32
    /// When the peer connected, its last answer was sent, or its current request began.
    private(set) var startedAt: ContinuousClock.Instant
    private let limits: HTTPServer.Limits
    /// nil: the server has no certificate.
    private let context: TLSContext?
    /// nil: the peer does not use TLS, or has not sent anything yet.
    private var tls: PeerTLS?
    private var hasSpoken = false
    private var parser: RequestParser
    private var phase = Phase.receiving
    /// The request that waits for its answer, and the answer; nil in other phases.
    private var asked: (request: HTTPRequest, answer: PendingAnswer)?
    /// The bytes to send first, then those of `content`; kept apart to avoid a copy.
    private var head: [UInt8] = []
    private var content: [UInt8] = []
    private var sentByteCount = 0
    private var discardedByteCount = 0
    private var hasAnswered = false
    /// Bytes that were already read may hold another request, which the next turn handles.
    private(set) var hasMore = false

    /// The most bytes sent to one peer in one turn, so that a fast reader does not delay others.
    private static let maxSentByteCount = 1 << 18
    /// The most bytes to discard before closing; more than a peer sends by mistake.
    private static let maxDiscardedByteCount = 1 << 25
    /// The most bytes to discard in one turn.
    private static let discardByteCount = 1 << 16

    init(
        _ descriptor: Int32,
        limits: HTTPServer.Limits,
        context: TLSContext?,
        now: ContinuousClock.Instant
    ) {
        self.descriptor = descriptor
        self.limits = limits
        self.context = context
        parser = RequestParser(maxBodyByteCount: limits.maxBodyByteCount)
        startedAt = now
    }

    var hasEnded: Bool { phase == .ended }

    /// The events to poll(2) for.
    var interest: Int16 {
        if case .sending = phase { return Int16(POLLOUT) }
        // Whatever the peer sends now has to wait; poll(2) reports in any case that it is gone.
        if phase == .waiting { return 0 }
        return Int16(POLLIN) | (tls?.outgoing.isEmpty == false ? Int16(POLLOUT) : 0)
    }

    /// When the peer's time is over.
    ///
    /// The time of an exchange runs from the first byte of the request to the last byte of its
    /// answer. Bytes in between do not extend it, so a peer that sends a byte now and then gains
    /// nothing by it. Between two requests, the longer `maxRest` applies.
    var deadline: ContinuousClock.Instant {
        if case .lingering(let end) = phase { return end }
        if phase == .waiting { return startedAt + limits.maxWait }
        return startedAt + (isResting ? limits.maxRest : limits.maxExchange)
    }

    /// Whether the connection is idle between two requests.
    private var isResting: Bool {
        hasAnswered && parser.isIdle && !hasDecrypted && phase == .receiving
    }

    /// Whether an answer that was waited for is there.
    var isAnswered: Bool { asked?.answer.response != nil }

    /// Whether TLS holds decrypted bytes that the parser has not taken; poll(2) cannot report them.
    private var hasDecrypted: Bool { tls?.received.isEmpty == false }

    /// Reads and writes as far as the socket allows, but handles at most one request.
    ///
    /// A peer that sends hundreds of requests at once takes turns with the others.
    mutating func advance(
        _ handler: HTTPServer.Handler,
        _ bell: AnswerBell,
        now: ContinuousClock.Instant
    ) {
        if phase == .waiting { takeAnswer(now: now) }
        if phase == .receiving, let tls { _ = flush(tls) }
        if phase == .receiving {
            let wasResting = isResting
            // Bytes already read come first: the peer may have closed its side after sending them.
            if !hasMore || hasDecrypted { receive() }
            hasMore = false
            if phase == .receiving { takeStep(handler, bell) }
            if phase == .receiving { hasMore = hasDecrypted }
            // A request's time starts with its first byte. Empty lines before it do not count: a
            // peer that sends one now and then is still idle.
            if wasResting, !isResting { startedAt = now }
        }
        switch phase {
        case .sending(let following):
            if sendOn() { follow(following, now: now) }
        case .lingering: discard()
        case .receiving, .waiting, .ended: break
        }
    }

    // MARK: Receiving

    private mutating func receive() {
        if tls == nil {
            guard let bytes = read(parser.capacity) else { return }
            // A TLS connection starts with a handshake record (RFC 8446, section 5.1), type 22; a
            // request never starts with that byte.
            guard !hasSpoken, bytes.first == 22, let context else {
                hasSpoken = true
                parser.append(bytes)
                return
            }
            hasSpoken = true
            tls = try? PeerTLS(context)
            decrypt(bytes)
        } else if !hasDecrypted {
            guard let bytes = read(PeerTLS.chunkByteCount) else { return }
            decrypt(bytes)
        }
        guard let tls, phase == .receiving else { return }
        let part = tls.received.prefix(parser.capacity)
        parser.append(part)
        tls.received.removeFirst(part.count)
    }

    private mutating func decrypt(_ bytes: ArraySlice<UInt8>) {
        guard let tls, (try? tls.receive(bytes)) != nil else {
            // Sends the alert that says why, if the socket has room for it.
            if let tls { _ = flush(tls) }
            phase = .ended
            return
        }
        _ = flush(tls)
    }

    /// Reads and discards bytes that nobody needs.
    private mutating func discard() {
        guard let bytes = read(Self.discardByteCount) else { return }
        discardedByteCount += bytes.count
        if discardedByteCount > Self.maxDiscardedByteCount { phase = .ended }
    }

    /// - Returns: nil if nothing can be read now, or at the end of the stream.
    private mutating func read(_ maxByteCount: Int) -> ArraySlice<UInt8>? {
        var chunk = [UInt8](repeating: 0, count: maxByteCount)
        // SAFETY: recv writes at most as many bytes as the given count.
        let count = unsafe chunk.withUnsafeMutableBytes { buffer in
            unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
        }
        if count > 0 { return chunk[..<count] }
        if count == 0 || !isMomentary(errno) { phase = .ended }
        return nil
    }

    private mutating func takeStep(_ handler: HTTPServer.Handler, _ bell: AnswerBell) {
        switch parser.next() {
        case .incomplete: break
        case .invitation:
            head = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
            phase = .sending(then: .body)
        case .request(var request):
            request.isSecure = tls != nil
            switch handler(request) {
            case .now(let response): send(response, to: request)
            case .later(let start):
                let answer = PendingAnswer(bell)
                asked = (request, answer)
                phase = .waiting
                start { answer.give($0) }
            }
        case .refusal(let problem):
            let response = HTTPResponse(problem)
            head = response.head(isLast: true)
            content = response.body
            phase = .sending(then: .lingering)
        }
    }

    private mutating func takeAnswer(now: ContinuousClock.Instant) {
        guard let (request, answer) = asked, let response = answer.response else {
            // The peer is gone, and nobody reads the answer.
            asked = nil
            phase = .ended
            return
        }
        asked = nil
        // Sending it has a time of its own.
        startedAt = now
        send(response, to: request)
    }

    // MARK: Sending

    private mutating func send(_ response: HTTPResponse, to request: HTTPRequest) {
        head = response.head(isLast: !request.isPersistent)
        content = response.content(for: request.method)
        phase = .sending(then: request.isPersistent ? .request : .lingering)
    }

    /// - Returns: Whether everything is sent.
    private mutating func sendOn() -> Bool {
        let byteCount = head.count + content.count
        let end = min(byteCount, sentByteCount + Self.maxSentByteCount)
        if let tls { return sendOn(by: tls, upTo: end) && sentByteCount == byteCount }
        while sentByteCount < end {
            let count =
                sentByteCount < head.count
                // MSG_MORE: more follows, so the kernel waits and sends both in one packet.
                ? send(head[sentByteCount...], content.isEmpty ? 0 : Int32(MSG_MORE))
                : send(content[(sentByteCount - head.count)..<(end - head.count)], 0)
            guard count > 0 else {
                if !isMomentary(errno) { phase = .ended }
                return false
            }
            sentByteCount += count
        }
        return sentByteCount == byteCount
    }

    /// - Returns: Whether the bytes before `end` are sent.
    private mutating func sendOn(by tls: PeerTLS, upTo end: Int) -> Bool {
        while flush(tls) {
            guard sentByteCount < end else { return true }
            let rest =
                sentByteCount < head.count
                ? head[sentByteCount...]
                : content[(sentByteCount - head.count)..<(end - head.count)]
            let part = rest.prefix(PeerTLS.chunkByteCount)
            guard (try? tls.send(part)) != nil else {
                phase = .ended
                return false
            }
            sentByteCount += part.count
        }
        return false
    }

    /// Sends the ciphertext that TLS has for the peer.
    ///
    /// - Returns: Whether all of it is sent.
    private mutating func flush(_ tls: PeerTLS) -> Bool {
        while !tls.outgoing.isEmpty {
            let count = send(tls.outgoing, 0)
            guard count > 0 else {
                if !isMomentary(errno) { phase = .ended }
                return false
            }
            tls.outgoing.removeFirst(count)
        }
        return true
    }

    /// Sends bytes; a peer that has closed the connection causes an error, not a signal.
    private func send(_ bytes: ArraySlice<UInt8>, _ flags: Int32) -> Int {
        // SAFETY: send reads the bytes of the buffer it is given.
        unsafe bytes.withUnsafeBytes { buffer in
            unsafe Glibc.send(
                descriptor,
                buffer.baseAddress,
                buffer.count,
                Int32(MSG_NOSIGNAL) | flags
            )
        }
    }

    private mutating func follow(_ following: Following, now: ContinuousClock.Instant) {
        (head, content, sentByteCount) = ([], [], 0)
        switch following {
        case .body: phase = .receiving
        case .request:
            phase = .receiving
            hasAnswered = true
            startedAt = now
            hasMore = !parser.isIdle || hasDecrypted
        case .lingering:
            if let tls {
                tls.end()
                _ = flush(tls)
                guard phase != .ended else { return }
            }
            _ = shutdown(descriptor, Int32(SHUT_WR))
            phase = .lingering(until: now + min(limits.maxExchange, limits.maxLinger))
        }
    }

    private func isMomentary(_ code: Int32) -> Bool {
        code == EAGAIN || code == EWOULDBLOCK || code == EINTR
    }
}
