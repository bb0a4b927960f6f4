import Glibc

/// A failed system call.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The C name of the call.
    public let call: String
    /// The call's `errno`.
    public let code: Int32

    public init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    /// The failure of a call, with the current `errno`.
    public static func last(_ call: String) -> SystemError {
        SystemError(call: call, code: errno)
    }

    /// The text of `strerror(3)`.
    public var text: String { systemErrorText(code) }

    public var description: String { "\(call): \(text)" }
}

/// The text of `strerror(3)`.
public func systemErrorText(_ code: Int32) -> String {
    // SAFETY: strerror returns a string that lives until this thread's next call (glibc 2.32).
    guard let text = unsafe strerror(code) else { return "error \(code)" }
    return unsafe String(cString: text)
}

/// Repeats `body` while a signal interrupts it.
///
/// - Returns: The result of `body`; -1 with `errno` set is a failure.
@inline(__always)
public func retryingOnInterrupt<Value: SignedInteger>(_ body: () -> Value) -> Value {
    while true {
        let value = body()
        if value != -1 || errno != EINTR { return value }
    }
}
