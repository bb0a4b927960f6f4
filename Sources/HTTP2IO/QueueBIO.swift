import COpenSSL

/// A BIO through which OpenSSL writes straight into a `ByteQueue`.
///
/// A memory BIO would keep the ciphertext in between: one copy more of all that is sent, and its
/// room filled with zeros before.
enum QueueBIO {
    /// - Returns: A BIO without a target, in which writing fails; nil when memory is short.
    static func make() -> OpaquePointer? {
        guard let method = unsafe method, let bio = unsafe BIO_new(method) else { return nil }
        unsafe BIO_set_init(bio, 1)
        return unsafe bio
    }

    /// Gives the BIO a queue to write to while `body` runs.
    static func withTarget(
        _ queue: inout ByteQueue,
        of bio: OpaquePointer,
        _ body: () -> Int32
    ) -> Int32 {
        unsafe withUnsafeMutablePointer(to: &queue) { queue in
            // SAFETY: the queue is lent for the call, and the BIO forgets it at its end.
            unsafe BIO_set_data(bio, queue)
            defer { unsafe BIO_set_data(bio, nil) }
            return body()
        }
    }

    /// SAFETY: made once and only read from then on.
    private nonisolated(unsafe) static let method = unsafe makeMethod()

    private static func makeMethod() -> OpaquePointer? {
        let type = BIO_get_new_index() | BIO_TYPE_SOURCE_SINK
        guard let method = unsafe BIO_meth_new(type, "byte queue") else { return nil }
        unsafe BIO_meth_set_write_ex(method, writeToQueue)
        unsafe BIO_meth_set_ctrl(method, controlQueue)
        return unsafe method
    }
}

/// Appends to the BIO's queue (`BIO_meth_set_write_ex`).
private func writeToQueue(
    bio: OpaquePointer?,
    bytes: UnsafePointer<CChar>?,
    byteCount: Int,
    written: UnsafeMutablePointer<Int>?
) -> Int32 {
    guard let bytes = unsafe bytes, let target = unsafe BIO_get_data(bio) else { return 0 }
    // SAFETY: `withTarget` lent the queue, which nobody else touches meanwhile.
    let queue = unsafe target.assumingMemoryBound(to: ByteQueue.self)
    unsafe bytes.withMemoryRebound(to: UInt8.self, capacity: byteCount) {
        unsafe queue.pointee.append($0, byteCount: byteCount)
    }
    unsafe written?.pointee = byteCount
    return 1
}

/// Answers `BIO_flush`: what is in the queue is as good as sent; all else is not known.
private func controlQueue(
    bio: OpaquePointer?,
    command: Int32,
    number: Int,
    pointer: UnsafeMutableRawPointer?
) -> Int {
    command == BIO_CTRL_FLUSH ? 1 : 0
}
