import UnixSignals

/// SIGTERM and SIGINT.
enum Signals {
    /// Returns when one of them has come.
    static func untilTermination() async {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        for await _ in signals { return }
    }
}
