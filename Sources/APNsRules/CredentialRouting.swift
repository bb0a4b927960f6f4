public import Vocabulary

/// Selects the credential for an event.
///
/// An exact bundle ID takes precedence over a wildcard, and a longer wildcard over a shorter one.
/// Credentials of the same rank serve different environments; an event that names no environment
/// gets the first of them.
public struct CredentialRouting: Hashable, Sendable {
    public struct Route: Hashable, Sendable {
        /// Index of the credential in the configuration.
        public var credential: Int
        public var environment: APNsEnvironment

        public init(credential: Int, environment: APNsEnvironment) {
            self.credential = credential
            self.environment = environment
        }
    }

    /// The routes of one pattern, by the environment that an event names.
    private struct Routes: Hashable, Sendable {
        let production: Route?
        let sandbox: Route?
        /// For an event that names no environment.
        let unnamed: Route?

        /// Selects, for each environment, the first credential that serves it.
        init(among credentials: [Int], of scopes: [CredentialScope]) {
            func first(_ environment: (CredentialScope) -> APNsEnvironment) -> Route? {
                for credential in credentials {
                    let scope = scopes[credential]
                    let environment = environment(scope)
                    guard scope.environments.contains(environment) else { continue }
                    return Route(credential: credential, environment: environment)
                }
                return nil
            }
            production = first { _ in .production }
            sandbox = first { _ in .sandbox }
            unnamed = first(\.defaultEnvironment)
        }

        func route(in environment: APNsEnvironment?) -> Route? {
            switch environment {
            case .production?: production
            case .sandbox?: sandbox
            case nil: unnamed
            }
        }
    }

    private struct Wildcard: Hashable, Sendable {
        var prefix: String
        var routes: Routes
    }

    private let exact: BundleIDTable
    /// By position in `exact`.
    private let exactRoutes: [Routes]
    /// Longest prefix first.
    private let wildcards: [Wildcard]

    public init(_ scopes: [CredentialScope]) throws(CredentialProblems) {
        var problems: [CredentialProblem] = []
        var covered: [String: [Int]] = [:]
        for (index, scope) in scopes.enumerated() {
            problems += Self.ownProblems(of: scope)
            for pattern in scope.bundleIDs where covered[pattern]?.last != index {
                for other in covered[pattern, default: []]
                where !scopes[other].environments.isDisjoint(with: scope.environments) {
                    problems.append(
                        .ambiguous(first: scopes[other].name, second: scope.name, pattern: pattern)
                    )
                }
                covered[pattern, default: []].append(index)
            }
        }
        guard problems.isEmpty else { throw CredentialProblems(problems: problems) }
        let names = covered.keys.filter { !$0.hasSuffix("*") }.sorted()
        exact = BundleIDTable(names)
        exactRoutes = names.map { Routes(among: covered[$0, default: []], of: scopes) }
        wildcards = covered.filter { $0.key.hasSuffix("*") }
            .map {
                Wildcard(
                    prefix: String($0.key.dropLast()),
                    routes: Routes(among: $0.value, of: scopes)
                )
            }
            .sorted { left, right in
                (left.prefix.utf8.count, left.prefix) > (right.prefix.utf8.count, right.prefix)
            }
    }

    /// The credential and environment for an event; nil if no credential covers it.
    public func route(
        for destination: Event.Destination,
        pushType: PushType,
        environment: APNsEnvironment?
    ) -> Route? {
        switch destination {
        case .bundleID(let bundleID):
            return route(bundleID: bundleID, environment: environment)
        case .topic(let topic):
            if let bundleID = APNsTopicRule.bundleID(in: topic, for: pushType),
                let route = route(bundleID: bundleID, environment: environment)
            {
                return route
            }
            // The topic does not match the push type: send it anyway, so that APNs reports the
            // error.
            return route(bundleID: APNsTopicRule.bundleID(in: topic), environment: environment)
        }
    }

    private func route(bundleID: String, environment: APNsEnvironment?) -> Route? {
        if let place = exact.place(of: bundleID),
            let route = exactRoutes[place].route(in: environment)
        {
            return route
        }
        for wildcard in wildcards
        where bundleID.utf8.count > wildcard.prefix.utf8.count
            && bundleID.hasPrefix(wildcard.prefix)
        {
            if let route = wildcard.routes.route(in: environment) { return route }
        }
        return nil
    }

