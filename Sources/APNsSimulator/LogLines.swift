import Glibc
import JSON

/// Lines of JSON for a descriptor, gathered per turn of the loop.
struct LogLines {
    private let fileDescriptor: Int32
    private var pending: [UInt8] = []

    init(fileDescriptor: Int32) {
        self.fileDescriptor = fileDescriptor
    }

    /// Appends an object and the line's end.
    mutating func append(_ writeMembers: (inout JSONWriter) -> Void) {
        // The writer has the only reference, or each line would copy all the others.
        let gathered = pending
        pending = []
        var writer = JSONWriter(buffer: consume gathered)
        writer.beginObject()
        writeMembers(&writer)
        writer.endObject()
        pending = (consume writer).bytes
        pending.append(UInt8(ascii: "\n"))
    }

    /// Writes what was gathered; lines that the descriptor refuses are lost.
    mutating func flush() {
        var start = 0
        while start < pending.count {
            let written = unsafe pending.withUnsafeBytes { bytes in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[start...])
                // SAFETY: reads as many bytes as given, and keeps no pointer.
                return unsafe write(fileDescriptor, rest.baseAddress, rest.count)
            }
            if written < 0 && errno == EINTR { continue }
            guard written > 0 else { break }
            start += written
        }
        pending.removeAll(keepingCapacity: true)
    }
}
