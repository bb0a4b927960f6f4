import APNsRules
import JSON
import Vocabulary

/// Why a text is no scenario; the message names the rule.
package struct ScenarioError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
}

/// Reads the scenario file that `docs/simulator.md` describes.
package enum ScenarioFile {
    private static let maxStepCount = 10_000
    private static let maxByteCount = 64 << 20

    package static func parse(_ text: [UInt8]) throws(ScenarioError) -> Scenario {
        let root: JSONValue
        do throws(JSONError) {
            root = try JSONValue.parse(text, limits: JSONLimits(maxByteCount: maxByteCount))
        } catch {
            throw ScenarioError(description: "scenario: \(error)")
        }
        let reader = try Reader(
            root,
            path: "scenario",
            allowed: ["default", "latency_ms", "rules"]
        )
        var scenario = Scenario(latency: try reader.milliseconds("latency_ms"))
        if let value = reader["default"] {
            scenario.fallback = try behavior(value, path: "default", naming: [])
        }
        guard let rules = reader["rules"] else { return scenario }
        guard let rules = rules.array else {
            throw ScenarioError(description: "rules: not an array")
        }
        for (index, rule) in rules.enumerated() {
            try add(rule, path: "rules[\(index)]", to: &scenario)
        }
        return scenario
    }

    private static func add(
        _ rule: JSONValue,
        path: String,
        to scenario: inout Scenario
    ) throws(ScenarioError) {
        let behavior = try behavior(rule, path: path, naming: ["token", "prefix"])
        let isNew: Bool
        switch (rule["token"]?.string, rule["prefix"]?.string) {
        case (let token?, nil):
            guard let token = DeviceToken(token) else {
                throw ScenarioError(description: "\(path).token: not an even number of hex digits")
            }
            isNew = scenario.add(token: token.hexadecimal, behavior)
        case (nil, let prefix?):
            guard !prefix.isEmpty, prefix.utf8.allSatisfy(\.isHexDigit) else {
                throw ScenarioError(description: "\(path).prefix: not hex digits")
            }
            isNew = scenario.add(prefix: prefix, behavior)
        default:
            throw ScenarioError(description: "\(path): needs either token or prefix, a string")
        }
        guard isNew else { throw ScenarioError(description: "\(path): a second rule for the same") }
    }

    /// Reads a behaviour; `names` are the members allowed beside those that describe it.
    private static func behavior(
        _ value: JSONValue,
        path: String,
        naming names: [String]
    ) throws(ScenarioError) -> Behavior {
        if let kind = value.string { return try behavior(of: kind, nil, path: path) }
        let members = ["is", "since", "requests", "retry_after", "steps", "repeat", "delay_ms"]
        let reader = try Reader(value, path: path, allowed: names + members + ["environment"])
        guard let kind = reader["is"]?.string else {
            throw ScenarioError(description: "\(path).is: missing, or no string")
        }
        var behavior = try behavior(of: kind, reader, path: path)
        behavior.delay = try reader.milliseconds("delay_ms")
        if let name = reader["environment"] {
            guard let environment = name.string.flatMap(APNsEnvironment.init(rawValue:)) else {
                throw ScenarioError(description: "\(path).environment: production or sandbox")
            }
            behavior.environment = environment
            if kind == "wrongEnvironment" { behavior.then = .accept }
        }
        return behavior
    }

    private static func behavior(
        of kind: String,
        _ reader: Reader?,
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
            let step = Behavior.Step.reason(
                .tooManyRequests,
                retryAfterSeconds: try reader?.integer("retry_after").map(Int.init)
            )
            return Behavior(steps: Array(repeating: step, count: Int(count)))
        case "flaky": return try flaky(reader, path: path)
        default: return Behavior(then: try step(kind, path: "\(path).is"))
        }
    }

    private static func flaky(_ reader: Reader?, path: String) throws(ScenarioError) -> Behavior {
        guard let steps = reader?["steps"]?.array, (1...maxStepCount).contains(steps.count) else {
            throw ScenarioError(description: "\(path).steps: 1 to \(maxStepCount) strings")
        }
        var behavior = Behavior()
        for (index, value) in steps.enumerated() {
            let path = "\(path).steps[\(index)]"
            guard let text = value.string else {
                throw ScenarioError(description: "\(path): no string")
            }
            behavior.steps.append(try step(text, path: path))
        }
        if reader?["repeat"]?.bool == true { behavior.then = nil }
        return behavior
    }

    private static func step(_ text: String, path: String) throws(ScenarioError) -> Behavior.Step {
        switch text {
        case "ok", "200": return .accept
        case "reset": return .reset
        case "refused": return .refusedStream
        case "goaway": return .goAway(nil)
        case "silence": return .silence
        case "close": return .close
        default: break
        }
        if let reason = APNsReason(rawValue: text) { return .reason(reason) }
        let words = text.split(separator: " ", maxSplits: 1)
        if words.count == 2, words[0] == "goaway", let reason = APNsReason(rawValue: "\(words[1])")
        {
            return .goAway(reason)
        }
        if let status = Int(words.first ?? ""), (300...599).contains(status) {
            if words.count == 1 { return .bare(status: status) }
            if words[1] == "html" { return .html(status: status) }
        }
        throw ScenarioError(description: "\(path): \"\(text)\" is no step")
    }
}

/// The members of one object of a scenario file.
private struct Reader {
    private let object: JSONObject
    private let path: String

    init(_ value: JSONValue, path: String, allowed: [String]) throws(ScenarioError) {
        guard let object = value.object else {
            throw ScenarioError(description: "\(path): not an object")
        }
        for member in object.members where !allowed.contains(member.name) {
            throw ScenarioError(description: "\(path).\(member.name): unknown")
        }
        self.object = object
        self.path = path
    }

    subscript(name: String) -> JSONValue? { object[name] }

    func integer(_ name: String) throws(ScenarioError) -> Int64? {
        guard let value = object[name] else { return nil }
        guard let integer = value.integer, integer >= 0 else {
            throw ScenarioError(description: "\(path).\(name): not an integer from 0 up")
        }
        return integer
    }

    /// A duration of at most an hour; zero when missing.
    func milliseconds(_ name: String) throws(ScenarioError) -> Duration {
        let value = try integer(name) ?? 0
        guard value <= 3_600_000 else {
            throw ScenarioError(description: "\(path).\(name): more than an hour")
        }
        return .milliseconds(value)
    }
}
