public import Vocabulary

/// The times of an event's stages, as headers from which trace spans can be created.
///
/// All are derived from one wall clock reading and monotonic differences, so that no span is
/// negative.
public struct DeliveryTimes: Hashable, Sendable {
    private let receivedAt: Moment
    private let sentAt: Instant?
    private let answeredAt: Instant?

    /// Takes the times of the last attempt; an older answer belongs to an earlier one and is
    /// dropped.
    public init(receivedAt: Moment, sentAt: Instant?, answeredAt: Instant?) {
        self.receivedAt = receivedAt
        self.sentAt = sentAt
        if let sentAt, let answeredAt, answeredAt >= sentAt {
            self.answeredAt = answeredAt
        } else {
            self.answeredAt = nil
        }
    }

    /// `received-us`, `sent-us`, `answered-us`: decimal microseconds since 1970-01-01 UTC.
    ///
    /// A stage that did not happen has no header. The first time is only exact to a millisecond.
    public var headers: [RecordHeader] {
        let stations = [
            ("received-us", receivedAt.instant), ("sent-us", sentAt), ("answered-us", answeredAt),
        ]
        return stations.compactMap { name, instant in
            instant.map { RecordHeader(name, "\(microseconds(of: $0))") }
        }
    }

    private func microseconds(of instant: Instant) -> Int64 {
        let elapsed = (instant - receivedAt.instant).nanoseconds / 1000
        return receivedAt.timestamp.milliseconds &* 1000 &+ elapsed
    }
}
