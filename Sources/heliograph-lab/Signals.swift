import UnixSignals

/// SIGTERM and SIGINT, from the moment that this is made.
struct Signals {
    private let sequence: UnixSignalsSequence

    init() async {
        sequence = await UnixSignalsSequence(trapping: .sigterm, .sigint)
    }

    /// Returns when one of them has come.
    func untilTermination() async {
        for await _ in sequence { return }
    }

    static func untilTermination() async {
        await Signals().untilTermination()
    }
}
