import Glibc
import Service
import Tools

/// The progress of `validate`: one line on standard error, redrawn in place.
///
/// It appears only if standard error is a terminal and standard output is not.
struct ValidationProgress {
    /// The size of the input; nil: unknown.
    private let byteCount: Int?
    private let isShown = isatty(STDERR_FILENO) == 1 && isatty(STDOUT_FILENO) == 0
    private var bytesRead = 0
    private var lastShown: ContinuousClock.Instant?

    init(byteCount: Int?) {
        self.byteCount = byteCount
    }

    /// Counts further bytes read, and redraws the line if it is due.
    mutating func advance(by count: Int, _ summary: ValidationSummary) {
        guard isShown, count > 0 else { return }
        bytesRead += count
        let now = ContinuousClock.now
        if let lastShown, now - lastShown < .milliseconds(200) { return }
        lastShown = now
        Console.draw("heliograph: \(summary.progress(bytesRead: bytesRead, of: byteCount))")
    }

    /// Removes the line, so that others can be printed.
    func erase() {
        if lastShown != nil { Console.draw("") }
    }
}
