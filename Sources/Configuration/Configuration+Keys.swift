import Log
import Vocabulary

// The single definition of every key: its name, type, default and documentation. The reader derives
// everything else from it.

extension Configuration {
    init(reading reader: ConfigurationReader) {
        let root = reader.root()
        kafka = root.section("kafka", Kafka.init)
        sources = Source.read(from: root)
        schemas = root.section("schemas", Schemas.init)
        schemaRegistry = root.section("schema_registry", SchemaRegistry.init)
        results = root.section("results", Results.init)
        apns = root.section("apns", APNs.init)
        retry = root.section("retry", Retry.init)
        tokens = root.section("tokens", Tokens.init)
        campaigns = root.section("campaigns", Campaigns.init)
        limits = root.section("limits", Limits.init)
        shards = root.optional(
            "shards",
            .integer(in: 1...1024),
            "Number of threads, each with its own consumer, producer and connections; null:"
                + " one per core."
        )
        admin = root.section("admin", Admin.init)
        log = root.section("log", Log.init)
        root.finish()
        effectiveValues = reader.effectiveValues
        locations = reader.locations
    }

    /// Names the configuration file for the commands; not a configuration key.
    package static let fileVariable = "HELIOGRAPH_CONFIG"

    /// Every key, in the order of the reference documentation.
    package static var keys: [KeyDefinition] {
        let file = ConfigurationFile([], name: "")
        let reader = ConfigurationReader(file: file, environment: [:], isDescribing: true)
        _ = Configuration(reading: reader)
        return reader.definitions
    }
}

extension Configuration.Kafka {
    fileprivate init(_ section: ConfigurationSection) {
        bootstrapServers = section.value(
            "bootstrap_servers",
            .brokers,
            default: "localhost:9092",
            "Brokers to contact first; list three or more."
        )
        groupID = section.value(
            "group_id",
            .nonEmpty,
            default: "heliograph",
            "The consumer group of all processes."
        )
        groupInstanceID = section.optional(
            "group_instance_id",
            .nonEmpty,
            """
            Static membership: a name that is unique in the group and survives a restart, such as \
            a StatefulSet pod's name. Shard n is the member `<name>-<n>`. After it stops, its \
            partitions wait for `session.timeout.ms` instead of moving; null: dynamic membership.
            """
        )
        let written = section.properties(
            "properties",
            """
            Any librdkafka property by its own name: TLS, SASL and so on. With the suffix `_file`, \
            the property's value is read from that file: `sasl.password_file`.
            """
        )
        properties = written.filter { KafkaPropertyFile.property(of: $0.key) == nil }
        let files = written.compactMap { key, path in
            KafkaPropertyFile.property(of: key).map { ($0, path) }
        }
        propertyFiles = Dictionary(uniqueKeysWithValues: files)
        createTopics = section.value(
            "create_topics",
            .boolean,
            default: false,
            "Create missing topics at startup; false: list them and exit."
        )
        start = section.value(
            "start",
            .word(placeholder: .earliest),
            default: .earliest,
            """
            Where the group starts in a partition without a committed offset, even in one that is \
            added later.
            """
        )
        offsetLost = section.value(
            "offset_lost",
            .word(placeholder: .end),
            default: .end,
            """
            What to do if a partition's log ends before the group's offset, for example after an \
            unclean leader election or on a restored disk: `end` continues at the log's end; \
            `beginning` reads the log from its start and sends its events again; `stop` exits.
            """
        )
        filesChanged = section.value(
            "files_changed",
            .word(placeholder: .restart),
            default: .restart,
            """
            What to do when a file that `properties` names changes, such as a certificate or a \
            password: `restart` drains within five minutes, at once after SIGHUP, and exits with \
            code 75 to be restarted; `warn` only logs it. If the new files are unusable, the \
            process keeps running and logs an error.
            """
        )
    }
}

extension Configuration.Source {
    fileprivate static func read(from root: ConfigurationSection) -> [Self] {
        guard root.hasList("sources") || root.reader.isDescribing else {
            root.note("sources", "[notifications]")
            return [Self(topic: KafkaTopic("notifications"), weight: 1)]
        }
        return root.entries("sources", Self.init)
    }

    private init(_ section: ConfigurationSection) {
        topic = section.required(
            "topic",
            .kafkaTopic,
            "A topic to read events from. Without `sources`, Heliograph reads `notifications`."
        )
        kind = section.value(
            "kind",
            .word(placeholder: .notification),
            default: .notification,
            "Whether its events are notifications for one device each, or broadcasts to channels."
        )
        weight = section.value(
            "weight",
            .integer(in: 1...1000),
            default: 1,
            """
            Relative share of streams and memory when there is not enough for all sources.
            """
        )
        payloadSchema = section.optional(
            "payload_schema",
            .schemaName,
            "Name of a schema in `schemas.directory` that payloads of this source must match."
        )
    }
}

