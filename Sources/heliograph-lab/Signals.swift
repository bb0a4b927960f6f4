import Service

/// SIGTERM and SIGINT, from the moment that this is made; a second one ends the process at once.
struct Signals {
    private let signals: ProcessSignals

    init() async {
        signals = ProcessSignals.catching([.terminate, .interrupt])
    }

    /// Returns when one of them has come, or the task is cancelled.
    func untilTermination() async {
        // Nothing else is caught, so the first event is the drain.
        for await _ in signals.events { return }
    }

    static func untilTermination() async {
        await Signals().untilTermination()
    }
}
