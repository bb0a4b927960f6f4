import Glibc
import Service
import Tools

/// How far `validate` is: one line on standard error, drawn over again and again.
///
/// Only on a terminal, and only where the results do not show it already on that same terminal.
struct ValidationProgress {
    /// Of the whole input; nil: nobody knows.
    private let byteCount: Int?
    private let isShown = isatty(STDERR_FILENO) == 1 && isatty(STDOUT_FILENO) == 0
    private var bytesRead = 0
    private var lastShown: ContinuousClock.Instant?

    init(byteCount: Int?) {
        self.byteCount = byteCount
    }

    /// So many bytes more were read; draws the line if it is time to.
    mutating func advance(by count: Int, _ summary: ValidationSummary) {
        guard isShown, count > 0 else { return }
        bytesRead += count
        let now = ContinuousClock.now
        if let lastShown, now - lastShown < .milliseconds(200) { return }
        lastShown = now
        Console.draw("heliograph: \(summary.progress(bytesRead: bytesRead, of: byteCount))")
    }

    /// Makes room for other lines.
    func erase() {
        if lastShown != nil { Console.draw("") }
    }
}
