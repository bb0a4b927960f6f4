package import APNsRules
package import HTTP2IO
package import Vocabulary

extension ClockSkew {
    /// What is wrong with this machine's clock; nil: nothing that anybody need know.
    package var trouble: String? {
        guard isIntolerable, let offset else { return nil }
        let seconds = offset.components.seconds
        return
            "this machine's clock is \(seconds.magnitude) s \(seconds > 0 ? "behind" : "ahead of")"
            + " APNs', which takes no provider token that is an hour off: correct it first"
    }

    /// By one answer; nil if it has no date.
    package init?(of response: HTTP2Response, sentAt: Instant, now: Moment) {
        guard let date = response.text(of: "date").flatMap({ HTTPDate.timestamp($0) }) else {
            return nil
        }
        self.init(date: date, sentAt: sentAt, now: now)
    }
}
