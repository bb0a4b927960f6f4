package import Log
package import Vocabulary

/// Everything an operator can set; always valid.
///
/// `Configuration+Keys.swift` defines the keys, `docs/configuration.md` is generated from there.
package struct Configuration: Hashable, Sendable {
    package var kafka: Kafka
    /// Never empty; no topic twice.
    package var sources: [Source]
    package var schemas: Schemas
    package var schemaRegistry: SchemaRegistry
    package var results: Results
    package var apns: APNs
    package var retry: Retry
    package var tokens: Tokens
    package var limits: Limits
    /// Nil: one for each core.
    package var shards: Int?
    package var admin: Admin
    package var log: Log
    /// The values as they were read, for `summary`.
    package let effectiveValues: [EffectiveValue]
    package let locations: [String: ConfigurationLocation]

    package struct Kafka: Hashable, Sendable {
        /// `host:port`, several separated by commas.
        package var bootstrapServers: String
        package var groupID: String
        /// The process' name as a static member, to which each shard adds its number.
        package var groupInstanceID: String?
        /// librdkafka's properties, by their own names; none that Heliograph sets itself.
        package var properties: [String: String]
        /// Files that hold properties, by the property: each was written with `_file` behind its name.
        package var propertyFiles: [String: String]
        package var createTopics: Bool
        package var start: Start
        package var offsetLost: OffsetLost
        package var filesChanged: FilesChanged
    }

    /// What to do when files of Kafka's clients change.
    package enum FilesChanged: String, Hashable, Sendable, CaseIterable {
        case restart
        case warn
    }

    /// Where a consumer group without stored offsets starts.
    package enum Start: String, Hashable, Sendable, CaseIterable {
        case earliest
        case latest
    }

    /// What to do if a partition's log ends before the group's position.
    package enum OffsetLost: String, Hashable, Sendable, CaseIterable {
        case end
        case beginning
        case stop
    }

    /// What the records of a source are.
    package enum SourceKind: String, Hashable, Sendable, CaseIterable {
        /// Events of the schema `notification-event`, each for one device.
        case notification
        /// Events of the schema `broadcast-event`, each for a channel.
        case broadcast
    }

    package struct Source: Hashable, Sendable {
        package var topic: KafkaTopic
        package var kind = SourceKind.notification
        package var weight: Int
        /// The name of a schema in `schemas.directory`.
        package var payloadSchema: String?
    }

    package struct Schemas: Hashable, Sendable {
        /// Nil: none.
        package var directory: String?
        package var payloadSchemas: [PayloadSchema]
        /// Whether `format` is enforced where a schema leaves it an annotation.
        package var assertFormat: Bool
        package var payload: PayloadChecks
    }

    /// A schema for the payloads of some apps.
    package struct PayloadSchema: Hashable, Sendable {
        package var bundleIDs: [BundleIDPattern]
        /// The name of a schema in `schemas.directory`.
        package var schema: String
    }

    package struct SchemaRegistry: Hashable, Sendable {
        /// Base addresses, asked in turn; empty: there is none.
        package var urls: [String]
        package var username: String?
        package var password: SecretSource?
        package var bearerToken: SecretSource?
        /// PEM; nil: the system's roots.
        package var caFile: String?
        package var requestTimeout: Duration
    }

    /// What happens to a payload that violates Apple's documentation.
    package enum PayloadChecks: String, Hashable, Sendable, CaseIterable {
        /// Sent, and the outcome carries the violations.
        case warn
        /// The outcome is `invalid`.
        case strict
        case off
    }

    package struct Results: Hashable, Sendable {
        package var topic: KafkaTopic
        /// Nil: off.
        package var tokenStatusTopic: KafkaTopic?
        /// Nil: off.
        package var deadLetterTopic: KafkaTopic?
        package var deadLetterHeaders: DeadLetterStyle
        /// Outcomes and offsets are written in one transaction.
        package var transactional: Bool
        /// The process' name among transactional producers, to which each shard adds its number;
        /// nil: the group's and the host's.
        package var transactionalID: String?
        /// Outcomes say when the event was received, sent and answered; see `DeliveryTimes`.
        package var timingHeaders: Bool
    }

    /// Whose headers a dead letter carries.
    package enum DeadLetterStyle: String, Hashable, Sendable, CaseIterable {
        case connect
        case spring
    }

    package struct APNs: Hashable, Sendable {
        /// Never empty; no name twice.
        package var credentials: [Credential]
        package var endpoints: Endpoints
        /// PEM; nil: the system's roots.
        package var caFile: String?
        /// Gives tunnels (RFC 9110, 9.3.6); nil: connections are direct.
        package var proxy: ProxyAddress?
        package var proxyPassword: SecretSource?
        package var noProxy: ProxyExceptions?
        /// Per shard, credential and environment.
        package var connections: Connections
        package var requestTimeout: Duration
        package var pingAfterIdle: Duration
    }

    package struct Credential: Hashable, Sendable {
        package var name: String
        package var proof: Proof
        package var bundleIDs: [BundleIDPattern]
        /// Where it may be used; never empty.
        package var environments: [APNsEnvironment]
        /// Of the events that name none.
        package var environment: APNsEnvironment

        /// How it authenticates to APNs.
        package enum Proof: Hashable, Sendable {
            /// By a token that is signed with the key of a `.p8` file.
            case providerToken(teamID: String, keyID: KeyID, key: SecretSource)
            /// By a certificate in the TLS handshake.
            case certificate(CertificateFiles)
        }
    }

    /// Where Apple's key identifier comes from.
    package enum KeyID: Hashable, Sendable {
        case text(String)
        /// Next to the key: the two may change together while the service runs.
        case file(String)
    }

    package struct CertificateFiles: Hashable, Sendable {
        /// PEM or PKCS#12.
        package var certificate: String
        /// PEM; nil: the key is in the certificate's file.
        package var privateKey: SecretSource?
        /// Of the key or of the PKCS#12 file.
        package var passphrase: SecretSource?
    }

    package struct Endpoints: Hashable, Sendable {
        package var production: Endpoint
        package var sandbox: Endpoint
        package var managementProduction: Endpoint
        package var managementSandbox: Endpoint

        package subscript(environment: APNsEnvironment) -> Endpoint {
            switch environment {
            case .production: production
            case .sandbox: sandbox
            }
        }

        /// Where broadcast channels are managed.
        package func management(_ environment: APNsEnvironment) -> Endpoint {
            switch environment {
            case .production: managementProduction
            case .sandbox: managementSandbox
            }
        }
    }

    package struct Connections: Hashable, Sendable {
        package var min: Int
        package var max: Int
    }

    package struct Retry: Hashable, Sendable {
        /// Maximum number of attempts from memory, including the first.
        package var attempts: Int
        package var hereFor: Duration
        package var baseDelay: Duration
        package var maxDelay: Duration
        /// Delays of the retry topics, each longer than the one before; empty: none.
        package var later: [Duration]
        package var maxRetryAfter: Duration
        /// Retries that a hundred successes allow.
        package var budgetPercent: Int
        /// Whether `voip` and `pushtotalk` are sent again after an unknown fate.
        package var resendCalls: Bool
        package var giveUpAfter: Duration
    }

    /// Token hygiene.
    package struct Tokens: Hashable, Sendable {
        package var suppressUnregistered: Bool
        /// Per process.
        package var maxSuppressed: Int
        /// Notifications per shard; 0: off.
        package var dedupWindow: Int
        /// 0: no fuse.
        package var fuseMinimumAnswers: Int
    }

    /// Per process unless stated otherwise.
    package struct Limits: Hashable, Sendable {
        package var inFlightEvents: Int
        package var inFlightBytes: Int
        /// The largest record that is read as an event.
        package var eventBytes: Int
        /// Nil: an event may be as old as it likes.
        package var eventAge: Duration?
        /// No pattern twice.
        package var rates: [Rate]
        package var drainTimeout: Duration
    }

    /// A bound on the requests to APNs for an app, or for several together.
    package struct Rate: Hashable, Sendable {
        package var bundleIDs: BundleIDPattern
        /// Of the process.
        package var requestsPerSecond: Int
        /// Nil: those of a second.
        package var burst: Int?
    }

    package struct Admin: Hashable, Sendable {
        package var host: String
        /// 0: a free one.
        package var port: UInt16
        /// Names that the port answers to, next to those that it always does.
        package var hosts: [String]
        /// Nil: everybody may see every page.
        package var bearerToken: SecretSource?
        /// PEM; nil: without TLS.
        package var certificateFile: String?
        /// PEM; nil: the key is in the certificate's file.
        package var privateKey: SecretSource?
    }

    package struct Log: Hashable, Sendable {
        package var level: LogLevel
        package var format: LogFormat
        /// Nil: logs do not distinguish devices.
        package var fingerprintKey: SecretSource?
        /// Where shards log the inputs of their engines; nil: nowhere.
        package var inputsFolder: String?
    }
}

