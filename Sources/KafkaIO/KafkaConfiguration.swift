import CRdkafka

/// The properties of one client: defaults, then the operator's, then the forced ones.
///
/// A prefix limits a property to one role, as in `consumer.fetch.wait.max.ms`.
@safe public struct KafkaConfiguration: ~Copyable {
    /// A property that cannot be used, and why.
    public struct Problem: Hashable, Sendable, CustomStringConvertible {
        public enum Kind: Hashable, Sendable {
            /// This build of librdkafka has no property of this name.
            case unknownProperty
            case badValue
            /// Heliograph sets the value itself, because its guarantees depend on it.
            case setByHeliograph
            /// About TLS or a login, without a `security.protocol`.
            case withoutEffect
        }

        /// As the operator wrote it, including a role prefix.
        public let property: String
        public let kind: Kind
        /// A message for people; never contains a secret.
        public let text: String

        public var description: String { "\(property): \(text)" }
    }

    /// Nil once librdkafka owns the properties.
    private var raw: OpaquePointer?
    private var hasInterceptor = false
    /// The file with the client's login tokens; nil: it uses none.
    let tokenFile: TokenFile?
    /// The properties that were set, in order, with secrets masked.
    private let settings: [(name: String, value: String)]

    /// - Throws: `KafkaError` with code `invalidConfiguration` that names every problem.
    public init(
        _ role: Role,
        bootstrapServers: String,
        properties: [String: String] = [:],
        group: String? = nil,
        instance: String? = nil,
        transactionalID: String? = nil,
        reportsPartitionEnds: Bool = false,
        batches: Batches = .shared(maxBytes: nil)
    ) throws(KafkaError) {
        let own = Self.properties(properties, for: role)
        var wanted = Self.defaults(for: role) + Self.derivedDefaults(own, role)
        if transactionalID != nil {
            wanted += Self.transactionDefaults(timeout: Self.transactionMilliseconds(own))
        }
        var problems: [Problem] = []
        var tokenFile: TokenFile?
        for (key, value) in own {
            if let problem = Self.refusal(key, value) {
                problems.append(problem)
            } else if Self.withoutPrefix(key) == TokenFile.property {
                tokenFile = TokenFile(path: value)
            } else {
                wanted.append((key, value))
            }
        }
        if let problem = Self.tokenProblem(in: own) { problems.append(problem) }
        wanted += Self.forced(for: role)
        wanted.append(("bootstrap.servers", bootstrapServers))
        if let group { wanted.append(("group.id", group)) }
        if let transactionalID { wanted.append(("transactional.id", transactionalID)) }
        if let instance { wanted.append(("group.instance.id", instance)) }
        if reportsPartitionEnds { wanted.append(("enable.partition.eof", "true")) }
        if role == .producer { wanted += Self.batchProperties(batches, own) }

        let conf = unsafe rd_kafka_conf_new()
        unsafe rd_kafka_conf_set_ssl_cert_verify_cb(conf, hg_tell_certificate_error)
        for (key, value) in wanted {
            if let problem = unsafe Self.assign(key, value, in: conf) { problems.append(problem) }
        }
        guard problems.isEmpty else {
            unsafe rd_kafka_conf_destroy(conf)
            throw KafkaError(
                code: .invalidConfiguration,
                text: problems.map(\.description).joined(separator: "; ")
            )
        }
        unsafe raw = conf
        // librdkafka accepts a token only with this login.
        self.tokenFile = Self.usesTokens(own) ? tokenFile : nil
        settings = Self.masked(wanted)
    }

    deinit { if let raw = unsafe raw { unsafe rd_kafka_conf_destroy(raw) } }

