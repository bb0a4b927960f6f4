import APNsRules
import Testing
import Tools
import Vocabulary

/// The commands' explanation of an answer matches the service's decision.
@Suite struct AnswerMeaningTests {
    private static let statuses = [
        0, 100, 103, 199, 200, 201, 202, 204, 206, 299, 300, 301, 304, 400, 401, 403, 404, 405, 408,
        409, 410, 413, 418, 421, 429, 499, 500, 501, 502, 503, 504, 599, 600, 999,
    ]
    private static let reasons: [Reason?] =
        [nil, .unknownAPNs("BadMood"), .unknownAPNs("badDeviceToken")]
        + APNsReason.allCases.map(Reason.apns)

    /// The values after `name` in the text.
    private func values(_ name: String, in text: String) -> [String] {
        text.split(separator: "\n").compactMap { line in
            let words = line.drop { $0 == " " }
            guard words.hasPrefix("\(name):") else { return nil }
            return String(words.dropFirst(name.count + 1).drop { $0 == " " })
        }
    }

    @Test(arguments: RequestKind.allCases)
    func `the explanation of each status and reason matches the verdict`(kind: RequestKind) {
        for status in Self.statuses {
            for reason in Self.reasons {
                let verdict = Verdict.classify(status: status, reason: reason, kind: kind)
                let meaning = AnswerMeaning(status: status, reason: reason, kind: kind)
                let comment = Comment(rawValue: "\(status) \(reason?.text ?? "none")")
                #expect(meaning.verdict == verdict, comment)
                #expect(meaning.isAccepted == (verdict.disposition == .delivered), comment)
                #expect(
                    values("Token action", in: meaning.text) == [verdict.tokenAction.rawValue],
                    comment
                )
                #expect(values("At fault", in: meaning.text) == [verdict.fault.rawValue], comment)
                let action =
                    kind == .device
                    ? verdict.disposition.meaning : verdict.disposition.broadcastMeaning
                #expect(values("Heliograph", in: meaning.text) == [action], comment)
                #expect(meaning.text.hasPrefix("\(meaning.heading)\n"), comment)
                // The heading contains a reason without a remark only if the reason decides.
                let row = ReasonTable.row(status: status, reason: reason, kind: kind)
                let decides = row.reason.map(Reason.apns) == reason && reason != nil
                #expect(meaning.heading.contains(" (APNs, status ") == decides, comment)
            }
        }
    }

    @Test(
        arguments: [
            (410, "Unregistered", "Unregistered (APNs, status 410)"),
            (
                400, "Unregistered",
                "status 400 with 'Unregistered', which belongs to 410: the status decides"
            ),
            (
                500, "Unregistered",
                "status 500 with 'Unregistered', which belongs to 410: the status decides"
            ),
            (
                410, "BadDeviceToken",
                "status 410 with 'BadDeviceToken', which belongs to 400: the status decides"
            ),
            (
                400, "badDeviceToken",
                "status 400 with 'badDeviceToken', an unknown reason; the status decides"
            ),
            (
                400, "MissingChannelId",
                "status 400 with 'MissingChannelId', an unknown reason; the status decides"
            ),
            (503, nil, "status 503, without a reason"),
            (
                400, "\u{1B}[2J\n",
                "status 400 with '?[2J?', an unknown reason; the status decides"
            ),
        ] as [(Int, String?, String)]
    )
    func `the heading shows whether status or reason decides`(
        status: Int,
        reason: String?,
        heading: String
    ) {
        let meaning = AnswerMeaning(
            status: status,
            reason: reason.map(Reason.init(apnsText:)),
            kind: .device
        )
        #expect(meaning.heading == heading)
    }
}