    private static func ownProblems(of scope: CredentialScope) -> [CredentialProblem] {
        var problems: [CredentialProblem] = []
        if scope.bundleIDs.isEmpty { problems.append(.noBundleIDs(credential: scope.name)) }
        for pattern in scope.bundleIDs where pattern.isEmpty || pattern.dropLast().contains("*") {
            problems.append(.badPattern(credential: scope.name, pattern: pattern))
        }
        if !scope.environments.contains(scope.defaultEnvironment) {
            problems.append(.badDefaultEnvironment(credential: scope.name))
        }
        return problems
    }
}

/// The events that one credential covers.
public struct CredentialScope: Hashable, Sendable {
    public var name: String
    /// Bundle IDs, or prefixes followed by `*`; `*` alone covers everything.
    public var bundleIDs: [String]
    /// The environment for events that name none.
    public var defaultEnvironment: APNsEnvironment
    /// The allowed environments: keys created since 2025 are valid for only one.
    public var environments: Set<APNsEnvironment>
    /// Whether the TLS handshake proves it (a certificate); a provider token is proven by a
    /// success.
    public var isProvenByHandshake: Bool

    public init(
        name: String,
        bundleIDs: [String],
        defaultEnvironment: APNsEnvironment = .production,
        environments: Set<APNsEnvironment> = [.production, .sandbox],
        isProvenByHandshake: Bool = false
    ) {
        self.name = name
        self.bundleIDs = bundleIDs
        self.defaultEnvironment = defaultEnvironment
        self.environments = environments
        self.isProvenByHandshake = isProvenByHandshake
    }
}

/// A problem in a set of credentials.
public enum CredentialProblem: Hashable, Sendable, CustomStringConvertible {
    /// An empty pattern, or a `*` that is not the last character.
    case badPattern(credential: String, pattern: String)
    case noBundleIDs(credential: String)
    /// The default environment is not among those that it serves.
    case badDefaultEnvironment(credential: String)
    /// Two credentials cover the same bundle IDs and environment equally well.
    case ambiguous(first: String, second: String, pattern: String)

    public var description: String {
        switch self {
        case .badPattern(let credential, let pattern):
            "credential \(credential): \"\(pattern)\" is neither a bundle ID nor a prefix with * at its end"
        case .noBundleIDs(let credential):
            "credential \(credential) covers no bundle ID"
        case .badDefaultEnvironment(let credential):
            "credential \(credential) does not serve its default environment"
        case .ambiguous(let first, let second, let pattern):
            "credentials \(first) and \(second) both cover \"\(pattern)\" in the same environment"
        }
    }
}

/// All problems in a set of credentials, in configuration order.
public struct CredentialProblems: Error, Hashable, Sendable {
    public let problems: [CredentialProblem]
}

/// A table of the configuration's bundle IDs.
///
/// A custom hash table with a cheap hash function, because every event needs a look-up. The
/// function need not resist attacks: only the operator chooses the entries.
private struct BundleIDTable: Hashable, Sendable {
    private let names: [String]
    /// Positions in `names` by hash, or -1 if free; at least half are free.
    private let slots: [Int]

    /// - Parameter names: Without duplicates.
    init(_ names: [String]) {
        self.names = names
        var size = 4
        while size < 2 * names.count { size *= 2 }
        var slots = Array(repeating: -1, count: size)
        for (place, name) in names.enumerated() {
            var slot = Self.hash(of: name) & (size - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = place
        }
        self.slots = slots
    }

    /// The name's position in the array from which the table was made; nil: it is not in the table.
    func place(of name: String) -> Int? {
        var slot = Self.hash(of: name) & (slots.count - 1)
        while slots[slot] >= 0 {
            if names[slots[slot]] == name { return slots[slot] }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    private static let hashedByteCount = 16

    /// Hashes the end, where the bundle IDs of one company differ (FNV-1a).
    private static func hash(of name: String) -> Int {
        let bytes = name.utf8.span
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325 ^ UInt64(bytes.count)
        for index in max(0, bytes.count - hashedByteCount)..<bytes.count {
            hash = (hash ^ UInt64(bytes[index])) &* 0x100_0000_01B3
        }
        return Int(truncatingIfNeeded: hash >> 32 ^ hash)
    }
}
