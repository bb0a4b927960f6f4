package import Log
package import Vocabulary

/// Everything that an operator can configure; always valid.
///
/// `Configuration+Keys.swift` defines the keys; `docs/configuration.md` is generated from it.
package struct Configuration: Hashable, Sendable {
    package var kafka: Kafka
    /// Never empty; contains no topic twice.
    package var sources: [Source]
    package var schemas: Schemas
    package var schemaRegistry: SchemaRegistry
    package var results: Results
    package var apns: APNs
    package var retry: Retry
    package var tokens: Tokens
    package var campaigns: Campaigns
    package var limits: Limits
    /// Nil: one per core.
    package var shards: Int?
    package var admin: Admin
    package var log: Log
    /// The values as read, for `summary`.
    package let effectiveValues: [EffectiveValue]
    package let locations: [String: ConfigurationLocation]

    package struct Kafka: Hashable, Sendable {
        /// `host:port`, or several separated by commas.
        package var bootstrapServers: String
        package var groupID: String
        /// The process's static member ID, to which each shard adds its number.
        package var groupInstanceID: String?
        /// librdkafka's properties by name, without those that Heliograph sets itself.
        package var properties: [String: String]
        /// Files that contain properties, by property; the configuration appends `_file` to their
        /// names.
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

    /// Where to start if the consumer group has no committed offsets.
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

    /// The kind of a source's records.
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
        /// Whether to enforce `format` even if a schema treats it as an annotation.
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
        /// Base URLs, tried in turn; empty: there is no registry.
        package var urls: [String]
        package var username: String?
        package var password: SecretSource?
        package var bearerToken: SecretSource?
        /// A PEM file; nil: the system's roots.
        package var caFile: String?
        package var requestTimeout: Duration
    }

    /// What to do with a payload that violates Apple's documentation.
    package enum PayloadChecks: String, Hashable, Sendable, CaseIterable {
        /// Send it, and add the violations to the outcome.
        case warn
        /// Reject it with the outcome `invalid`.
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
        /// Whether outcomes and offsets are written in one transaction.
        package var transactional: Bool
        /// The process's transactional ID, to which each shard adds its number.
        ///
        /// Nil: derived from the group and the host.
        package var transactionalID: String?
        /// Whether outcomes have headers with the times of receipt, sending and answer; see
        /// `DeliveryTimes`.
        package var timingHeaders: Bool
    }

    /// The product whose dead-letter headers to use.
    package enum DeadLetterStyle: String, Hashable, Sendable, CaseIterable {
        case connect
        case spring
    }

    package struct APNs: Hashable, Sendable {
        /// Never empty; contains no name twice.
        package var credentials: [Credential]
        package var endpoints: Endpoints
        /// A PEM file; nil: the system's roots.
        package var caFile: String?
        /// A proxy that supports tunnels (RFC 9110, 9.3.6); nil: connect directly.
        package var proxy: ProxyAddress?
        package var proxyPassword: SecretSource?
        package var noProxy: ProxyExceptions?
        /// Limits per shard, credential and environment.
        package var connections: Connections
        package var requestTimeout: Duration
        package var pingAfterIdle: Duration
    }

    package struct Credential: Hashable, Sendable {
        package var name: String
        package var proof: Proof
        package var bundleIDs: [BundleIDPattern]
        /// The environments where it may be used; never empty.
        package var environments: [APNsEnvironment]
        /// The environment for events that specify none.
        package var environment: APNsEnvironment

        /// How it authenticates with APNs.
        package enum Proof: Hashable, Sendable {
            /// With a token signed by the key in a `.p8` file.
            case providerToken(teamID: String, keyID: KeyID, key: SecretSource)
            /// With a certificate in the TLS handshake.
            case certificate(CertificateFiles)
        }
    }

    /// The source of Apple's key ID.
    package enum KeyID: Hashable, Sendable {
        case text(String)
        /// In a file next to the key, so that both can change together while the service runs.
        case file(String)
    }

    package struct CertificateFiles: Hashable, Sendable {
        /// A PEM or PKCS#12 file.
        package var certificate: String
        /// PEM; nil: the key is in the certificate's file.
        package var privateKey: SecretSource?
        /// The passphrase of the key or of the PKCS#12 file.
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

        /// The endpoint for managing broadcast channels.
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
        /// The maximum number of attempts from memory, including the first.
        package var attempts: Int
        package var hereFor: Duration
        package var baseDelay: Duration
        package var maxDelay: Duration
        /// The delays of the retry topics in ascending order; empty: there are none.
        package var later: [Duration]
        package var maxRetryAfter: Duration
        /// The number of retries per hundred successes.
        package var budgetPercent: Int
        /// Whether to resend `voip` and `pushtotalk` if APNs may already have received them.
        package var resendCalls: Bool
        package var giveUpAfter: Duration
    }

    /// Token hygiene.
    package struct Tokens: Hashable, Sendable {
        package var suppressUnregistered: Bool
        /// The limit per process.
        package var maxSuppressed: Int
        /// The number of notifications per shard; 0: off.
        package var dedupWindow: Int
        /// 0: no fuse.
        package var fuseMinimumAnswers: Int
    }

    /// Pausing, pacing and cancelling what is being sent.
    package struct Campaigns: Hashable, Sendable {
        /// The topic with the orders; nil: all campaigns run.
        package var topic: KafkaTopic?
        /// The topic for the counts of campaigns; nil: they are not written.
        package var tallyTopic: KafkaTopic?
        /// The share of the events in memory that may wait for their campaigns, in percent.
        package var pausedPercent: Int
    }

    /// Limits per process, unless stated otherwise.
    package struct Limits: Hashable, Sendable {
        package var inFlightEvents: Int
        package var inFlightBytes: Int
        /// The largest record that is read as an event, in bytes.
        package var eventBytes: Int
        /// Nil: no limit on an event's age.
        package var eventAge: Duration?
        /// How far ahead an event's `not_before` may be.
        package var notBefore: Duration
        /// Contains no pattern twice.
        package var rates: [Rate]
        package var drainTimeout: Duration
    }

    /// A limit on requests to APNs for one app, or for several together.
    package struct Rate: Hashable, Sendable {
        package var bundleIDs: BundleIDPattern
        /// The limit for the whole process.
        package var requestsPerSecond: Int
        /// Nil: as many as in one second.
        package var burst: Int?
    }

    package struct Admin: Hashable, Sendable {
        package var host: String
        /// 0: any free port.
        package var port: UInt16
        /// Host names that the port accepts in addition to the built-in ones.
        package var hosts: [String]
        /// Nil: no token is required.
        package var bearerToken: SecretSource?
        /// A PEM file; nil: no TLS.
        package var certificateFile: String?
        /// PEM; nil: the key is in the certificate's file.
        package var privateKey: SecretSource?
    }

    package struct Log: Hashable, Sendable {
        package var level: LogLevel
        package var format: LogFormat
        /// Nil: logs do not identify devices.
        package var fingerprintKey: SecretSource?
        /// The folder where shards log their engines' inputs; nil: they do not.
        package var inputsFolder: String?
    }
}

extension Configuration {
    /// Reads a configuration from its text; accesses no files, and no environment except the
    /// argument.
    ///
    /// - Parameters:
    ///   - yaml: The text of the file; an empty text has no keys.
    ///   - fileName: The file's name in error messages.
    ///   - environment: Only `NO_PROXY` and names with the prefix `HELIOGRAPH_` are used.
    /// - Throws: Every problem, in file order.
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

    /// Reads a configuration as far as possible, and returns it with all problems.
    ///
    /// - Throws: If the text is not YAML, so that there are no keys to check.
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

    /// The effective configuration, as one `key: value` per line, with secrets hidden.
    package var summary: String {
        effectiveValues.map { "\($0.path): \($0.text)".printable + "\n" }.joined()
    }
}
