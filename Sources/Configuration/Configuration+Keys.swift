import Log
import Vocabulary

// The one definition of every key: name, type, default and documentation stand together, and the
// reader takes the rest from here.

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
        limits = root.section("limits", Limits.init)
        shards = root.optional(
            "shards",
            .integer(in: 1...1024),
            "Threads, each with its own consumer, producer and connections; null: one per core."
        )
        admin = root.section("admin", Admin.init)
        log = root.section("log", Log.init)
        root.finish()
        effectiveValues = reader.effectiveValues
        locations = reader.locations
    }

    /// Names the configuration file to the commands; no key.
    package static let fileVariable = "HELIOGRAPH_CONFIG"

    /// Every key, in the order of the reference.
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
            "Brokers to ask first for the others; name three or more."
        )
        groupID = section.value(
            "group_id",
            .nonEmpty,
            default: "heliograph",
            "The consumer group that all members share."
        )
        groupInstanceID = section.optional(
            "group_instance_id",
            .nonEmpty,
            """
            Static membership: a name that no other process of the group has, and that a restart \
            keeps, such as the pod's of a StatefulSet. Shard n is the member `<name>-<n>`. Its \
            partitions wait `session.timeout.ms` for it instead of moving; null: dynamic.
            """
        )
        let written = section.properties(
            "properties",
            """
            Any librdkafka property by its own name: TLS, SASL and so on. With `_file` behind the \
            name the value is a file's path, and what the file holds is the property: \
            `sasl.password_file`.
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
            "Create missing topics at start; false: name them and stop."
        )
        start = section.value(
            "start",
            .word(placeholder: .earliest),
            default: .earliest,
            "Where a group without stored offsets starts."
        )
        offsetLost = section.value(
            "offset_lost",
            .word(placeholder: .end),
            default: .end,
            """
            What to do where a partition's log ends before the group's offset, as after an unclean \
            leader election or on a restored disk: go on at the log's `end`; read it again from its \
            `beginning`, and send again what it holds; or `stop` the process.
            """
        )
        filesChanged = section.value(
            "files_changed",
            .word(placeholder: .restart),
            default: .restart,
            """
            What to do when files change that `properties` names, such as a certificate or a \
            password: `restart` drains within five minutes, at once after SIGHUP, and ends the \
            process with code 75 to be started again; `warn` leaves that to you. Files that cannot \
            be used are an error in the log, and nothing more.
            """
        )
    }
}

extension Configuration.Source {
    fileprivate static func read(from root: ConfigurationSection) -> [Self] {
        guard root.hasList("sources") || root.reader.isDescribing else {
            root.noteDefault("sources", "[notifications]")
            return [Self(topic: KafkaTopic("notifications"), weight: 1)]
        }
        return root.entries("sources", Self.init)
    }

    private init(_ section: ConfigurationSection) {
        topic = section.required(
            "topic",
            .kafkaTopic,
            "A topic to read events from; without `sources` it is `notifications`."
        )
        kind = section.value(
            "kind",
            .word(placeholder: .notification),
            default: .notification,
            "Whether its events are notifications, for one device each, or broadcasts to channels."
        )
        weight = section.value(
            "weight",
            .integer(in: 1...1000),
            default: 1,
            """
            Share of this source against the others, of streams and of memory, while there is not \
            enough for all.
            """
        )
        payloadSchema = section.optional(
            "payload_schema",
            .schemaName,
            "Name of a schema in `schemas.directory` that payloads of this source must keep to."
        )
    }
}

extension Configuration.Results {
    fileprivate init(_ section: ConfigurationSection) {
        topic = section.value(
            "topic",
            .kafkaTopic,
            default: KafkaTopic("notifications.results"),
            "Topic for the one outcome of each event."
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
            What says where a dead letter comes from: `connect` writes Kafka Connect's \
            `__connect.errors.*`, `spring` Spring Kafka's `kafka_dlt-*`.
            """
        )
        transactional = section.value(
            "transactional",
            .boolean,
            default: false,
            """
            Write outcomes, their offsets and all that goes with them in one transaction: readers \
            with `isolation.level=read_committed` see one outcome of each event, also after a \
            crash. Costs throughput and latency.
            """
        )
        transactionalID = section.optional(
            "transactional_id",
            .nonEmpty,
            """
            A name that no other live process has, and that a restart keeps; shard n is \
            `<name>-<n>`. Null: `<kafka.group_id>-<host name>`, for one process a host.
            """
        )
        timingHeaders = section.value(
            "timing_headers",
            .boolean,
            default: false,
            """
            Whether outcomes have the headers `received-us`, `sent-us` and `answered-us`, from \
            which a tracing system can make spans.
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
            "Tries of one event, the first included."
        )
        hereFor = section.value(
            "here_for",
            .duration(in: .milliseconds(1)...(.seconds(3600))),
            default: .seconds(30),
            "Time from the first failure within which further tries start."
        )
        baseDelay = section.value(
            "base_delay",
            .duration(in: .milliseconds(1)...(.seconds(60))),
            default: .milliseconds(200),
            "Upper end of the first random delay; it doubles with each try."
        )
        maxDelay = section.value(
            "max_delay",
            .duration(in: .milliseconds(1)...(.seconds(3600))),
            default: .seconds(10),
            "Where the doubling ends."
        )
        maxRetryAfter = section.value(
            "max_retry_after",
            .duration(in: .zero...(.seconds(24 * 3600))),
            default: .seconds(3600),
            """
            Longest `Retry-After` of APNs that is honoured; in a retry topic no event waits for \
            longer than the longest of `retry.later`.
            """
        )
        budgetPercent = section.value(
            "budget_percent",
            .integer(in: 0...100),
            default: 10,
            """
            Retries from memory that a hundred successes of a credential allow, beside 10 a second \
            in any case; what is over waits longer.
            """
        )
        resendCalls = section.value(
            "resend_calls",
            .boolean,
            default: false,
            """
            Whether `voip` and `pushtotalk` are sent again when nobody knows whether APNs got them; \
            a call that rings late is wrong.
            """
        )
        later = section.list(
            "later",
            of: .duration(in: .seconds(1)...(.seconds(24 * 3600))),
            default: [.seconds(60), .seconds(900)],
            """
            Delays of the retry topics `<source>.retry.<delay>`, shortest first, where an event \
            waits that cannot be delivered now; `[]`: it is `undeliverable` instead, or waits in \
            memory if APNs does not even process it.
            """
        )
        giveUpAfter = section.value(
            "give_up_after",
            .duration(in: .seconds(1)...(.seconds(720 * 3600))),
            default: .seconds(24 * 3600),
            "Time from the first failure within which an event is tried again later."
        )
    }
}

extension Configuration.Limits {
    fileprivate init(_ section: ConfigurationSection) {
        inFlightEvents = section.value(
            "in_flight_events",
            .integer(in: 1...1_000_000),
            default: 10_000,
            "Events in memory at most; fetching pauses there."
        )
        inFlightBytes = section.value(
            "in_flight_bytes",
            .byteSize(in: (1 << 20)...(64 << 30)),
            default: 64 << 20,
            "Bytes of their keys, values and headers at most."
        )
        eventBytes = section.value(
            "event_bytes",
            .byteSize(in: (1 << 13)...(15 << 20)),
            default: 1 << 20,
            "Largest value that is read as an event; a larger one is `invalid`."
        )
        eventAge = section.optional(
            "event_age",
            .duration(in: .seconds(1)...(.seconds(8760 * 3600))),
            """
            Age beyond which an event ends `expired` with the reason `EventTooOld`, counted from its \
            record's timestamp, that of its first record in retry topics; null: none.
            """
        )
        rates = section.entries("rates", Configuration.Rate.init)
        drainTimeout = section.value(
            "drain_timeout",
            .duration(in: .zero...(.seconds(600))),
            default: .seconds(10),
            "How long events in flight may take to finish when the process is told to stop."
        )
    }
}

extension Configuration.Rate {
    fileprivate init(_ section: ConfigurationSection) {
        bundleIDs = section.required(
            "bundle_id",
            .bundleID,
            "The app, or a pattern for several, whose requests are limited together."
        )
        requestsPerSecond = section.required(
            "requests_per_second",
            .integer(in: 1...1_000_000),
            "Requests to APNs a second, of this process."
        )
        burst = section.optional(
            "burst",
            .integer(in: 1...1_000_000),
            "Requests that may go at once; null: those of a second."
        )
    }
}

extension Configuration.Admin {
    fileprivate init(_ section: ConfigurationSection) {
        host = section.value(
            "host",
            .listenAddress,
            default: "0.0.0.0",
            "Address that the admin port listens on; `::` is every one, IPv6 and IPv4."
        )
        let port = section.value(
            "port",
            .integer(in: 0...65_535),
            default: 9464,
            "Port for health, metrics and the status page; 0: a free one, which is logged."
        )
        self.port = UInt16(port)
        hosts = section.list(
            "hosts",
            of: .adminHost,
            default: [],
            """
            Further names by which the port is reached, such as `push.example.com`, or \
            `*.example.com` for all below it. A request for another name gets 421, and a probe its \
            status only: no web page can read the port under a name of its own. Always known are \
            addresses, the machine's own name, names without a dot, and those in `.svc`, \
            `.cluster.local`, `.internal` and `.localhost`; `*` is every name.
            """
        )
        bearerToken = section.secret(
            "bearer_token",
            file: """
                File with a token of 16 characters or more, without which only `/startup`, `/live` \
                and `/ready` are answered; several, one a line, while one is replaced. Read again \
                when it changes. Programs send it as bearer token, browsers as the password of any \
                user. Null: everybody sees every page.
                """,
            "The token itself."
        )
        certificateFile = section.optional(
            "certificate_file",
            .filePath,
            """
            PEM file of the port's certificate, with those of its issuers: everything but \
            `/startup`, `/live` and `/ready` is then answered over TLS alone, these also without. \
            Read again when it changes. Null: no TLS.
            """
        )
        privateKey = section.secret(
            "private_key",
            file: "PEM file of the certificate's key; null: it is in `certificate_file`.",
            "The text of that file; line breaks may be written `\\n`."
        )
    }
}

extension Configuration.Log {
    fileprivate init(_ section: ConfigurationSection) {
        level = section.value(
            "level",
            .word(placeholder: .info),
            default: .info,
            "The least severe lines that are written."
        )
        format = section.value(
            "format",
            .word(placeholder: .json),
            default: .json,
            "`json`: one object a line; `text`: for people."
        )
        fingerprintKey = section.secret(
            "fingerprint_key",
            file: """
                A secret of 16 bytes or more, the same for all processes, with which log lines name \
                device tokens: `heliograph fingerprint` says how. Null: lines name no device.
                """,
            "That secret itself."
        )
        inputsFolder = section.optional(
            "inputs_folder",
            .folderPath,
            """
            For whoever looks into a wrong decision: each shard writes what its delivery core is \
            told to a new file there, up to 1 GiB, without tokens and payloads. \
            `heliograph-lab replay FILE` repeats the run.
            """
        )
    }
}
