import Glibc
import HTTP2IO

/// One peer of the server: what it has sent, and what it still has to be sent.
struct HTTPConnection {
    private enum Phase: Hashable {
        /// Bytes of a request are awaited. Next: `sending`, `ended`.
        case receiving
        /// Something is on its way to the peer. Next: what follows it, `ended`.
        case sending(then: Following)
        /// The last answer is sent, and what still comes is thrown away until the peer has seen its
        /// end: closing while bytes are unread resets the connection, and the peer may lose the
        /// answer (RFC 9112, 9.6). Next: `ended`.
        case lingering(until: ContinuousClock.Instant)
        /// To be closed; nothing more is read or written.
        case ended
    }

    private enum Following: Hashable {
        case body, request, lingering
    }

    let descriptor: Int32
    /// When the peer connected, its last request was answered, or its current one began.
    private(set) var startedAt: ContinuousClock.Instant
    private let limits: HTTPServer.Limits
    /// Nil: the server has no certificate.
    private let context: TLSContext?
    /// Nil: the peer speaks without TLS, or has not spoken yet.
    private var tls: PeerTLS?
    private var hasSpoken = false
    private var parser: RequestParser
    private var phase = Phase.receiving
    /// What is sent, in this order, without being copied into one.
    private var head: [UInt8] = []
    private var content: [UInt8] = []
    private var sentByteCount = 0
    private var discardedByteCount = 0
    private var hasAnswered = false
    /// More of what was read may be a request, and is looked at in the next turn.
    private(set) var hasMore = false

    private static let maxLinger = Duration.seconds(1)
    /// Bytes for one peer before the next one has its turn, however fast it reads.
    private static let maxSentByteCount = 1 << 18
    /// Bytes that are thrown away: more than anyone sends by mistake.
    private static let maxDiscardedByteCount = 1 << 25
    /// Of these in one turn.
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

    /// What poll(2) is to look for.
    var interest: Int16 {
        if case .sending = phase { return Int16(POLLOUT) }
        return Int16(POLLIN) | (tls?.outgoing.isEmpty == false ? Int16(POLLOUT) : 0)
    }

    /// When the peer has had its time.
    ///
    /// It counts from the first to the last byte of a request and its answer, however many bytes
    /// come between: a peer that sends one from time to time is no better than a silent one. Only
    /// between two requests a peer may rest.
    var deadline: ContinuousClock.Instant {
        if case .lingering(let end) = phase { return end }
        return startedAt + (isResting ? limits.maxRest : limits.maxExchange)
    }

    /// Between two requests.
    private var isResting: Bool {
        hasAnswered && parser.isIdle && !hasDecrypted && phase == .receiving
    }

    /// TLS has more than the parser took: no poll(2) reports it.
    private var hasDecrypted: Bool { tls?.received.isEmpty == false }

    /// Reads and writes as far as the socket lets it, one request at most: a peer that sends
    /// hundreds at once is served in turn with the others.
    mutating func advance(_ answer: HTTPServer.Answer, now: ContinuousClock.Instant) {
        if phase == .receiving, let tls { _ = flush(tls) }
        if phase == .receiving {
            let wasResting = isResting
            // What was read comes before a peer's end: it may have closed its side behind it.
            if !hasMore || hasDecrypted { receive() }
            hasMore = false
            if phase == .receiving { takeStep(answer) }
            if phase == .receiving { hasMore = hasDecrypted }
            // The time of a request begins with its first byte. Empty lines in front of it are no
            // part of it: a peer that sends one from time to time rests.
            if wasResting, !isResting { startedAt = now }
        }
        switch phase {
        case .sending(let following):
            if sendOn() { follow(following, now: now) }
        case .lingering: discard()
        case .receiving, .ended: break
        }
    }

    // MARK: Receiving

    private mutating func receive() {
        if tls == nil {
            guard let bytes = read(parser.capacity) else { return }
            // TLS begins with a record of a handshake (RFC 8446, 5.1), a request never does.
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
            // An alert says why, if there is room for it.
            if let tls { _ = flush(tls) }
            phase = .ended
            return
        }
        _ = flush(tls)
    }

    /// Lets the peer send what nobody reads.
    private mutating func discard() {
        guard let bytes = read(Self.discardByteCount) else { return }
        discardedByteCount += bytes.count
        if discardedByteCount > Self.maxDiscardedByteCount { phase = .ended }
    }

    /// - Returns: nil when there is nothing now, or nothing more at all.
    private mutating func read(_ maxByteCount: Int) -> ArraySlice<UInt8>? {
        var chunk = [UInt8](repeating: 0, count: maxByteCount)
        // SAFETY: recv writes at most as many bytes as it is told there are.
        let count = unsafe chunk.withUnsafeMutableBytes { buffer in
            unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
        }
        if count > 0 { return chunk[..<count] }
        if count == 0 || !isMomentary(errno) { phase = .ended }
        return nil
    }

    private mutating func takeStep(_ answer: HTTPServer.Answer) {
        switch parser.next() {
        case .incomplete: break
        case .invitation:
            head = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
            phase = .sending(then: .body)
        case .request(var request):
            request.isSecure = tls != nil
            let response = answer(request)
            head = response.head(isLast: !request.isPersistent)
            content = response.content(for: request.method)
            phase = .sending(then: request.isPersistent ? .request : .lingering)
        case .refusal(let problem):
            let response = HTTPResponse(problem)
            head = response.head(isLast: true)
            content = response.body
            phase = .sending(then: .lingering)
        }
    }

    // MARK: Sending

    /// - Returns: whether all of it is gone.
    private mutating func sendOn() -> Bool {
        let byteCount = head.count + content.count
        let end = min(byteCount, sentByteCount + Self.maxSentByteCount)
        if let tls { return sendOn(by: tls, upTo: end) && sentByteCount == byteCount }
        while sentByteCount < end {
            let count =
                sentByteCount < head.count
                // More follows: the kernel waits for it, and sends both in one packet.
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

    /// - Returns: whether the bytes before `end` are gone.
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

    /// Sends what TLS has for the peer.
    ///
    /// - Returns: whether all of it is gone.
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

    /// A peer that is gone is an error here, not a signal.
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
            phase = .lingering(until: now + min(limits.maxExchange, Self.maxLinger))
        }
    }

    private func isMomentary(_ code: Int32) -> Bool {
        code == EAGAIN || code == EWOULDBLOCK || code == EINTR
    }
}
