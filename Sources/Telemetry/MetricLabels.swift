public import Vocabulary

/// A label in a closed list, which knows its position.
public protocol MetricLabel: Hashable, Sendable, CaseIterable where AllCases == [Self] {
    /// The position in `allCases`.
    var position: Int { get }
}

/// The reason of an outcome as a metric label, from a closed list.
///
/// Text from a peer never becomes a label: it could fill the memory of every scraper.
public enum ReasonLabel: MetricLabel {
    case apns(APNsReason)
    case local(LocalReason)
    /// An APNs reason that this version does not know.
    case other

    public init(_ reason: Reason) {
        switch reason {
        case .apns(let reason): self = .apns(reason)
        case .local(let reason): self = .local(reason)
        case .unknownAPNs: self = .other
        }
    }

    public static var allCases: [ReasonLabel] {
        APNsReason.allCases.map(ReasonLabel.apns) + LocalReason.allCases.map(ReasonLabel.local)
            + [.other]
    }

    public var position: Int {
        switch self {
        case .apns(let reason): Positions.ofAPNs[reason, default: 0]
        case .local(let reason): Positions.ofAPNs.count + Positions.ofLocal[reason, default: 0]
        case .other: Positions.ofAPNs.count + Positions.ofLocal.count
        }
    }

    public var text: String {
        switch self {
        case .apns(let reason): reason.rawValue
        case .local(let reason): reason.rawValue
        case .other: "other"
        }
    }

    /// Both lists contain `PayloadTooLarge`, so the label also needs its decider.
    public var decidedBy: Outcome.Decider {
        switch self {
        case .apns, .other: .apns
        case .local: .heliograph
        }
    }
}

/// The reason in an APNs answer or GOAWAY as a metric label.
public enum APNsReasonLabel: MetricLabel {
    case known(APNsReason)
    /// A reason that this version does not know.
    case other
    case none

    /// Nil: APNs gave no reason.
    public init(_ reason: Reason?) {
        switch reason {
        case .apns(let reason): self = .known(reason)
        case .unknownAPNs: self = .other
        case .local, nil: self = .none
        }
    }

    public static var allCases: [APNsReasonLabel] {
        APNsReason.allCases.map(APNsReasonLabel.known) + [.other, .none]
    }

    public var position: Int {
        switch self {
        case .known(let reason): Positions.ofAPNs[reason, default: 0]
        case .other: Positions.ofAPNs.count
        case .none: Positions.ofAPNs.count + 1
        }
    }

    public var text: String {
        switch self {
        case .known(let reason): reason.rawValue
        case .other: "other"
        case .none: "none"
        }
    }
}

/// How an event's credential authenticates with APNs.
public enum CredentialClassLabel: String, MetricLabel {
    case providerToken = "provider_token"
    case certificate
    /// No credential covers the event, or it is unknown.
    case none

    public var position: Int {
        switch self {
        case .providerToken: 0
        case .certificate: 1
        case .none: 2
        }
    }
}

/// Where an event came from when it ended.
public enum RoundLabel: String, MetricLabel {
    /// Its source.
    case first
    /// A retry topic.
    case later

    public var position: Int {
        switch self {
        case .first: 0
        case .later: 1
        }
    }
}

/// The kind of a record written to Kafka.
public enum RecordLabel: String, MetricLabel {
    case outcome
    case tokenStatus = "token_status"
    case deadLetter = "dead_letter"
    case retry
    case campaignTally = "campaign_tally"

    public var position: Int {
        switch self {
        case .outcome: 0
        case .tokenStatus: 1
        case .deadLetter: 2
        case .retry: 3
        case .campaignTally: 4
        }
    }
}

/// The HTTP status of an APNs answer as a metric label: one of a closed list, or `other`.
public struct StatusLabel: MetricLabel {
    public let position: Int

    public init(_ status: Int) {
        position = Self.listed.firstIndex(of: status) ?? Self.listed.count
    }

    private init(position: Int) {
        self.position = position
    }

    public static var allCases: [StatusLabel] {
        (0...listed.count).map(StatusLabel.init(position:))
    }

    public var text: String {
        position < Self.listed.count ? "\(Self.listed[position])" : "other"
    }

    /// The statuses in "Handling notification responses from APNs", table "Status codes", and those
    /// that a gateway in front of APNs adds.
    private static let listed = [200, 400, 403, 404, 405, 410, 413, 429, 500, 502, 503, 504]
}

/// How a stream to APNs ended without an answer, as a metric label.
public enum BrokenStreamLabel: String, MetricLabel {
    /// REFUSED_STREAM: not processed.
    case refused
    case reset
    /// The response was malformed.
    case malformed
    /// It was above a GOAWAY's last stream, or never sent.
    case unprocessed
    /// Its connection ended.
    case lost

    public var position: Int {
        switch self {
        case .refused: 0
        case .reset: 1
        case .malformed: 2
        case .unprocessed: 3
        case .lost: 4
        }
    }
}

/// The result of a call or change.
public enum CallResult: String, MetricLabel {
    case ok
    case failed

    public var position: Int {
        switch self {
        case .ok: 0
        case .failed: 1
        }
    }
}

/// Why Kafka did not have the next offset to read.
public enum LostOffsetLabel: String, MetricLabel {
    case deleted
    case cut
    case replaced

    public var position: Int {
        switch self {
        case .deleted: 0
        case .cut: 1
        case .replaced: 2
        }
    }
}

extension RecordFraming: MetricLabel {
    public var position: Int {
        switch self {
        case .plain: 0
        case .cloudEventsBinary: 1
        case .cloudEventsStructured: 2
        case .confluent: 3
        case .unreadable: 4
        }
    }
}

extension OutcomeKind: MetricLabel {}

/// The positions in the longer lists.
private enum Positions {
    static let ofAPNs = positions(APNsReason.allCases)
    static let ofLocal = positions(LocalReason.allCases)

    private static func positions<Reason: Hashable>(_ list: [Reason]) -> [Reason: Int] {
        Dictionary(uniqueKeysWithValues: zip(list, 0...))
    }
}