    /// All problems in an operator's properties, sorted by name.
    public static func problems(in properties: [String: String]) -> [Problem] {
        let trial = unsafe rd_kafka_conf_new()
        defer { unsafe rd_kafka_conf_destroy(trial) }
        var problems: [Problem] = []
        for (key, value) in properties {
            if let problem = refusal(key, value) {
                problems.append(problem)
            } else if withoutPrefix(key) == TokenFile.property {
                continue
            } else if let problem = unsafe assign(key, value, in: trial) {
                problems.append(problem)
            }
        }
        let ofTokens = Role.allCases.compactMap { role in
            tokenProblem(in: Self.properties(properties, for: role))
        }
        problems += Set(ofTokens)
        let told = Set(problems.map(\.property))
        problems += withoutEffect(properties).filter { !told.contains($0.property) }
        return problems.sorted { ($0.property, $0.text) < ($1.property, $1.text) }
    }

    /// One `name=value` per line, with secrets masked.
    public var description: String {
        settings.map { "\($0.name)=\($0.value)" }.joined(separator: "\n")
    }

    /// How the client connects to brokers.
    var security: ConnectionTrouble.Security {
        let values = Dictionary(settings.map { ($0.name, $0.value) }) { $1 }
        let name = values["security.protocol"]?.lowercased() ?? ""
        let own = ["ssl.certificate.location", "ssl.certificate.pem", "ssl.keystore.location"]
        let usesSCRAM = values["sasl.mechanisms"]?.uppercased().hasPrefix("SCRAM") ?? false
        return ConnectionTrouble.Security(
            usesTLS: name.hasSuffix("ssl"),
            usesLogin: name.hasPrefix("sasl"),
            hasCertificate: own.contains { values[$0] != nil },
            tooOldForKafka4: usesSCRAM && KafkaLibrary.repeatsSCRAMNonce
                ? "librdkafka \(KafkaLibrary.version)" : nil,
            credentials: credentials(values["sasl.mechanisms"])
        )
    }

    private func credentials(_ mechanism: String?) -> String {
        guard mechanism?.uppercased() == "OAUTHBEARER" else {
            return "sasl.username and sasl.password"
        }
        return tokenFile == nil
            ? "sasl.oauthbearer.client.id and sasl.oauthbearer.client.secret" : TokenFile.property
    }

    /// Enables event delivery for the given `RD_KAFKA_EVENT_…` bits.
    func enableEvents(_ events: Int32) {
        let ofTokens = tokenFile == nil ? 0 : RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH
        unsafe rd_kafka_conf_set_events(raw, events | ofTokens)
    }

    /// Passes the answer of every commit to `answers`, partition by partition.
    mutating func hearCommits(_ answers: CommitAnswers) {
        unsafe answers.listen(to: raw)
        hasInterceptor = true
    }

    /// Records the addresses of brokers to which connections succeed.
    mutating func noteWorkingAddresses() {
        unsafe WorkingAddresses.listen(to: raw)
        hasInterceptor = true
    }

    /// Creates the client instance, which takes over the properties.
    consuming func makeClient(_ type: rd_kafka_type_t) throws(KafkaError) -> OpaquePointer {
        let conf = unsafe raw
        unsafe raw = nil
        // SAFETY: rd_kafka_new takes over the configuration only if it succeeds.
        let (made, text) = unsafe withErrorText { buffer, byteCount in
            unsafe rd_kafka_new(type, conf, buffer, byteCount)
        }
        guard let client = unsafe made else {
            let code = rd_kafka_last_error()
            // If creation fails, librdkafka before 2.13 has freed the interceptors, and destroying
            // would free them again.
            if !hasInterceptor { unsafe rd_kafka_conf_destroy(conf) }
            throw KafkaError(code, text: text)
        }
        return unsafe client
    }

    /// Makes a librdkafka handle for a cluster inside this process; it connects to no broker.
    ///
    /// The caller destroys it.
    public static func makeHandleWithoutBrokers() throws(KafkaError) -> OpaquePointer {
        let configuration = try KafkaConfiguration(.inspector, bootstrapServers: "")
        return unsafe try configuration.makeClient(RD_KAFKA_PRODUCER)
    }

