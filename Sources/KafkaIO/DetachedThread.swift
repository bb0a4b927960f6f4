import Glibc

/// A thread that nothing waits for.
enum DetachedThread {
    private final class Body {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    /// Runs `body` on a new thread.
    ///
    /// - Returns: false if no thread can be started; then `body` does not run.
    static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        let box = unsafe Unmanaged.passRetained(Body(body))
        var thread = pthread_t()
        // SAFETY: the new thread takes over the reference, and only it uses it.
        let result = unsafe pthread_create(
            &thread,
            nil,
            { context in
                guard let context = unsafe context else { return nil }
                unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                return nil
            },
            box.toOpaque()
        )
        guard result == 0 else {
            unsafe box.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
}
