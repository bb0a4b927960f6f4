import APNsRules
import JSON
import Vocabulary

/// Reads the members of one object in a scenario file.
struct ScenarioReader {
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

    func wrong(_ name: String, _ rule: String) -> ScenarioError {
        ScenarioError(description: "\(path).\(name): \(rule)")
    }

    func integer(
        _ name: String,
        in range: ClosedRange<Int64> = 0...Int64.max
    ) throws(ScenarioError) -> Int64? {
        guard let value = object[name] else { return nil }
        guard let integer = value.integer, range.contains(integer) else {
            throw wrong(
                name,
                range.upperBound == .max
                    ? "not an integer from \(range.lowerBound) up"
                    : "not an integer from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return integer
    }

    func number(_ name: String, in range: ClosedRange<Double>) throws(ScenarioError) -> Double? {
        guard let value = object[name] else { return nil }
        guard let number = value.number.flatMap({ Double($0.text) }), range.contains(number) else {
            throw wrong(name, "not a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func flag(_ name: String) throws(ScenarioError) -> Bool? {
        guard let value = object[name] else { return nil }
        guard let flag = value.bool else { throw wrong(name, "not true or false") }
        return flag
    }

    func text(_ name: String) throws(ScenarioError) -> String? {
        guard let value = object[name] else { return nil }
        guard let text = value.string else { throw wrong(name, "not a string") }
        return text
    }

    func texts(_ name: String) throws(ScenarioError) -> [String]? {
        guard let value = object[name] else { return nil }
        guard let list = value.array else { throw wrong(name, "not an array of strings") }
        let texts = list.compactMap(\.string)
        guard texts.count == list.count else { throw wrong(name, "not an array of strings") }
        return texts
    }

    /// A duration of at most one hour; zero if missing.
    func milliseconds(_ name: String) throws(ScenarioError) -> Duration {
        let value = try integer(name) ?? 0
        guard value <= 3_600_000 else { throw wrong(name, "more than an hour") }
        return .milliseconds(value)
    }

    func environment() throws(ScenarioError) -> APNsEnvironment? {
        guard let value = object["environment"] else { return nil }
        guard let environment = value.string.flatMap(APNsEnvironment.init(rawValue:)) else {
            throw wrong("environment", "production or sandbox")
        }
        return environment
    }

    static let windowMembers = ["from_ms", "until_ms", "every_ms"]

    func window() throws(ScenarioError) -> TimeWindow {
        TimeWindow(
            from: .milliseconds(try integer("from_ms", in: 0...Self.maxMilliseconds) ?? 0),
            until: try integer("until_ms", in: 0...Self.maxMilliseconds).map(Self.duration),
            every: try integer("every_ms", in: 1...Self.maxMilliseconds).map(Self.duration)
        )
    }

    /// 100 days.
    private static let maxMilliseconds: Int64 = 100 * 86_400_000

    private static func duration(_ milliseconds: Int64) -> Duration { .milliseconds(milliseconds) }
}