    /// The last value of each property, in order of first appearance, with secrets masked.
    private static func masked(
        _ wanted: [(String, String)]
    ) -> [(name: String, value: String)] {
        var values: [String: String] = [:]
        var names: [String] = []
        for (key, value) in wanted {
            let name = withoutPrefix(key)
            if values.updateValue(value, forKey: name) == nil { names.append(name) }
        }
        return names.map { ($0, isSecret($0) ? "***" : values[$0] ?? "") }
    }

    /// The properties that apply to `role`, as written, with the prefixed ones last.
    static func properties(
        _ properties: [String: String],
        for role: Role
    ) -> [(String, String)] {
        let sorted = properties.sorted { $0.key < $1.key }
        let general = sorted.filter { withoutPrefix($0.key) == $0.key }
        let prefix = role.rawValue + "."
        let own = sorted.filter { $0.key.hasPrefix(prefix) }
        return (general + own).map { ($0.key, $0.value) }
    }

    /// A property's name without a `consumer.`, `producer.` or `inspector.` prefix.
    public static func withoutPrefix(_ key: String) -> String {
        for role in Role.allCases where key.hasPrefix(role.rawValue + ".") {
            return String(key.dropFirst(role.rawValue.count + 1))
        }
        return key
    }

    /// Why Heliograph rejects a property; `key` is the name as the operator wrote it.
    private static func refusal(_ key: String, _ value: String) -> Problem? {
        let name = withoutPrefix(key)
        if let reservation = reservations[name], !reservation.harmless.contains(value) {
            return Problem(
                property: key,
                kind: .setByHeliograph,
                text: "set by Heliograph: \(reservation.reason)"
            )
        }
        return nil
    }

    /// The properties of TLS and logins of roles whose `security.protocol` is not set.
    ///
    /// librdkafka ignores them: it would connect in plain text, without the password. Who names a
    /// protocol that does not use them knows that.
    private static func withoutEffect(_ properties: [String: String]) -> [Problem] {
        // librdkafka treats an empty value as unset.
        let set = properties.filter { !$0.value.isEmpty }
        let hasLogin = set.keys.contains { withoutPrefix($0).hasPrefix("sasl.") }
        return set.keys.compactMap { key in
            let name = withoutPrefix(key)
            guard name.hasPrefix("sasl.") || name.hasPrefix("ssl.") else { return nil }
            let hasProtocol = Role.allCases.contains { role in
                (name == key || key.hasPrefix("\(role.rawValue)."))
                    && Self.properties(set, for: role).contains {
                        withoutPrefix($0.0) == "security.protocol"
                    }
            }
            guard !hasProtocol else { return nil }
            return Problem(
                property: key,
                kind: .withoutEffect,
                text: "has no effect without security.protocol; set that to"
                    + " \(hasLogin ? "sasl_ssl" : "ssl"), or remove this property"
            )
        }
    }

    /// The problem with the source of login tokens, in the properties of one role.
    private static func tokenProblem(in own: [(String, String)]) -> Problem? {
        guard let (key, _) = own.last(where: isTokenLogin) else { return nil }
        func value(of name: String) -> String? {
            own.last { withoutPrefix($0.0) == name }?.1.lowercased()
        }
        let usesOIDC = value(of: "sasl.oauthbearer.method") == "oidc"
        let usesFile = value(of: TokenFile.property) != nil
        let text: String
        switch (usesOIDC, usesFile) {
        case (false, true): return nil
        case (true, false) where KafkaLibrary.fetchesTokens: return nil
        case (true, false):
            text =
                "librdkafka \(KafkaLibrary.version) is built without OIDC, so it cannot fetch tokens:"
                + " set \(TokenFile.property), or use another sasl.mechanism"
        case (true, true):
            text = "sasl.oauthbearer.method oidc excludes \(TokenFile.property); remove one of them"
        case (false, false):
            text =
                "OAUTHBEARER needs tokens: set \(TokenFile.property), or sasl.oauthbearer.method to"
                + " oidc"
        }
        return Problem(property: key, kind: .badValue, text: text)
    }

