import HTTP2IO
import JSON
import Vocabulary

/// Reads behaviors, faults and their steps.
extension ScenarioFile {
    private static let maxStepCount = 10_000

    /// Reads a behavior; `names` are further members that the object may have.
    static func behavior(
        _ value: JSONValue,
        path: String,
        naming names: [String]
    ) throws(ScenarioError) -> Behavior {
        if let kind = value.string { return try behavior(of: kind, nil, path: path) }
        let members = [
            "is", "since", "requests", "retry_after", "steps", "repeat", "delay_ms", "environment",
            "offline",
        ]
        let reader = try ScenarioReader(value, path: path, allowed: names + members)
        guard let kind = reader["is"]?.string else {
            throw ScenarioError(description: "\(path).is: missing or not a string")
        }
        var behavior = try behavior(of: kind, reader, path: path)
        behavior.delay = try reader.milliseconds("delay_ms")
        behavior.retryAfterSeconds = try reader.integer("retry_after").map(Int.init)
        behavior.isOffline = try reader.flag("offline") ?? false
        if let environment = try reader.environment() {
            behavior.environment = environment
            if kind == "wrongEnvironment" { behavior.then = .accept }
        }
        return behavior
    }

    private static func behavior(
        of kind: String,
        _ reader: ScenarioReader?,
        path: String
    ) throws(ScenarioError) -> Behavior {
        switch kind {
        case "alive": return .alive
        case "unregistered":
            let since = Timestamp(milliseconds: try reader?.integer("since") ?? 0)
            return Behavior(then: .reason(.unregistered, since: since))
        case "expired":
            let since = Timestamp(milliseconds: try reader?.integer("since") ?? 0)
            return Behavior(then: .reason(.expiredToken, since: since))
        case "badDeviceToken", "wrongEnvironment": return Behavior(then: .reason(.badDeviceToken))
        case "notForTopic": return Behavior(then: .reason(.deviceTokenNotForTopic))
        case "rateLimited":
            let count = try reader?.integer("requests") ?? 1
            guard (1...Int64(maxStepCount)).contains(count) else {
                throw ScenarioError(description: "\(path).requests: 1 to \(maxStepCount)")
            }
            return Behavior(steps: Array(repeating: .reason(.tooManyRequests), count: Int(count)))
        case "flaky": return try flaky(reader, path: path)
        default: return Behavior(then: try step(kind, path: "\(path).is"))
        }
    }

    private static func flaky(
        _ reader: ScenarioReader?,
        path: String
    ) throws(ScenarioError) -> Behavior {
        guard let steps = reader?["steps"]?.array, (1...maxStepCount).contains(steps.count) else {
            throw ScenarioError(description: "\(path).steps: 1 to \(maxStepCount) strings")
        }
        var behavior = Behavior()
        for (index, value) in steps.enumerated() {
            let path = "\(path).steps[\(index)]"
            guard let text = value.string else {
                throw ScenarioError(description: "\(path): not a string")
            }
            behavior.steps.append(try step(text, path: path))
        }
        if reader?["repeat"]?.bool == true { behavior.then = nil }
        return behavior
    }

    static func step(_ text: String, path: String) throws(ScenarioError) -> Behavior.Step {
        switch text {
        case "ok", "200": return .accept
        case "reset": return .reset(.internalError)
        case "refused": return .reset(.refusedStream)
        case "silence": return .silence
        case "500 json": return .reason(.internalServerError)
        case "503 json": return .reason(.serviceUnavailable)
        default: break
        }
        if let fault = ConnectionFault(text) { return .connection(fault) }
        if let reason = APNsReason(rawValue: text) { return .reason(reason) }
        let words = text.split(separator: " ", maxSplits: 1)
        if words.count == 2, words[0] == "reset", let code = errorCodes[String(words[1])] {
            return .reset(code)
        }
        if let status = Int(words.first ?? ""), (300...599).contains(status) {
            if words.count == 1 { return .bare(status: status) }
            if words[1] == "html" { return .html(status: status) }
        }
        throw ScenarioError(description: "\(path): \"\(text)\" is not a step")
    }

    /// The error codes of RFC 9113, section 7.
    private static let errorCodes: [String: HTTP2ErrorCode] = [
        "NO_ERROR": .noError, "PROTOCOL_ERROR": .protocolError, "INTERNAL_ERROR": .internalError,
        "FLOW_CONTROL_ERROR": .flowControlError, "STREAM_CLOSED": .streamClosed,
        "REFUSED_STREAM": .refusedStream, "CANCEL": .cancel,
        "ENHANCE_YOUR_CALM": .enhanceYourCalm,
    ]

    // MARK: Faults

    static func fault(_ value: JSONValue, path: String) throws(ScenarioError) -> FaultRule {
        let members = ["is", "share", "delay_ms", "retry_after", "environment"]
        let reader = try ScenarioReader(
            value,
            path: path,
            allowed: members + ScenarioReader.windowMembers
        )
        guard let text = try reader.text("is") else { throw reader.wrong("is", "missing") }
        return FaultRule(
            share: try reader.number("share", in: 0...1) ?? 1,
            step: try step(text, path: "\(path).is"),
            delay: try reader.milliseconds("delay_ms"),
            retryAfterSeconds: try reader.integer("retry_after").map(Int.init),
            window: try reader.window(),
            environment: try reader.environment()
        )
    }

    static func connectionRule(
        _ value: JSONValue,
        path: String
    ) throws(ScenarioError) -> ConnectionRule {
        let reader = try ScenarioReader(
            value,
            path: path,
            allowed: ["is", "streams", "environment"] + ScenarioReader.windowMembers
        )
        guard let text = try reader.text("is") else { throw reader.wrong("is", "missing") }
        let effect: ConnectionRule.Effect
        switch text {
        case "refuse tls": effect = .refuseTLS
        case "limit streams":
            effect = .limitStreams(UInt32(try reader.integer("streams", in: 0...1_000_000) ?? 1))
        default:
            guard let fault = ConnectionFault(text) else {
                throw reader.wrong("is", "\"\(text)\" is not a fault of connections")
            }
            effect = .onOpening(fault)
        }
        return ConnectionRule(
            effect,
            window: try reader.window(),
            environment: try reader.environment()
        )
    }
}
