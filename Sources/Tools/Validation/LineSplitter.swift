/// Splits a stream of bytes into lines; the maximum line length bounds the memory used.
///
/// A line ends with a line feed; the last one may end with the stream. Longer lines are counted and
/// discarded.
struct LineSplitter {
    enum Line: Hashable {
        case text([UInt8])
        /// A line longer than the limit, with its total size.
        case tooLong(byteCount: Int)
    }

    private let maxByteCount: Int
    private var pending: [UInt8] = []
    /// The size of the current line; larger than `pending` once that was discarded.
    private var pendingByteCount = 0

    init(maxByteCount: Int) {
        self.maxByteCount = maxByteCount
    }

    /// Consumes bytes from the start of `bytes`, up to the end of a line or all of them.
    ///
    /// - Returns: The line that ends there; nil: more bytes are needed.
    mutating func next(in bytes: inout ArraySlice<UInt8>) -> Line? {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else {
            append(bytes)
            bytes = []
            return nil
        }
        append(bytes[..<end])
        bytes = bytes[(end + 1)...]
        return endLine()
    }

    /// Ends the stream and returns the last line, if it has no line feed.
    mutating func finish() -> Line? {
        pendingByteCount > 0 ? endLine() : nil
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>) {
        pendingByteCount += bytes.count
        if pendingByteCount <= maxByteCount {
            pending.append(contentsOf: bytes)
        } else {
            pending = []
        }
    }

    private mutating func endLine() -> Line {
        let isTooLong = pendingByteCount > maxByteCount
        let line = isTooLong ? Line.tooLong(byteCount: pendingByteCount) : .text(pending)
        pending = []
        pendingByteCount = 0
        return line
    }
}
