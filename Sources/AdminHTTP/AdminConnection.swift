import Glibc

/// One peer of the admin port: what it has sent, and what it still has to be sent.
struct AdminConnection {
    let descriptor: Int32
    /// When the peer connected, or its last request was answered.
    private(set) var startedAt: ContinuousClock.Instant
    private var limits: AdminServer.Limits
    private var received: [UInt8] = []
    private var answer: [UInt8] = []
    private var sentCount = 0
    private var isLastAnswer = false
    private var hasAnswered = false
    /// More of what was read may be a request, and is looked at in the next turn.
    private(set) var hasMore = false
    /// To be closed; nothing more is read or written.
    private(set) var hasEnded = false

    init(_ descriptor: Int32, limits: AdminServer.Limits, now: ContinuousClock.Instant) {
        self.descriptor = descriptor
        self.limits = limits
        startedAt = now
    }

    /// What poll(2) is to look for.
    var interest: Int16 { Int16(answer.isEmpty ? POLLIN : POLLOUT) }

    /// When the peer has had its time.
    ///
    /// It counts from the first to the last byte of a request and its answer, however many bytes
    /// come between: a peer that sends one now and then is no better than a silent one. Only
    /// between two requests a peer may rest.
    var deadline: ContinuousClock.Instant {
        let isResting = hasAnswered && received.isEmpty && answer.isEmpty
        return startedAt + (isResting ? limits.maxRest : limits.maxExchange)
    }

    /// Reads and writes as far as the socket lets it, one request at most: a peer that sends
    /// hundreds at once is served in turn with the others.
    mutating func advance(_ routes: AdminRoutes, now: ContinuousClock.Instant) {
        // What was read comes before a peer's end: it may have closed its side behind it.
        if answer.isEmpty, !hasMore { receive(now: now) }
        hasMore = false
        guard !hasEnded, !answer.isEmpty || takeRequest(routes), sendAnswer() else { return }
        answer = []
        sentCount = 0
        hasAnswered = true
        startedAt = now
        hasEnded = isLastAnswer
        hasMore = !hasEnded && !received.isEmpty
    }

    /// At most what a head may be long: more stays in the kernel until that is answered.
    private mutating func receive(now: ContinuousClock.Instant) {
        // The time of a request begins with its first byte.
        let isFirst = hasAnswered && received.isEmpty
        let room = RequestHead.maxByteCount + 1 - received.count
        guard room > 0 else { return }
        var chunk = [UInt8](repeating: 0, count: room)
        // SAFETY: recv writes at most as many bytes as it is told there are.
        let count = unsafe chunk.withUnsafeMutableBytes { buffer in
            unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
        }
        if count > 0 {
            received.append(contentsOf: chunk[..<count])
            if isFirst { startedAt = now }
        } else if count == 0 || !isMomentary(errno) {
            hasEnded = true
        }
    }

    /// - Returns: false when the peer has to send more first.
    private mutating func takeRequest(_ routes: AdminRoutes) -> Bool {
        do throws(RequestHead.Problem) {
            guard let head = try RequestHead.take(from: &received) else { return false }
            guard !head.hasBody else {
                // Nothing here takes one, and what is not read would pass for a request.
                refuse(.contentTooLarge)
                return true
            }
            isLastAnswer = !head.isPersistent
            answer = routes.answer(to: head)
                .bytes(isBodyless: head.method == "HEAD", isLast: isLastAnswer)
        } catch {
            switch error {
            case .malformed: refuse(.badRequest)
            case .tooLong: refuse(.headTooLarge)
            case .unknownVersion: refuse(.unknownVersion)
            }
        }
        return true
    }

    private mutating func refuse(_ status: AdminResponse.Status) {
        isLastAnswer = true
        answer = AdminResponse(status, "\(status.rawValue)\n")
            .bytes(isBodyless: false, isLast: true)
    }

    /// - Returns: whether all of it is gone.
    private mutating func sendAnswer() -> Bool {
        while sentCount < answer.count {
            // SAFETY: send reads the bytes of the buffer it is given. A peer that is gone is an
            // error here, not a signal.
            let count = unsafe answer.withUnsafeBytes { buffer in
                unsafe send(
                    descriptor,
                    buffer.baseAddress?.advanced(by: sentCount),
                    buffer.count - sentCount,
                    Int32(MSG_NOSIGNAL)
                )
            }
            guard count > 0 else {
                if !isMomentary(errno) { hasEnded = true }
                return false
            }
            sentCount += count
        }
        return true
    }

    private func isMomentary(_ code: Int32) -> Bool {
        code == EAGAIN || code == EWOULDBLOCK || code == EINTR
    }
}
