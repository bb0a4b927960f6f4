import CNghttp2
import CPrefetch
import Glibc

/// The memory of one nghttp2 session: what is freed is kept for the next object of its size.
///
/// nghttp2 makes five small objects for a request and frees them all when the stream is closed. A
/// turn opens hundreds of streams, many more than malloc's cache of a thread remembers. What is
/// kept is bounded by what the session ever used at once, and goes back when the session ends.
@safe struct SessionMemory: ~Copyable {
    private let lists: UnsafeMutablePointer<FreeLists>

    init() {
        unsafe lists = .allocate(capacity: 1)
        unsafe lists.initialize(to: FreeLists())
    }

    deinit {
        unsafe lists.pointee.giveBack()
        unsafe lists.deinitialize(count: 1)
        unsafe lists.deallocate()
    }

    /// nghttp2's allocator, valid as long as this is; the session copies it.
    var allocator: nghttp2_mem {
        unsafe nghttp2_mem(
            mem_user_data: lists,
            malloc: { size, lists in unsafe freeLists(lists).pointee.allocate(size) },
            free: { block, lists in unsafe freeLists(lists).pointee.free(block) },
            calloc: { count, size, lists in
                unsafe freeLists(lists).pointee.allocateZeros(count, size)
            },
            realloc: { block, size, lists in
                unsafe freeLists(lists).pointee.reallocate(block, size)
            }
        )
    }
}

/// SAFETY: nghttp2 hands the pointer back that `allocator` gave it.
private func freeLists(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<FreeLists> {
    guard let context = unsafe context else { preconditionFailure("an allocator without memory") }
    return unsafe context.assumingMemoryBound(to: FreeLists.self)
}

/// Free blocks by size, each list the newest first.
///
/// A block's size stands before its first byte; a free one's first bytes point to the next. As
/// nghttp2's manual asks, the functions mean what the C library's of their names mean.
@unsafe private struct FreeLists {
    /// Sizes are rounded up to multiples of it; it is a multiple of every alignment.
    private static let step = 64
    /// Larger ones come and go through malloc: buffers of frames, of which a session has few.
    ///
    /// In a debug build all do, so that sanitizers and valgrind see each use of what was freed.
    #if DEBUG
    private static let largestKept = 0
    #else
    private static let largestKept = 512
    #endif
    /// What stands before a block: its size, and what keeps the block aligned.
    private static let headByteCount = 16

    /// By size, in steps.
    private var first = unsafe InlineArray<9, UnsafeMutableRawPointer?>(repeating: nil)

    mutating func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        let steps = unsafe (size &+ Self.step &- 1) / Self.step
        guard unsafe size <= Self.largestKept else { return unsafe make(size) }
        guard let block = unsafe first[steps] else { return unsafe make(steps &* Self.step) }
        let next = unsafe block.load(as: UnsafeMutableRawPointer?.self)
        unsafe first[steps] = next
        // It was freed long ago, and is wanted with the next stream.
        if let next = unsafe next { unsafe hg_prefetch(next, size) }
        return unsafe block
    }

    mutating func free(_ block: UnsafeMutableRawPointer?) {
        guard let block = unsafe block else { return }
        let size = unsafe Self.size(of: block)
        guard unsafe size <= Self.largestKept else {
            return unsafe Glibc.free(block - Self.headByteCount)
        }
        let steps = unsafe size / Self.step
        unsafe block.storeBytes(of: first[steps], as: UnsafeMutableRawPointer?.self)
        unsafe first[steps] = block
    }

    mutating func allocateZeros(_ count: Int, _ size: Int) -> UnsafeMutableRawPointer? {
        let (byteCount, isTooLarge) = count.multipliedReportingOverflow(by: size)
        guard !isTooLarge, let block = unsafe allocate(byteCount) else { return nil }
        unsafe memset(block, 0, byteCount)
        return unsafe block
    }

    mutating func reallocate(
        _ block: UnsafeMutableRawPointer?,
        _ size: Int
    ) -> UnsafeMutableRawPointer? {
        guard let block = unsafe block else { return unsafe allocate(size) }
        let old = unsafe Self.size(of: block)
        if size <= old { return unsafe block }
        guard let larger = unsafe allocate(size) else { return nil }
        unsafe larger.copyMemory(from: block, byteCount: old)
        unsafe free(block)
        return unsafe larger
    }

    /// Frees every block that nobody uses.
    mutating func giveBack() {
        for steps in unsafe first.indices {
            while let block = unsafe first[steps] {
                unsafe first[steps] = block.load(as: UnsafeMutableRawPointer?.self)
                unsafe Glibc.free(block - Self.headByteCount)
            }
        }
    }

    private func make(_ size: Int) -> UnsafeMutableRawPointer? {
        guard let start = unsafe malloc(Self.headByteCount &+ max(size, Self.step)) else {
            return nil
        }
        unsafe start.storeBytes(of: max(size, Self.step), as: Int.self)
        return unsafe start + Self.headByteCount
    }

    /// SAFETY: `make` wrote it there.
    private static func size(of block: UnsafeMutableRawPointer) -> Int {
        unsafe (block - headByteCount).load(as: Int.self)
    }
}
