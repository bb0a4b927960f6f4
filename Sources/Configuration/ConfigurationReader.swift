import Spelling
import Vocabulary
import YAML

/// A configuration key, as described in the reference documentation.
package struct KeyDefinition: Hashable, Sendable {
    /// Entries of lists are written as `[]`, as in `apns.credentials[].key_file`.
    package var path: String
    package var type: String
    /// Nil: the key must be set.
    package var defaultText: String?
    package var documentation: String
}

/// An effective value, as printed in the summary.
package struct EffectiveValue: Hashable, Sendable {
    package var path: String
    package var text: String
}

/// The state shared by all sections: the two sources, and what was found in them.
///
/// Each key is defined once, where `Configuration` reads it. The names of environment variables,
/// the list of known keys, the reference documentation and the summary are all derived from that
/// call.
final class ConfigurationReader {
    let file: ConfigurationFile
    let environment: [String: String]
    /// The variable `NO_PROXY`, which many systems set for every process.
    let noProxy: String?
    /// Whether to collect only the definitions, and to read no values.
    let isDescribing: Bool

    private(set) var problems: [ConfigurationProblem]
    private(set) var definitions: [KeyDefinition] = []
    private(set) var effectiveValues: [EffectiveValue] = []
    private var definedPaths: Set<String> = []
    private var knownVariables: Set = [Configuration.fileVariable]
    private(set) var locations: [String: ConfigurationLocation] = [:]
    /// The paths of invalid values, known once all are read.
    private var unsoundPaths: Set<String> = []
    /// The same paths, and those of everything that contains them.
    private var unsoundWholes: Set<String> = []

    init(file: ConfigurationFile, environment: [String: String], isDescribing: Bool = false) {
        self.file = file
        self.environment = environment.filter { $0.key.hasPrefix(Self.prefix) }
        noProxy = environment["NO_PROXY"] ?? environment["no_proxy"]
        self.isDescribing = isDescribing
        problems = file.problems
    }

    static let prefix = "HELIOGRAPH_"

    /// The root of the file.
    func root() -> ConfigurationSection {
        ConfigurationSection(reader: self, path: [], setting: setting(file.root))
    }

    // MARK: Called by sections

    func define(_ definition: KeyDefinition) {
        guard definedPaths.insert(definition.path).inserted else { return }
        definitions.append(definition)
    }

    func noteValue(_ text: String, at path: String) {
        let shown = text.mayBeShown || text.hasPrefix("[") ? text : "(\(text.withheld))"
        effectiveValues.append(EffectiveValue(path: path, text: shown))
    }

    func noteLocation(_ location: ConfigurationLocation?, at path: String) {
        locations[path] = location
    }

    /// Ends the reading of single values; checks of several values together follow.
    func endReading() {
        unsoundPaths = Set(problems.map(\.path))
        unsoundWholes = Set(unsoundPaths.flatMap(Self.wholes))
    }

    /// Whether the value at a path, and every part of it, is valid.
    ///
    /// Otherwise it may contain a placeholder.
    func isSound(_ path: String) -> Bool {
        !unsoundWholes.contains(path) && unsoundPaths.isDisjoint(with: Self.wholes(path))
    }

    /// The paths that contain a path, starting with the whole file, and the path itself.
    private static func wholes(_ path: String) -> [String] {
        let ends = path.indices.filter { path[$0] == "." } + [path.endIndex]
        return [""] + ends.map { String(path[..<$0]) }
    }

    func report(_ message: String, at path: String, _ location: ConfigurationLocation? = nil) {
        problems.append(
            ConfigurationProblem(
                path: path,
                message: message,
                location: location ?? locations[path]
            )
        )
    }

    /// The environment's value if there is one, else the file's.
    ///
    /// An empty variable means null for a key that `mayBeNull`, and is ignored for any other key:
    /// Compose files and charts turn unset variables into empty ones.
    func setting(_ path: [String], _ node: YAMLNode?, mayBeNull: Bool) -> Setting {
        let variable = Self.variable(for: path)
        knownVariables.insert(variable)
        let found: Setting
        if let text = environment[variable], mayBeNull || !text.isEmpty,
            !isServiceLink(variable, text)
        {
            found = .scalar(
                Scalar(text: text, style: .variable),
                .environment(variable: variable)
            )
        } else {
            found = setting(node)
        }
        locations[path.joined(separator: ".")] = found.location
        return found
    }

