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

    /// Takes bytes off the beginning of `bytes`, up to the end of a line or all of them.
    ///
    /// - Returns: The line that ends there; nil: the stream's next bytes are wanted.
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

    /// The stream has ended: the last line, if it has no line feed.
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
