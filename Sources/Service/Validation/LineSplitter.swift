/// Cuts a stream of bytes into lines, in memory bounded by the longest line that is wanted.
///
/// A line ends with a line feed; the last one may end with the stream. What is longer than the
/// limit is counted and thrown away.
struct LineSplitter {
    enum Line: Hashable {
        case text([UInt8])
        /// Longer than the limit, which its size in bytes says by how much.
        case tooLong(byteCount: Int)
    }

    private let maxByteCount: Int
    private var pending: [UInt8] = []
    /// Of the line that is being read; larger than `pending` once that was given up.
    private var pendingByteCount = 0

    init(maxByteCount: Int) {
        self.maxByteCount = maxByteCount
    }

    /// Takes the stream's next bytes, and gives each line that ends in them to `body`.
    mutating func feed(_ bytes: ArraySlice<UInt8>, _ body: (Line) -> Void) {
        var rest = bytes
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            append(rest[..<end])
            endLine(body)
            rest = rest[(end + 1)...]
        }
        append(rest)
    }

    /// The stream has ended; gives a last line without line feed to `body`.
    mutating func finish(_ body: (Line) -> Void) {
        if pendingByteCount > 0 { endLine(body) }
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>) {
        pendingByteCount += bytes.count
        if pendingByteCount <= maxByteCount {
            pending.append(contentsOf: bytes)
        } else {
            pending = []
        }
    }

    private mutating func endLine(_ body: (Line) -> Void) {
        let isTooLong = pendingByteCount > maxByteCount
        body(isTooLong ? .tooLong(byteCount: pendingByteCount) : .text(pending))
        pending.removeAll(keepingCapacity: true)
        pendingByteCount = 0
    }
}
