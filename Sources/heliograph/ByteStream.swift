import Glibc
import Log

/// Standard output cannot be written; the output so far is incomplete.
struct OutputError: Error, CustomStringConvertible {
    /// The `errno` of the write.
    let code: Int32

    /// Whether the reader has closed the pipe, as `head` does; otherwise the disk may be full.
    var isReaderGone: Bool { code == EPIPE }

    var description: String {
        // SAFETY: strerror returns a terminated string, valid until this thread's next call.
        unsafe "standard output: cannot be written: \(String(cString: strerror(code)))"
    }
}

/// A file descriptor read or written in blocks, which bounds the memory used.
struct ByteStream {
    private let fileDescriptor: Int32

    static let input = ByteStream(fileDescriptor: STDIN_FILENO)
    static let output = ByteStream(fileDescriptor: STDOUT_FILENO)

    private init(fileDescriptor: Int32) {
        self.fileDescriptor = fileDescriptor
    }

    /// Opens a file for reading; nil on failure, with the reason in `errno`.
    init?(path: String) {
        fileDescriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        if fileDescriptor < 0 { return nil }
    }

    /// The size of a regular file; nil for pipes, terminals and the like.
    var byteCount: Int? {
        var status = stat()
        guard unsafe fstat(fileDescriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        return status.st_size
    }

    /// Fills the buffer from its start.
    ///
    /// - Returns: The number of bytes read, 0 at the end, nil after an error.
    func read(into buffer: inout [UInt8]) -> Int? {
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe Glibc.read(fileDescriptor, bytes.baseAddress, bytes.count)
            }
            if count >= 0 { return count }
            // Whoever shares a terminal or a pipe may have made it non-blocking.
            if errno == EAGAIN {
                var interest = pollfd(fd: fileDescriptor, events: Int16(POLLIN), revents: 0)
                _ = unsafe poll(&interest, 1, -1)
            } else if errno != EINTR {
                return nil
            }
        }
    }

    /// Reads everything up to the end; nil after an error or beyond the limit.
    func readAll(limit: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while let count = read(into: &block), bytes.count <= limit {
            if count == 0 { return bytes }
            bytes.append(contentsOf: block[..<count])
        }
        return nil
    }

    /// Writes all bytes, however long it takes.
    func write(_ bytes: [UInt8]) throws(OutputError) {
        let code = writeWhole(bytes, to: fileDescriptor, patienceMilliseconds: -1)
        guard code == 0 else { throw OutputError(code: code) }
    }
}