extension Configuration.Results {
    fileprivate init(_ section: ConfigurationSection) {
        topic = section.value(
            "topic",
            .kafkaTopic,
            default: KafkaTopic("notifications.results"),
            "Topic for outcomes, one per event."
        )
        tokenStatusTopic = section.optional(
            "token_status_topic",
            .kafkaTopic,
            default: KafkaTopic("notifications.token-status"),
            "Compacted topic for the state of device tokens; null: off."
        )
        deadLetterTopic = section.optional(
            "dead_letter_topic",
            .kafkaTopic,
            default: KafkaTopic("notifications.dead-letters"),
            "Topic for `invalid` and `undeliverable` events; null: off."
        )
        deadLetterHeaders = section.value(
            "dead_letter_headers",
            .word(placeholder: .connect),
            default: .connect,
            """
            Which headers describe a dead letter's origin: `connect` writes Kafka Connect's \
            `__connect.errors.*`, `spring` Spring Kafka's `kafka_dlt-*`.
            """
        )
        transactional = section.value(
            "transactional",
            .boolean,
            default: false,
            """
            Write an outcome, its other records and its offset in one transaction: readers with \
            `isolation.level=read_committed` see one outcome per event, also after a crash. Costs \
            throughput and latency.
            """
        )
        transactionalID = section.optional(
            "transactional_id",
            .nonEmpty,
            """
            A name that is unique among running processes and survives a restart; shard n uses \
            `<name>-<n>`. Null: `<kafka.group_id>-<host name>`, for one process per host.
            """
        )
        timingHeaders = section.value(
            "timing_headers",
            .boolean,
            default: false,
            """
            Whether outcomes have the headers `received-us`, `sent-us` and `answered-us`, from \
            which a tracing system can create spans.
            """
        )
    }
}

extension Configuration.Retry {
    fileprivate init(_ section: ConfigurationSection) {
        attempts = section.value(
            "attempts",
            .integer(in: 1...100),
            default: 5,
            "Maximum number of attempts from memory, including the first; not for `expiration: 0`."
        )
        hereFor = section.value(
            "here_for",
            .duration(in: .milliseconds(1)...(.seconds(3600))),
            default: .seconds(30),
            "How long after the first failure an event is retried from memory."
        )
        baseDelay = section.value(
            "base_delay",
            .duration(in: .milliseconds(1)...(.seconds(60))),
            default: .milliseconds(200),
            "Upper limit of the first random delay; it doubles with each attempt."
        )
        maxDelay = section.value(
            "max_delay",
            .duration(in: .milliseconds(1)...(.seconds(3600))),
            default: .seconds(10),
            "Upper limit of the doubled delay."
        )
        maxRetryAfter = section.value(
            "max_retry_after",
            .duration(in: .zero...(.seconds(24 * 3600))),
            default: .seconds(3600),
            """
            Longest `Retry-After` from APNs that is honored. In retry topics, the limit is the \
            longest delay of `retry.later`.
            """
        )
        budgetPercent = section.value(
            "budget_percent",
            .integer(in: 0...100),
            default: 10,
            """
            Retries from memory per hundred successes of a credential, in addition to 10 per \
            second. Retries over this budget wait longer.
            """
        )
        resendCalls = section.value(
            "resend_calls",
            .boolean,
            default: false,
            """
            Whether to retry `voip` and `pushtotalk` if it is unknown whether APNs received them. \
            By default they are not retried, because a call that rings late is wrong.
            """
        )
        later = section.list(
            "later",
            of: .duration(in: .seconds(1)...(.seconds(24 * 3600))),
            default: [.seconds(60), .seconds(900)],
            """
            Delays of the retry topics `<source>.retry.<delay>`, shortest first, for events that \
            cannot be delivered now; `[]`: they end `undeliverable` instead, or wait in memory if \
            APNs refuses their requests unprocessed.
            """
        )
        giveUpAfter = section.value(
            "give_up_after",
            .duration(in: .seconds(1)...(.seconds(720 * 3600))),
            default: .seconds(24 * 3600),
            "How long after the first failure an event is retried through retry topics."
        )
    }
}

extension Configuration.Campaigns {
    fileprivate init(_ section: ConfigurationSection) {
        topic = section.optional(
            "topic",
            .kafkaTopic,
            """
            Compacted topic with one partition that says which campaigns are paused, paced or \
            cancelled. It is read at startup, before the first event; null: off, and all campaigns \
            run.
            """
        )
        tallyTopic = section.optional(
            "tally_topic",
            .kafkaTopic,
            """
            Compacted topic to which each process writes the number of events of each campaign, by \
            outcome. It needs no `campaigns.topic`; null: off.
            """
        )
        pausedPercent = section.value(
            "paused_percent",
            .integer(in: 0...40),
            default: 25,
            """
            Share of `limits.in_flight_events` that events of paused and paced campaigns may wait \
            in, in percent; beyond it, they wait in retry topics.
            """
        )
    }
}

