import Spelling
import Vocabulary
import YAML

/// One key of the configuration, as the reference lists it.
package struct KeyDefinition: Hashable, Sendable {
    /// With `[]` for the entries of a list, as `apns.credentials[].key_file`.
    package var path: String
    package var type: String
    /// Nil: the key must be set.
    package var defaultText: String?
    package var documentation: String
}

/// One effective value, as the summary prints it.
package struct EffectiveValue: Hashable, Sendable {
    package var path: String
    package var text: String
}

/// What the sections of one reading share: the two sources, and what was found in them.
///
/// Each key is defined once, where `Configuration` reads it. Names of environment variables, the
/// list of known keys, the reference and the summary all follow from that one call.
final class ConfigurationReader {
    let file: ConfigurationFile
    let environment: [String: String]
    /// The variable `NO_PROXY`, which many systems set for every process.
    let noProxy: String?
    /// True when nothing is read and only the definitions are wanted.
    let isDescribing: Bool

    private(set) var problems: [ConfigurationProblem]
    private(set) var definitions: [KeyDefinition] = []
    private(set) var effectiveValues: [EffectiveValue] = []
    private var definedPaths: Set<String> = []
    private var knownVariables: Set = [Configuration.fileVariable]
    private(set) var locations: [String: ConfigurationLocation] = [:]
    /// Where single values are wrong, once all are read.
    private var unsoundPaths: Set<String> = []
    /// The same, and what they are part of.
    private var unsoundWholes: Set<String> = []

    init(file: ConfigurationFile, environment: [String: String], isDescribing: Bool = false) {
        self.file = file
        self.environment = environment.filter { $0.key.hasPrefix(Self.prefix) }
        noProxy = environment["NO_PROXY"] ?? environment["no_proxy"]
        self.isDescribing = isDescribing
        problems = file.problems
    }

    static let prefix = "HELIOGRAPH_"

    /// The file as a whole.
    func root() -> ConfigurationSection {
        ConfigurationSection(reader: self, path: [], setting: setting(file.root))
    }

    // MARK: What sections note

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

    /// Every value is read; what follows looks at several of them together.
    func endReading() {
        unsoundPaths = Set(problems.map(\.path))
        unsoundWholes = Set(unsoundPaths.flatMap(Self.wholes))
    }

    /// Whether nothing was wrong with the value at a path, or with a part of it.
    ///
    /// Otherwise something may stand for it that nobody has written.
    func isSound(_ path: String) -> Bool {
        !unsoundWholes.contains(path) && unsoundPaths.isDisjoint(with: Self.wholes(path))
    }

    /// What a value is part of, from the whole file on, and the value itself.
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

    /// The value of the environment if it has one, else that of the file.
    ///
    /// An empty variable says null of a key that `mayBeNull`, and nothing of any other: it is what
    /// an unset one becomes on its way through a Compose file or a chart.
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

    /// `kafka.group_id` is `HELIOGRAPH_KAFKA_GROUP_ID`.
    static func variable(for path: [String]) -> String {
        prefix + path.map { $0.uppercased() }.joined(separator: "_")
    }

    /// Whether a variable sets something under `path`.
    ///
    /// An empty one makes no entry of a list, but it is not an unknown one either.
    func hasVariable(under path: [String]) -> Bool {
        let start = Self.variable(for: path) + "_"
        let found = environment.filter { name, text in
            name.hasPrefix(start) && !isServiceLink(name, text)
        }
        knownVariables.formUnion(found.filter(\.value.isEmpty).keys)
        return !found.allSatisfy(\.value.isEmpty)
    }

    /// The variables that begin with `path` and are not empty, less that beginning, in order of
    /// their names.
    func variables(under path: [String]) -> [(name: String, suffix: String, value: String)] {
        let start = Self.variable(for: path) + "_"
        let found = environment.filter { $0.key.hasPrefix(start) }.sorted { $0.key < $1.key }
        knownVariables.formUnion(found.map(\.key))
        return found.filter { !$0.value.isEmpty }.map {
            ($0.key, String($0.key.dropFirst(start.count)), $0.value)
        }
    }

    /// The first variable of an entry beyond `count` in a list that has no entry there.
    ///
    /// All of them are known from then on, empty ones as well: the gap is what is wrong with them.
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

    /// Reports the variables that no key has asked for.
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

    /// Kubernetes sets variables like these in every pod for a Service called `heliograph...`.
    ///
    /// The one of Service `heliograph-admin` would even read as `admin.port`.
    private func isServiceLink(_ variable: String, _ text: String) -> Bool {
        let isAddress = ["tcp://", "udp://", "sctp://"].contains { text.hasPrefix($0) }
        if variable.contains("_PORT"), isAddress { return true }
        if variable.hasSuffix("_SERVICE_HOST") || variable.contains("_SERVICE_PORT") { return true }
        return ["TCP", "UDP", "SCTP"].contains { name in
            ["PROTO", "PORT", "ADDR"].contains { variable.hasSuffix("_\(name)_\($0)") }
        }
    }
}

/// What one key holds, before it has a type.
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

    /// Absent, or null.
    var isUnset: Bool {
        switch self {
        case .absent: true
        case .scalar(let scalar, _): scalar.isNull
        case .list, .mapping: false
        }
    }
}
