public import Vocabulary

extension ClockSkew {
    /// What is wrong with this machine's clock; nil: nothing worth reporting.
    public var trouble: String? {
        guard isIntolerable, let offset else { return nil }
        let seconds = offset.components.seconds
        return
            "this machine's clock is \(seconds.magnitude) s \(seconds > 0 ? "behind" : "ahead of")"
            + " APNs', which rejects provider tokens that are an hour off; correct the clock first"
    }

    /// Measures the skew from the `date` header of one answer; nil if that is not a date.
    public init?(dateText: String?, sentAt: Instant, now: Moment) {
        guard let date = dateText.flatMap({ HTTPDate.timestamp($0) }) else { return nil }
        self.init(date: date, sentAt: sentAt, now: now)
    }
}