extension Configuration.Limits {
    fileprivate init(_ section: ConfigurationSection) {
        inFlightEvents = section.value(
            "in_flight_events",
            .integer(in: 1...1_000_000),
            default: 10_000,
            "Maximum number of events in memory; fetching pauses at this limit."
        )
        inFlightBytes = section.value(
            "in_flight_bytes",
            .byteSize(in: (1 << 20)...(64 << 30)),
            default: 64 << 20,
            "Maximum size of their keys, values and headers."
        )
        eventBytes = section.value(
            "event_bytes",
            .byteSize(in: (1 << 13)...(15 << 20)),
            default: 1 << 20,
            "Maximum size of a record's value; a larger event is `invalid`."
        )
        eventAge = section.optional(
            "event_age",
            .duration(in: .seconds(1)...(.seconds(8760 * 3600))),
            """
            Age after which an event ends `expired` with reason `EventTooOld`, counted from the \
            timestamp of its first record; null: no limit.
            """
        )
        notBefore = section.value(
            "not_before",
            .duration(in: .zero...(.seconds(720 * 3600))),
            default: .seconds(24 * 3600),
            """
            How far ahead an event's `not_before` may be when it is read; one that is further ahead \
            makes the event `invalid`.
            """
        )
        rates = section.entries("rates", Configuration.Rate.init)
        drainTimeout = section.value(
            "drain_timeout",
            .duration(in: .zero...(.seconds(600))),
            default: .seconds(10),
            "How long events in flight may take to finish when the process stops."
        )
    }
}

extension Configuration.Rate {
    fileprivate init(_ section: ConfigurationSection) {
        bundleIDs = section.required(
            "bundle_id",
            .bundleID,
            "The app, or a pattern for several apps that share the limit."
        )
        requestsPerSecond = section.required(
            "requests_per_second",
            .integer(in: 1...1_000_000),
            "Requests to APNs per second and process."
        )
        burst = section.optional(
            "burst",
            .integer(in: 1...1_000_000),
            "Requests that may be sent at once; null: as many as in one second."
        )
    }
}

extension Configuration.Admin {
    fileprivate init(_ section: ConfigurationSection) {
        host = section.value(
            "host",
            .listenAddress,
            default: "0.0.0.0",
            "Address that the admin port listens on; `::` means all, IPv6 and IPv4."
        )
        let port = section.value(
            "port",
            .integer(in: 0...65_535),
            default: 9464,
            "Port for health, metrics and the status page; 0: any free port, which is logged."
        )
        self.port = UInt16(port)
        hosts = section.list(
            "hosts",
            of: .adminHost,
            default: [],
            """
            Further host names of the port, such as `push.example.com`, or `*.example.com` for all \
            subdomains. A request for any other name gets 421, except probes, so that a web page \
            cannot read the port under its own name. Always allowed: addresses, the machine's \
            name, names without a dot, and names in `.svc`, `.cluster.local`, `.internal` and \
            `.localhost`. `*` allows every name.
            """
        )
        bearerToken = section.secret(
            "bearer_token",
            file: """
                File with a token of 16 characters or more; without the token, only `/startup`, \
                `/live` and `/ready` are answered. While you replace a token, the file can have \
                several, one per line. Read again when it changes. Programs send it as a bearer \
                token, browsers as the password, with any user name. Null: no token is needed.
                """,
            "The token itself."
        )
        certificateFile = section.optional(
            "certificate_file",
            .filePath,
            """
            PEM file with the port's certificate and those of its issuers. All pages then need \
            TLS, except `/startup`, `/live` and `/ready`, which work with and without it. Read \
            again when it changes. Null: no TLS.
            """
        )
        privateKey = section.secret(
            "private_key",
            file: "PEM file of the certificate's key; null: it is in `certificate_file`.",
            "The content of that file; line breaks may be written as `\\n`."
        )
    }
}

extension Configuration.Log {
    fileprivate init(_ section: ConfigurationSection) {
        level = section.value(
            "level",
            .word(placeholder: .info),
            default: .info,
            "The lowest level that is logged."
        )
        format = section.value(
            "format",
            .word(placeholder: .json),
            default: .json,
            "`json`: one object per line; `text`: for people."
        )
        fingerprintKey = section.secret(
            "fingerprint_key",
            file: """
                File with a secret of 16 bytes or more, the same for all processes. Log lines then \
                show a keyed fingerprint of device tokens; `heliograph fingerprint` computes a \
                token's. Null: log lines show no device.
                """,
            "That secret itself."
        )
        inputsFolder = section.optional(
            "inputs_folder",
            .folderPath,
            """
            For debugging a wrong decision: each shard records the inputs of its delivery core in \
            a new file there, up to 1 GiB, without tokens and payloads. \
            `heliograph-lab replay FILE` repeats the run.
            """
        )
    }
}