    func setting(_ node: YAMLNode?) -> Setting {
        guard let node else { return .absent }
        let location = file.location(node.mark)
        switch node.content {
        case .scalar(let scalar): return .scalar(Scalar(scalar), location)
        case .list(let nodes): return .list(nodes, location)
        case .mapping(let pairs): return .mapping(pairs, location)
        }
    }

    // MARK: The environment

    /// The variable for a key: `HELIOGRAPH_KAFKA_GROUP_ID` for `kafka.group_id`.
    static func variable(for path: [String]) -> String {
        prefix + path.map { $0.uppercased() }.joined(separator: "_")
    }

    /// Whether a variable sets something under `path`.
    ///
    /// An empty variable does not create a list entry, but is not unknown either.
    func hasVariable(under path: [String]) -> Bool {
        let start = Self.variable(for: path) + "_"
        let found = environment.filter { name, text in
            name.hasPrefix(start) && !isServiceLink(name, text)
        }
        knownVariables.formUnion(found.filter(\.value.isEmpty).keys)
        return !found.allSatisfy(\.value.isEmpty)
    }

    /// The nonempty variables with the prefix `path`, with the rest of their names, sorted by name.
    func variables(under path: [String]) -> [(name: String, suffix: String, value: String)] {
        let start = Self.variable(for: path) + "_"
        let found = environment.filter { $0.key.hasPrefix(start) }.sorted { $0.key < $1.key }
        knownVariables.formUnion(found.map(\.key))
        return found.filter { !$0.value.isEmpty }.map {
            ($0.key, String($0.key.dropFirst(start.count)), $0.value)
        }
    }

    /// The first variable for a list entry after a gap, where `count` entries exist.
    ///
    /// All variables after the gap, even empty ones, count as known: the gap is the actual problem.
    func variable(past count: Int, inListAt path: [String]) -> (name: String, entry: Int)? {
        let start = Self.variable(for: path) + "_"
        var found: [(name: String, entry: Int)] = []
        for (name, text) in environment where name.hasPrefix(start) && !isServiceLink(name, text) {
            let words = name.dropFirst(start.count).split(separator: "_", maxSplits: 1)
            guard words.count == 2, let entry = Int(words[0]), entry > count,
                words[0] == "\(entry)"
            else { continue }
            knownVariables.insert(name)
            if !text.isEmpty { found.append((name, entry)) }
        }
        return found.min { ($0.entry, $0.name) < ($1.entry, $1.name) }
    }

    /// Reports the variables that belong to no key.
    func reportUnknownVariables() {
        for (variable, text) in environment.sorted(by: { $0.key < $1.key })
        where !knownVariables.contains(variable) && !isServiceLink(variable, text) {
            let question = NearMiss.question(
                variable,
                among: knownVariables.sorted(),
                otherwise: "; see docs/configuration.md"
            )
            report(
                "is not a known variable\(question)",
                at: "",
                .environment(variable: variable)
            )
        }
    }

    /// Whether Kubernetes set this variable, as it does for a Service named `heliograph...`.
    ///
    /// A variable for the Service `heliograph-admin` would even be read as `admin.port`.
    private func isServiceLink(_ variable: String, _ text: String) -> Bool {
        let isAddress = ["tcp://", "udp://", "sctp://"].contains { text.hasPrefix($0) }
        if variable.contains("_PORT"), isAddress { return true }
        if variable.hasSuffix("_SERVICE_HOST") || variable.contains("_SERVICE_PORT") { return true }
        return ["TCP", "UDP", "SCTP"].contains { name in
            ["PROTO", "PORT", "ADDR"].contains { variable.hasSuffix("_\(name)_\($0)") }
        }
    }
}

/// The value of a key, before it is converted to a type.
enum Setting {
    case absent
    case scalar(Scalar, ConfigurationLocation?)
    case list([YAMLNode], ConfigurationLocation?)
    case mapping([YAMLPair], ConfigurationLocation?)

    var location: ConfigurationLocation? {
        switch self {
        case .absent: nil
        case .scalar(_, let location), .list(_, let location), .mapping(_, let location): location
        }
    }

    /// Whether it is absent or null.
    var isUnset: Bool {
        switch self {
        case .absent: true
        case .scalar(let scalar, _): scalar.isNull
        case .list, .mapping: false
        }
    }
}
