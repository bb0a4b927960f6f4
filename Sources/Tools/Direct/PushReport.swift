import APNsRules
import HTTP2IO
import Log
import Vocabulary

/// One notification's exchange with APNs, formatted for people.
package struct PushReport {
    let credential: String
    let environment: APNsEnvironment
    let kind: RequestKind
    let request: HeaderBlock
    let warnings: [Violation]
    let answer: DirectExchange.Answer

    /// Whether APNs accepted the notification.
    package var isAccepted: Bool { meaning.isAccepted }

    /// The request, the response, and its meaning.
    ///
    /// It contains neither the provider token nor the whole device token, since it may be pasted
    /// into tickets and chats.
    package var text: String {
        (requestLines + timeLines + responseLines + clockLines + meaningLines).joined(
            separator: "\n"
        )
    }

    private var requestLines: [String] {
        let fields = request.fields.map { field in
            let name = String(decoding: request.bytes[field.name], as: UTF8.self)
            let value = String(decoding: request.bytes[field.value], as: UTF8.self)
            return "> \(name): \(Self.shown(value, of: name))"
        }
        let notes = warnings.map { "! \($0.instanceLocation) \($0.message)" }
        return ["credential \(credential), \(environment.rawValue)"] + fields + notes
    }

    private static func shown(_ value: String, of name: String) -> String {
        switch name {
        case "authorization": return "bearer (hidden)"
        case ":path":
            let device = "/3/device/"
            guard value.hasPrefix(device) else { return value }
            return device + shown(token: value.dropFirst(device.count))
        default: return value
        }
    }

    /// Enough of a device token to recognize it.
    static func shown(token: some StringProtocol) -> String {
        guard token.count > 12 else { return String(token) }
        return "\(token.prefix(4))…\(token.suffix(4)) (\(token.count) digits)"
    }

    private var timeLines: [String] {
        [
            "",
            "address \(answer.address)",
            "time    name \(Self.milliseconds(answer.resolving)), "
                + "connection \(Self.milliseconds(answer.connecting)), "
                + "answer \(Self.milliseconds(answer.answering))",
            "",
        ]
    }

    static func milliseconds(_ duration: Duration) -> String {
        let tenths = Int((duration / .milliseconds(1) * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) ms"
    }

    /// Limits for what is shown: APNs' headers have about 40 bytes and its bodies about 60, but a
    /// proxy's answer may be longer.
    private static let maxHeaderByteCount = 1024
    private static let maxBodyByteCount = APNsErrorBody.maxByteCount

    private var responseLines: [String] {
        let response = answer.response
        let fields = response.headers.map { header in
            "< \(header.name): \(header.value)".cut(toByteCount: Self.maxHeaderByteCount)
        }
        // Prefixed, so that no line of the body looks like one of the report.
        let body = String(decoding: response.body, as: UTF8.self)
            .cut(toByteCount: Self.maxBodyByteCount)
            .split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            .map { "| \($0)" }
        return ["< :status: \(response.status)"] + fields
            + (response.body.isEmpty ? [] : [""] + body) + [""]
    }

    private var clockLines: [String] {
        answer.clockTrouble.map { ["! \($0)", ""] } ?? []
    }

    private var meaning: AnswerMeaning {
        AnswerMeaning(
            status: answer.response.status,
            reason: APNsErrorBody(parsing: answer.response.body).reason,
            kind: kind
        )
    }

    private var meaningLines: [String] {
        guard isAccepted else { return [meaning.text] }
        let shown =
            kind == .device
            ? "APNs does not report whether the device shows it."
            : "APNs does not report which devices show it."
        let accepted = "accepted: APNs has it. \(shown)"
        return answer.response.status == 200 ? [accepted] : [accepted, "", meaning.text]
    }
}
