import Glibc

/// A POSIX semaphore, which a signal handler may post.
///
/// `DispatchSemaphore` does not guarantee that.
@safe final class Semaphore: Sendable {
    // SAFETY: sem_post and the waits may be called from any thread (sem_overview(7)); the memory
    // never moves, and is freed when no further call is possible.
    private nonisolated(unsafe) let raw: UnsafeMutablePointer<sem_t>

    /// Makes a semaphore with the value 0.
    init() {
        unsafe raw = .allocate(capacity: 1)
        // SAFETY: the memory has the size of a sem_t. sem_init fails only for too large a value, or
        // if processes share the semaphore (sem_init(3)).
        unsafe sem_init(raw, 0, 0)
    }

    deinit {
        unsafe sem_destroy(raw)
        unsafe raw.deallocate()
    }

    /// Posts; async-signal-safe (signal-safety(7)), except for `errno`.
    func post() {
        unsafe sem_post(raw)
    }

    /// Waits for a post, and consumes it.
    func wait() {
        while unsafe sem_wait(raw) != 0, errno == EINTR {}
    }
}
