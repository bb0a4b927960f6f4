/// Parses requests from the bytes that a peer sends (RFC 9112); it does no I/O.
///
/// Pass at most `capacity` bytes to `append`, then call `next` until it needs more. Apart from
/// `invitation`, the result does not depend on how the bytes were split. The parser holds at most a
/// head of `maxHeadByteCount` + 1 bytes and one body of the maximum size.
package struct RequestParser: Hashable, Sendable {
    package enum Step: Hashable, Sendable {
        /// More bytes are needed.
        case incomplete
        /// The peer waits for `100 Continue` before it sends the body; call `next` again.
        case invitation
        case request(HTTPRequest)
        /// The last answer must have the problem's status; every further call returns the same.
        case refusal(RequestProblem)
    }

    private enum Phase: Hashable, Sendable {
        /// Next: `body`, `refused`.
        case head
        /// Next: `head`.
        case body(HTTPRequest, byteCount: Int)
        /// Final.
        case refused(RequestProblem)
    }

    /// Longer heads are rejected, including the empty lines before them.
    ///
    /// No scraper, probe or browser comes close to this size.
    package static let maxHeadByteCount = 8192
    /// The largest part of a body that is taken at once.
    private static let maxChunkByteCount = 65_536

    private let maxBodyByteCount: Int
    private var phase = Phase.head
    /// Bytes that have not been consumed yet.
    private var buffer: [UInt8] = []
    /// The body that is arriving.
    private var body: [UInt8] = []
    /// Empty lines before a request, which are skipped (RFC 9112, section 2.2).
    private var skippedByteCount = 0
    /// The offset in the buffer at which the incomplete line starts.
    private var lineStart = 0
    /// No line ends before this offset in the buffer.
    private var scannedByteCount = 0

    /// - Parameter maxBodyByteCount: 0: requests with a body are rejected.
    package init(maxBodyByteCount: Int) {
        self.maxBodyByteCount = maxBodyByteCount
    }

    /// How many bytes it accepts now; at least 1 after `incomplete`.
    package var capacity: Int {
        switch phase {
        case .head: max(0, Self.maxHeadByteCount + 1 - skippedByteCount - buffer.count)
        case .body(_, let byteCount):
            min(Self.maxChunkByteCount, byteCount - body.count - buffer.count)
        case .refused: 0
        }
    }

    /// Whether no part of a request has arrived, apart from empty lines and half of one.
    package var isIdle: Bool {
        phase == .head && (buffer.isEmpty || buffer == [UInt8(ascii: "\r")])
    }

    package mutating func append(_ bytes: some Collection<UInt8>) {
        precondition(bytes.count <= capacity, "\(bytes.count) bytes for \(capacity)")
        buffer.append(contentsOf: bytes)
    }

    package mutating func next() -> Step {
        switch phase {
        case .refused(let problem): return .refusal(problem)
        case .body(let request, let byteCount): return takeBody(of: request, byteCount)
        case .head: break
        }
        do throws(RequestProblem) {
            guard let head = try takeHead() else { return .incomplete }
            guard head.bodyByteCount > 0 else { return .request(head.request) }
            phase = .body(head.request, byteCount: head.bodyByteCount)
            if head.expectsInvitation, buffer.isEmpty { return .invitation }
            return takeBody(of: head.request, head.bodyByteCount)
        } catch {
            phase = .refused(error)
            buffer = []
            return .refusal(error)
        }
    }

    private mutating func takeBody(of request: HTTPRequest, _ byteCount: Int) -> Step {
        let part = buffer.prefix(byteCount - body.count)
        body.append(contentsOf: part)
        buffer.removeFirst(part.count)
        guard body.count == byteCount else { return .incomplete }
        var request = request
        request.body = body
        body = []
        phase = .head
        return .request(request)
    }

    /// - Returns: nil if more bytes are needed.
    private mutating func takeHead() throws(RequestProblem) -> RequestHead? {
        guard let end = endOfHead() else {
            let byteCount = skippedByteCount + buffer.count
            guard byteCount <= Self.maxHeadByteCount else { throw .headTooLong }
            return nil
        }
        guard skippedByteCount + end <= Self.maxHeadByteCount else { throw .headTooLong }
        let head = try RequestHead(buffer[..<end], maxBodyByteCount: maxBodyByteCount)
        buffer.removeFirst(end)
        lineStart = 0
        scannedByteCount = 0
        skippedByteCount = 0
        return head
    }

    /// The offset after the empty line; scans each byte once, however slowly they arrive.
    private mutating func endOfHead() -> Int? {
        var headStart = 0
        var end: Int?
        while end == nil,
            let lineEnd = buffer[scannedByteCount...].firstIndex(of: UInt8(ascii: "\n"))
        {
            let line = buffer[lineStart..<lineEnd]
            scannedByteCount = lineEnd + 1
            if !line.isEmpty, !line.elementsEqual([UInt8(ascii: "\r")]) {
                lineStart = scannedByteCount
            } else if lineStart == headStart {
                headStart = scannedByteCount
                lineStart = scannedByteCount
            } else {
                end = scannedByteCount
            }
        }
        if end == nil { scannedByteCount = buffer.count }
        skippedByteCount += headStart
        buffer.removeFirst(headStart)
        lineStart -= headStart
        scannedByteCount -= headStart
        return end.map { $0 - headStart }
    }
}
