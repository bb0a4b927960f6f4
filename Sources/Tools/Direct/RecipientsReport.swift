import APNsRules
import HTTP2IO
import Log
import Vocabulary

/// The exchanges of an event with recipients, one line for each of them.
///
/// Like `PushReport`, it contains neither the provider token nor a whole device token.
struct RecipientsReport {
    private let recipients: RecipientList
    private let warnings: [Violation]
    private var heading: [String] = []
    /// By recipient.
    private var results: [Int: String] = [:]
    private var acceptedCount = 0
    private var notSentCount = 0
    /// The answers that are not an acceptance, in order of appearance, and how often each came.
    private var refusals: [(meaning: AnswerMeaning, count: Int)] = []
    /// The exchanges without an answer.
    private var failures: [(text: String, count: Int)] = []

    init(of fanOut: FanOut) {
        recipients = fanOut.recipients
        warnings = fanOut.common.allWarnings
    }

    mutating func head(_ credential: String, _ environment: APNsEnvironment) {
        heading = ["credential \(credential), \(environment.rawValue)"]
    }

    mutating func notSent(_ index: Int, because reason: LocalReason) {
        notSentCount += 1
        results[index] = "not sent: \(reason.rawValue)"
    }

    mutating func notSent(_ index: Int, because invalid: InvalidEvent) {
        notSentCount += 1
        let places = invalid.violations.map { "\($0.instanceLocation): \($0.message)" }
        results[index] = (["not sent: \(invalid.reason.rawValue)"] + places)
            .joined(separator: "; ")
    }

    mutating func answered(_ index: Int, _ answer: Result<DirectExchange.Answer, any Error>) {
        switch answer {
        case .success(let answer):
            let reason = APNsErrorBody(parsing: answer.response.body).reason
            let meaning = AnswerMeaning(
                status: answer.response.status,
                reason: reason,
                kind: .device
            )
            let word = meaning.isAccepted ? "accepted" : reason?.text.printable ?? "refused"
            let time = PushReport.milliseconds(answer.answering)
            results[index] = "\(answer.response.status) \(word), \(time)"
            if meaning.isAccepted {
                acceptedCount += 1
            } else if let known = refusals.firstIndex(where: { $0.meaning.text == meaning.text }) {
                refusals[known].count += 1
            } else {
                refusals.append((meaning, 1))
            }
        case .failure(let error):
            let fate = (error as? LostAnswer).map { "; \($0.fate)" } ?? ""
            results[index] = "no answer\(fate)"
            let text = "\(error)"
            if let known = failures.firstIndex(where: { $0.text == text }) {
                failures[known].count += 1
            } else {
                failures.append((text, 1))
            }
        }
    }

    var finished: PushRun.Report {
        let notes = warnings.map { "! \($0.instanceLocation) \($0.message)" }
        let lines = (0..<recipients.count).map { index in
            "\(index) \(token(at: index)): \(results[index] ?? "not sent")"
        }
        let count = recipients.count
        var sums = ["accepted \(acceptedCount) of \(count)"]
        if notSentCount > 0 { sums.append("not sent \(notSentCount)") }
        let refused = refusals.reduce(0) { $0 + $1.count }
        if refused > 0 { sums.append("refused \(refused)") }
        let lost = failures.reduce(0) { $0 + $1.count }
        if lost > 0 { sums.append("without an answer \(lost)") }
        let meanings = refusals.flatMap { ["", "\($0.count) times:", $0.meaning.text] }
        let causes = failures.flatMap { ["", "\($0.count) times, no answer:", $0.text] }
        return PushRun.Report(
            text: (heading + notes + [""] + lines + ["", sums.joined(separator: ", ")] + meanings
                + causes).joined(separator: "\n"),
            isAccepted: acceptedCount == count
        )
    }

    private func token(at index: Int) -> String {
        guard recipients.status(at: index) != .invalid else { return "(invalid)" }
        return PushReport.shown(token: recipients.deviceToken(at: index).hexadecimal)
    }
}
