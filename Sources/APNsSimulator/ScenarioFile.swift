import JSON
import Vocabulary

/// Why a text is not a valid scenario; the description names the rule.
package struct ScenarioError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
}

/// Reads the scenario file that `docs/simulator.md` describes.
package enum ScenarioFile {
    private static let maxByteCount = 64 << 20
    private static let members = [
        "default", "latency_ms", "rules", "faults", "connections", "seed", "strictness",
        "settings", "throttle", "device_rate", "idle_timeout_ms", "storage_loss", "clock_offset_s",
        "teams",
        "revoked_certificates", "max_channels", "apps_without_broadcast",
    ]

    package static func parse(_ text: [UInt8]) throws(ScenarioError) -> Scenario {
        let root: JSONValue
        do throws(JSONError) {
            root = try JSONValue.parse(text, limits: JSONLimits(maxByteCount: maxByteCount))
        } catch {
            throw ScenarioError(description: "scenario: \(error)")
        }
        let reader = try ScenarioReader(root, path: "scenario", allowed: members)
        var scenario = Scenario(latency: try reader.milliseconds("latency_ms"))
        if let value = reader["default"] {
            scenario.fallback = try behavior(value, path: "default", naming: [])
        }
        for (path, rule) in try list("rules", reader) { try add(rule, path: path, to: &scenario) }
        for (path, value) in try list("faults", reader) {
            scenario.faults.append(try fault(value, path: path))
        }
        for (path, value) in try list("connections", reader) {
            scenario.connectionRules.append(try connectionRule(value, path: path))
        }
        try readSwitches(reader, into: &scenario)
        try readFacts(reader, into: &scenario)
        return scenario
    }

    /// Reads what APNs knows in addition to device tokens.
    private static func readFacts(
        _ reader: ScenarioReader,
        into scenario: inout Scenario
    ) throws(ScenarioError) {
        if let seed = try reader.integer("seed") { scenario.seed = UInt64(seed) }
        let day: Int64 = 86400
        if let offset = try reader.integer("clock_offset_s", in: -100 * day...100 * day) {
            scenario.clockOffset = .seconds(offset)
        }
        for digest in try reader.texts("revoked_certificates") ?? [] {
            let text = digest.lowercased().filter { $0 != ":" }
            guard text.utf8.count == 64, text.utf8.allSatisfy(\.isHexDigit) else {
                throw reader.wrong("revoked_certificates", "SHA-256 in hexadecimal")
            }
            scenario.revokedCertificates.insert(text)
        }
        if let count = try reader.integer("max_channels", in: 0...1_000_000) {
            scenario.maxChannels = Int(count)
        }
        scenario.appsWithoutBroadcast = Set(try reader.texts("apps_without_broadcast") ?? [])
        guard let teams = reader["teams"] else { return }
        guard let members = teams.object?.members else {
            throw reader.wrong("teams", "not an object")
        }
        let team = try ScenarioReader(teams, path: "teams", allowed: members.map(\.name))
        for member in members {
            scenario.teams[member.name] = Set(try team.texts(member.name) ?? [])
        }
    }

    private static func list(
        _ name: String,
        _ reader: ScenarioReader
    ) throws(ScenarioError) -> [(path: String, value: JSONValue)] {
        guard let value = reader[name] else { return [] }
        guard let list = value.array else {
            throw ScenarioError(description: "\(name): not an array")
        }
        return list.enumerated().map { ("\(name)[\($0.offset)]", $0.element) }
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
        guard isNew else { throw ScenarioError(description: "\(path): duplicate rule; remove one") }
    }
}