extension Configuration {
    /// Reads a configuration; touches no file and no environment but what it is given.
    ///
    /// - Parameters:
    ///   - yaml: The text of the file; empty is a file without keys.
    ///   - fileName: What problems call the file.
    ///   - environment: Only `NO_PROXY` and what begins with `HELIOGRAPH_` is looked at.
    /// - Throws: Every problem there is, in the order of the file.
    package init(
        yaml: String,
        fileName: String,
        environment: [String: String] = [:]
    ) throws(ConfigurationError) {
        let (configuration, problems) = try Self.read(
            yaml: Array(yaml.utf8),
            fileName: fileName,
            environment: environment
        )
        guard problems.isEmpty else {
            throw ConfigurationError(problems: ConfigurationProblem.ordered(problems))
        }
        self = configuration
    }

    /// Reads a configuration as far as it can be read, with everything that is wrong with it.
    ///
    /// - Throws: When the text is not YAML: what its keys are is anybody's guess.
    package static func read(
        yaml: [UInt8],
        fileName: String,
        environment: [String: String]
    ) throws(ConfigurationError) -> (Configuration, problems: [ConfigurationProblem]) {
        let file = ConfigurationFile(yaml, name: fileName)
        if let problem = file.problems.first, file.root == nil {
            throw ConfigurationError(problems: [problem])
        }
        let reader = ConfigurationReader(file: file, environment: environment)
        let configuration = Configuration(reading: reader)
        configuration.check(reader)
        reader.reportUnknownVariables()
        return (configuration, reader.problems)
    }

    /// The effective configuration as it was read, one `key: value` a line, secrets hidden.
    package var summary: String {
        effectiveValues.map { "\($0.path): \($0.text)".printable + "\n" }.joined()
    }
}
