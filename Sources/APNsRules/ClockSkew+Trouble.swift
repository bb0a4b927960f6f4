public import Vocabulary

extension ClockSkew {
    /// What is wrong with this machine's clock; nil: nothing that anybody need know.
    public var trouble: String? {
        guard isIntolerable, let offset else { return nil }
        let seconds = offset.components.seconds
        return
            "this machine's clock is \(seconds.magnitude) s \(seconds > 0 ? "behind" : "ahead of")"
            + " APNs', which rejects provider tokens that are an hour off; correct the clock first"
    }

    /// By the `date` of one answer; nil if that is none.
    public init?(dateText: String?, sentAt: Instant, now: Moment) {
        guard let date = dateText.flatMap({ HTTPDate.timestamp($0) }) else { return nil }
        self.init(date: date, sentAt: sentAt, now: now)
    }
}
