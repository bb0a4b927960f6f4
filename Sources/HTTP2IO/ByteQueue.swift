/// A byte buffer for output: appended at the end, consumed from the front.
///
/// Not an array, because an array cannot pass uninitialized memory to a C function.
@safe public struct ByteQueue: ~Copyable {
    private var storage: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0

    public init(capacity: Int) {
        unsafe storage = .allocate(byteCount: max(capacity, 64), alignment: 1)
    }

    deinit {
        unsafe storage.deallocate()
    }

    public var count: Int { end - start }
    public var isEmpty: Bool { end == start }

    /// Calls `body` with all queued bytes.
    public func withBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        // SAFETY: start..<end lies in the storage and was written by append.
        try unsafe body(UnsafeRawBufferPointer(rebasing: storage[start..<end]))
    }

    /// Appends a copy of `byteCount` bytes.
    public mutating func append(_ source: UnsafePointer<UInt8>, byteCount: Int) {
        makeRoom(byteCount)
        // SAFETY: makeRoom ensured `byteCount` bytes after `end`; the source is another object.
        unsafe storage.baseAddress?.advanced(by: end)
            .copyMemory(from: source, byteCount: byteCount)
        end += byteCount
    }

    /// Passes `fill` a buffer of `byteCount` bytes; it returns how many it wrote.
    public mutating func append<Failure: Error>(
        upTo byteCount: Int,
        _ fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        makeRoom(byteCount)
        // SAFETY: makeRoom ensured `byteCount` bytes after `end`.
        let written = try unsafe fill(
            UnsafeMutableRawBufferPointer(rebasing: storage[end..<end + byteCount])
        )
        precondition(written >= 0 && written <= byteCount, "more written than lent")
        end += written
    }

    /// Calls `body` with the last `byteCount` bytes, which it may change.
    public mutating func withLast<Value>(
        _ byteCount: Int,
        _ body: (UnsafeMutableRawBufferPointer) -> Value
    ) -> Value {
        precondition(byteCount >= 0 && byteCount <= count, "more lent than queued")
        // SAFETY: start..<end lies in the storage and was written by append.
        return unsafe body(UnsafeMutableRawBufferPointer(rebasing: storage[end - byteCount..<end]))
    }

    /// Removes bytes from the front.
    public mutating func removeFirst(_ byteCount: Int) {
        precondition(byteCount >= 0 && byteCount <= count, "more taken than queued")
        start += byteCount
        if start == end {
            start = 0
            end = 0
        }
    }

    public mutating func removeAll() {
        removeFirst(count)
    }

    public mutating func takeAll() -> [UInt8] {
        let all = unsafe withBytes { unsafe Array($0) }
        removeAll()
        return all
    }

    private mutating func makeRoom(_ byteCount: Int) {
        if unsafe storage.count - end >= byteCount { return }
        if start > 0 {
            // SAFETY: memmove semantics; both ranges lie in the storage.
            unsafe storage.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[start..<end]))
            end -= start
            start = 0
        }
        if unsafe storage.count - end >= byteCount { return }
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: unsafe max(storage.count * 2, end + byteCount),
            alignment: 1
        )
        unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[0..<end]))
        unsafe storage.deallocate()
        unsafe storage = larger
    }
}
