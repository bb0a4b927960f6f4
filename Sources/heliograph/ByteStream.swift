import Glibc

/// Standard output takes no more, as on a full disk: what stands there is not all.
struct OutputError: Error, CustomStringConvertible {
    let description = "standard output takes no more"
}

/// A file descriptor that is read or written in blocks; blocks are what bounds memory.
struct ByteStream {
    private let fileDescriptor: Int32

    static let input = ByteStream(fileDescriptor: STDIN_FILENO)
    static let output = ByteStream(fileDescriptor: STDOUT_FILENO)

    private init(fileDescriptor: Int32) {
        self.fileDescriptor = fileDescriptor
    }

    /// Opens a file for reading; nil when that is not possible, with the reason in `errno`.
    init?(path: String) {
        fileDescriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        if fileDescriptor < 0 { return nil }
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
            guard errno == EINTR else { return nil }
        }
    }

    /// Everything up to the end; nil after an error, or beyond the limit.
    func readAll(limit: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while let count = read(into: &block), bytes.count <= limit {
            if count == 0 { return bytes }
            bytes.append(contentsOf: block[..<count])
        }
        return nil
    }

    /// Writes everything.
    ///
    /// - Returns: false after an error, such as a reader that has gone, with the reason in `errno`.
    func write(_ bytes: [UInt8]) -> Bool {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { all in
                unsafe Glibc.write(
                    fileDescriptor,
                    all.baseAddress?.advanced(by: written),
                    all.count - written
                )
            }
            if count >= 0 {
                written += count
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }
}
