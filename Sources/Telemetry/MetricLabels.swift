package import Vocabulary

/// The reason of an outcome as a metric label: a closed list.
///
/// Text that a peer sent never becomes a label, or it could fill the memory of whoever scrapes.
package enum ReasonLabel: Hashable, Sendable, CaseIterable {
    case apns(APNsReason)
    case local(LocalReason)
    /// A reason of APNs that this version does not know.
    case other

    package init(_ reason: Reason) {
        switch reason {
        case .apns(let reason): self = .apns(reason)
        case .local(let reason): self = .local(reason)
        case .unknownAPNs: self = .other
        }
    }

    package static var allCases: [ReasonLabel] {
        APNsReason.allCases.map(ReasonLabel.apns) + LocalReason.allCases.map(ReasonLabel.local)
            + [.other]
    }

    package var text: String {
        switch self {
        case .apns(let reason): reason.rawValue
        case .local(let reason): reason.rawValue
        case .other: "other"
        }
    }

    /// Both lists know a `PayloadTooLarge`, so the label needs its decider too.
    package var decidedBy: Outcome.Decider {
        switch self {
        case .apns, .other: .apns
        case .local: .heliograph
        }
    }
}

/// The reason of an APNs answer or GOAWAY as a metric label.
package enum APNsReasonLabel: Hashable, Sendable, CaseIterable {
    case known(APNsReason)
    /// One that this version does not know.
    case other
    case none

    /// Nil: APNs gave none.
    package init(_ reason: Reason?) {
        switch reason {
        case .apns(let reason): self = .known(reason)
        case .unknownAPNs: self = .other
        case .local, nil: self = .none
        }
    }

    package static var allCases: [APNsReasonLabel] {
        APNsReason.allCases.map(APNsReasonLabel.known) + [.other, .none]
    }

    package var text: String {
        switch self {
        case .known(let reason): reason.rawValue
        case .other: "other"
        case .none: "none"
        }
    }
}

/// What a record that is written to Kafka is.
package enum RecordLabel: String, Hashable, Sendable, CaseIterable {
    case outcome
    case tokenStatus = "token_status"
    case deadLetter = "dead_letter"
    case retry
}

/// The HTTP status of an APNs answer as a metric label: what Apple documents, or `other`.
package enum StatusLabel: Hashable, Sendable, CaseIterable {
    case known(Int)
    case other

    package init(_ status: Int) {
        self = Self.documented.contains(status) ? .known(status) : .other
    }

    package static var allCases: [StatusLabel] { documented.map(StatusLabel.known) + [.other] }

    package var text: String {
        switch self {
        case .known(let status): "\(status)"
        case .other: "other"
        }
    }

    /// "Handling notification responses from APNs", table "Status codes".
    private static let documented = [200, 400, 403, 404, 405, 410, 413, 429, 500, 503]
}

/// How a call to Kafka ended.
package enum CallResult: String, Hashable, Sendable, CaseIterable {
    case ok
    case failed
}
