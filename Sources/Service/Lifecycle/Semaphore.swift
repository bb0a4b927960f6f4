import Glibc

/// A semaphore of the C library: a signal handler may post it, which nobody promises of
/// `DispatchSemaphore`.
@safe final class Semaphore: Sendable {
    // SAFETY: sem_post and the waits may be called from any thread (sem_overview(7)); the memory is
    // never moved, and freed when nobody can call any more.
    private nonisolated(unsafe) let raw: UnsafeMutablePointer<sem_t>

    /// Has nothing to take.
    init() {
        unsafe raw = .allocate(capacity: 1)
        // SAFETY: the memory is of a sem_t's size. sem_init fails only for too large a value, and
        // where processes are to share the semaphore (sem_init(3)).
        unsafe sem_init(raw, 0, 0)
    }

    deinit {
        unsafe sem_destroy(raw)
        unsafe raw.deallocate()
    }

    /// Async-signal-safe (signal-safety(7)), except `errno`.
    func post() {
        unsafe sem_post(raw)
    }

    /// Waits for a post, and takes it.
    func wait() {
        while unsafe sem_wait(raw) != 0, errno == EINTR {}
    }
}