    private static func usesTokens(_ own: [(String, String)]) -> Bool {
        let protocols = own.filter { withoutPrefix($0.0) == "security.protocol" }
        return own.contains(where: isTokenLogin)
            && protocols.last?.1.lowercased().hasPrefix("sasl") == true
    }

    private static func isTokenLogin(_ key: String, _ value: String) -> Bool {
        ["sasl.mechanism", "sasl.mechanisms"].contains(withoutPrefix(key))
            && value.uppercased() == "OAUTHBEARER"
    }

    /// Sets a property, without its role prefix.
    private static func assign(
        _ key: String,
        _ value: String,
        in conf: OpaquePointer?
    ) -> Problem? {
        let name = withoutPrefix(key)
        let (result, text) = unsafe withErrorText { buffer, byteCount in
            unsafe rd_kafka_conf_set(conf, name, value, buffer, byteCount)
        }
        switch result {
        case RD_KAFKA_CONF_OK: return nil
        case RD_KAFKA_CONF_UNKNOWN:
            return Problem(
                property: key,
                kind: .unknownProperty,
                text: "librdkafka \(KafkaLibrary.version) has no such property; check its spelling"
            )
        default:
            let explanation = isSecret(name) ? "invalid value" : text
            return Problem(property: key, kind: .badValue, text: explanation)
        }
    }
}

/// The librdkafka that is loaded, which may be newer than the one compiled against.
public enum KafkaLibrary {
    public static var version: String {
        // SAFETY: it is a static string (rdkafka.h).
        unsafe String(cString: rd_kafka_version_str())
    }

    /// Whether librdkafka can fetch tokens from an OAuth server (OIDC); Debian 12's cannot.
    static var fetchesTokens: Bool {
        let trial = unsafe rd_kafka_conf_new()
        defer { unsafe rd_kafka_conf_destroy(trial) }
        var text = [CChar](repeating: 0, count: 1024)
        var count = text.count
        let result = unsafe text.withUnsafeMutableBufferPointer { buffer in
            unsafe rd_kafka_conf_get(trial, "builtin.features", buffer.baseAddress, &count)
        }
        guard result == RD_KAFKA_CONF_OK else { return false }
        return String(nulTerminated: text).split(separator: ",").contains("oidc")
    }

    /// Whether librdkafka knows `fetch.queue.backoff.ms`; Debian 12's does not.
    static var hasFetchQueueBackoff: Bool { rd_kafka_version() >= 0x0202_00FF }

    /// Whether librdkafka pushes its metrics to brokers that ask for them (KIP-714).
    static var pushesMetrics: Bool { rd_kafka_version() >= 0x0205_00FF }

    /// Whether librdkafka repeats the first nonce in its second SCRAM message.
    ///
    /// Kafka 4 rejects such a login. Fixed in 2.6.1 (librdkafka#4895).
    static var repeatsSCRAMNonce: Bool { rd_kafka_version() < 0x0206_01FF }
}

/// Calls a function of the library that may write an error text into a buffer.
func withErrorText<Answer>(
    _ body: (UnsafeMutablePointer<CChar>?, _ byteCount: Int) -> Answer
) -> (answer: Answer, text: String) {
    var text = [CChar](repeating: 0, count: 512)
    let answer = unsafe text.withUnsafeMutableBufferPointer { buffer in
        unsafe body(buffer.baseAddress, buffer.count)
    }
    return (answer, String(nulTerminated: text))
}

extension String {
    /// Makes a string from text that C wrote into a buffer.
    init(nulTerminated buffer: [CChar]) {
        let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        self = String(decoding: bytes, as: UTF8.self)
    }
}
