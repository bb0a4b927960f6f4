import JSON
import Vocabulary

/// The members of an outcome from `topic` to `http_status`, as they stand in its JSON object.
///
/// Most outcomes have those of the one before, and then nothing is written anew.
struct VerdictText: Sendable {
    private(set) var utf8: [UInt8] = []
    private var topic: APNsTopic?
    private var pushType: PushType?
    private var environment: APNsEnvironment?
    private var credential: String?
    private var kind = OutcomeKind.invalid
    private var reason: Reason?
    private var decidedBy = Outcome.Decider.heliograph
    private var tokenAction = TokenAction.keep
    private var httpStatus: Int?

    mutating func set(_ outcome: Outcome) {
        if !utf8.isEmpty, isOf(outcome) { return }
        topic = outcome.subject.topic
        pushType = outcome.subject.pushType
        environment = outcome.subject.environment
        credential = outcome.credential
        kind = outcome.kind
        reason = outcome.reason
        decidedBy = outcome.decidedBy
        tokenAction = outcome.tokenAction
        httpStatus = outcome.httpStatus
        write()
    }

    private func isOf(_ outcome: Outcome) -> Bool {
        kind == outcome.kind && httpStatus == outcome.httpStatus
            && tokenAction == outcome.tokenAction && decidedBy == outcome.decidedBy
            && pushType == outcome.subject.pushType && environment == outcome.subject.environment
            && Self.isSame(reason?.text, outcome.reason?.text)
            && Self.isSame(topic?.name, outcome.subject.topic?.name)
            && Self.isSame(credential, outcome.credential)
    }

    private static func isSame(_ left: String?, _ right: String?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return left.hasSameBytes(as: right)
    }

    private mutating func write() {
        utf8.removeAll(keepingCapacity: true)
        var writer = JSONWriter(buffer: utf8)
        utf8 = []
        writer.member("topic", topic?.name)
        writer.member("push_type", plain: pushType?.rawValue)
        writer.member("environment", plain: environment?.rawValue)
        writer.member("credential", credential)
        writer.member("outcome", plain: kind.rawValue)
        writer.member("reason", reason?.text)
        writer.member("decided_by", plain: decidedBy.rawValue)
        writer.member("token_action", plain: tokenAction.rawValue)
        if let httpStatus { writer.member("http_status", Int64(httpStatus)) }
        utf8 = writer.bytes
    }
}
