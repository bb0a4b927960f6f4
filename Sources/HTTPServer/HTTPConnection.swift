import Glibc

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

    init(_ descriptor: Int32, limits: HTTPServer.Limits, now: ContinuousClock.Instant) {
        self.descriptor = descriptor
        self.limits = limits
        parser = RequestParser(maxBodyByteCount: limits.maxBodyByteCount)
        startedAt = now
    }

    var hasEnded: Bool { phase == .ended }

    /// What poll(2) is to look for.
    var interest: Int16 {
        if case .sending = phase { Int16(POLLOUT) } else { Int16(POLLIN) }
    }

    /// When the peer has had its time.
    ///
    /// It counts from the first to the last byte of a request and its answer, however many bytes
    /// come between: a peer that sends one now and then is no better than a silent one. Only
    /// between two requests a peer may rest.
    var deadline: ContinuousClock.Instant {
        if case .lingering(let end) = phase { return end }
        return startedAt + (isResting ? limits.maxRest : limits.maxExchange)
    }

    /// Between two requests.
    private var isResting: Bool { hasAnswered && parser.isIdle && phase == .receiving }

    /// Reads and writes as far as the socket lets it, one request at most: a peer that sends
    /// hundreds at once is served in turn with the others.
    mutating func advance(_ answer: HTTPServer.Answer, now: ContinuousClock.Instant) {
        if phase == .receiving {
            let wasResting = isResting
            // What was read comes before a peer's end: it may have closed its side behind it.
            if !hasMore { receive() }
            hasMore = false
            if phase == .receiving { takeStep(answer) }
            // The time of a request begins with its first byte. Empty lines in front of it are no
            // part of it: a peer that sends one now and then rests.
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
        guard let bytes = read(parser.capacity) else { return }
        parser.append(bytes)
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
        case .request(let request):
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
            hasMore = !parser.isIdle
        case .lingering:
            _ = shutdown(descriptor, Int32(SHUT_WR))
            phase = .lingering(until: now + min(limits.maxExchange, Self.maxLinger))
        }
    }

    private func isMomentary(_ code: Int32) -> Bool {
        code == EAGAIN || code == EWOULDBLOCK || code == EINTR
    }
}
