import Glibc
import JSON

/// JSON lines for a file descriptor, collected during one turn of the loop.
struct LogLines {
    private let fileDescriptor: Int32
    private var pending: [UInt8] = []

    init(fileDescriptor: Int32) {
        self.fileDescriptor = fileDescriptor
    }

    /// Appends one JSON object as a line.
    mutating func append(_ writeMembers: (inout JSONWriter) -> Void) {
        // The writer must hold the only reference, or each line would copy all others.
        let gathered = pending
        pending = []
        var writer = JSONWriter(buffer: consume gathered)
        writer.beginObject()
        writeMembers(&writer)
        writer.endObject()
        pending = (consume writer).bytes
        pending.append(UInt8(ascii: "\n"))
    }

    /// Writes the collected lines; lines that cannot be written are lost.
    mutating func flush() {
        var start = 0
        while start < pending.count {
            let written = unsafe pending.withUnsafeBytes { bytes in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[start...])
                // SAFETY: write reads the given number of bytes, and keeps no pointer.
                return unsafe write(fileDescriptor, rest.baseAddress, rest.count)
            }
            if written < 0 && errno == EINTR { continue }
            guard written > 0 else { break }
            start += written
        }
        pending.removeAll(keepingCapacity: true)
    }
}
