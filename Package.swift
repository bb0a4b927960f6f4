// swift-tools-version: 6.2

import PackageDescription

/// Every target is built with these.
///
/// - `ExistentialAny`: SE-0335, `any` is spelled.
/// - `InternalImportsByDefault`: SE-0409, an import cannot leak into a module's interface unseen.
/// - `MemberImportVisibility`: SE-0444, a member is used only where its module is imported.
/// - `NonisolatedNonsendingByDefault`: SE-0461, a nonisolated async function stays on its caller.
/// - strict memory safety: SE-0458, every use of an unsafe construct is spelled.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

func module(
    _ name: String,
    _ dependencies: [Target.Dependency],
    exclude: [String] = []
) -> Target {
    .target(
        name: name,
        dependencies: dependencies,
        exclude: exclude,
        swiftSettings: strict
    )
}

/// To optimize a test costs more time than it gains: the modules under test are optimized.
func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(
        name: name,
        dependencies: dependencies,
        swiftSettings: strict + [.unsafeFlags(["-Onone"])]
    )
}

/// What `--version` says: of a release, the version that `scripts/version` reads from git's tags.
///
/// Only the one C file that holds it is compiled again when it changes.
let version: [CSetting] =
    Context.environment["HELIOGRAPH_VERSION"]
    .map { [.define("HELIOGRAPH_VERSION", to: "\"\($0)\"")] } ?? []

let package = Package(
    name: "heliograph",
    products: [
        .executable(name: "heliograph", targets: ["heliograph"]),
        .executable(name: "heliograph-lab", targets: ["heliograph-lab"]),
    ],
    targets: [
        // The C boundary.
        .systemLibrary(
            name: "CRdkafka",
            pkgConfig: "rdkafka",
            providers: [.apt(["librdkafka-dev"])]
        ),
        .systemLibrary(
            name: "CNghttp2",
            pkgConfig: "libnghttp2",
            providers: [.apt(["libnghttp2-dev"])]
        ),
        .systemLibrary(
            name: "COpenSSL",
            pkgConfig: "openssl",
            providers: [.apt(["libssl-dev"])]
        ),
        .systemLibrary(
            name: "CCurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"])]
        ),
        .systemLibrary(
            name: "CYAML",
            pkgConfig: "yaml-0.1",
            providers: [.apt(["libyaml-dev"])]
        ),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CPrefetch"),
        .target(
            name: "CSimdjson",
            linkerSettings: [.linkedLibrary("simdjson"), .linkedLibrary("m")]
        ),
        // Static: each of Debian's releases has another version of it (decision 0040).
        .target(name: "CRE2", linkerSettings: [.linkedLibrary(":libre2.a")]),
        .target(name: "CSHA1"),
        .target(
            name: "CFiles",
            exclude: ["Metaschemas"],
            cSettings: version
        ),

        // The pure core: no clock, no random numbers, no lock, no I/O.
        module("Vocabulary", ["CSHA1"]),
        module("JSON", ["CSimdjson", "CRE2"]),
        module("Spelling", []),
        module("JSONSchema", ["JSON", "Spelling", "CFiles"]),
        module("EventCodec", ["Vocabulary", "JSON", "JSONSchema", "CFiles"]),
        module("APNsRules", ["Vocabulary", "JSON"]),
        module("ConnectionPool", ["Vocabulary"]),
        module("Delivery", ["Vocabulary", "APNsRules", "ConnectionPool", "CPrefetch"]),

        // The shells.
        module("Telemetry", ["Vocabulary"]),
        module("KafkaIO", ["Vocabulary", "CRdkafka", "CLinux", "CPrefetch"]),
        module("EmbeddedKafka", ["Vocabulary", "KafkaIO", "CRdkafka"]),
        module("SystemIO", ["Vocabulary", "CLinux"]),
        module("HTTP2IO", ["Vocabulary", "SystemIO", "CNghttp2", "COpenSSL", "CLinux"]),
        module("HTTP2Peer", ["Vocabulary", "SystemIO", "HTTP2IO", "CNghttp2", "COpenSSL"]),
        module("YAML", ["CYAML"]),
        module("HTTPServer", ["Vocabulary", "HTTP2IO", "CLinux"]),
        module("Commands", ["Spelling"]),
        module("RegistryIO", ["Vocabulary", "JSON", "CCurl"]),
        module(
            "AdminHTTP",
            ["Vocabulary", "Telemetry", "JSON", "HTTPServer", "CFiles", "COpenSSL"],
            // The sources of the status page, which CFiles puts into the program.
            exclude: ["Page"]
        ),
        // The service.
        module("Log", ["Vocabulary", "JSON", "Telemetry", "SystemIO"]),
        module(
            "Configuration",
            [
                "Vocabulary", "JSON", "Spelling", "JSONSchema", "EventCodec", "APNsRules",
                "Delivery",
                "SystemIO", "KafkaIO", "HTTP2IO", "YAML", "Log",
            ]
        ),
        module(
            "Credentials",
            [
                "Vocabulary", "APNsRules", "Telemetry", "SystemIO", "KafkaIO", "HTTP2IO", "Log",
                "Configuration",
            ]
        ),
        module(
            "Shard",
            [
                "Vocabulary", "JSON", "EventCodec", "APNsRules", "ConnectionPool", "Delivery",
                "Telemetry", "SystemIO", "KafkaIO", "HTTP2IO", "Log", "Credentials",
            ]
        ),
        module(
            "Tools",
            [
                "Vocabulary", "JSON", "Spelling", "JSONSchema", "EventCodec", "APNsRules",
                "Delivery", "SystemIO", "KafkaIO", "HTTP2IO", "Log", "Configuration", "Credentials",
            ]
        ),
        module(
            "Service",
            [
                "Vocabulary", "JSON", "JSONSchema", "EventCodec", "APNsRules", "ConnectionPool",
                "Delivery", "Telemetry", "SystemIO", "KafkaIO", "RegistryIO", "AdminHTTP",
                "HTTPServer", "YAML", "CFiles", "CLinux", "Log", "Configuration", "Credentials",
                "Shard",
            ]
        ),
        module(
            "APNsSimulator",
            ["Vocabulary", "SystemIO", "HTTP2IO", "HTTP2Peer", "APNsRules", "JSON"]
        ),
        module("Simulation", ["Vocabulary", "APNsRules", "ConnectionPool", "Delivery"]),

        // The commands.
        .executableTarget(
            name: "heliograph",
            dependencies: [
                "Service", "Tools", "Configuration", "Credentials", "Log", "Vocabulary", "Commands",
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "heliograph-lab",
            dependencies: [
                "Service", "Shard", "Configuration", "Log", "APNsSimulator", "Simulation",
                "Delivery",
                "EmbeddedKafka", "SystemIO", "KafkaIO", "HTTP2IO", "HTTP2Peer", "JSON",
                "EventCodec",
                "Vocabulary", "Commands", "HTTPServer",
            ],
            swiftSettings: strict
        ),

        // The benchmarks; see `scripts/bench`.
        .target(
            name: "BenchmarkFloors",
            path: "Benchmarks/Floors",
            linkerSettings: [.linkedLibrary("simdjson")]
        ),
        .executableTarget(
            name: "heliograph-bench",
            dependencies: [
                "Vocabulary", "JSON", "JSONSchema", "EventCodec", "APNsRules", "ConnectionPool",
                "Delivery", "Telemetry", "KafkaIO", "EmbeddedKafka", "HTTP2IO", "HTTP2Peer",
                "CLinux",
                "BenchmarkFloors", "Commands",
            ],
            path: "Benchmarks/Parts",
            swiftSettings: strict
        ),

        tests("VocabularyTests", ["Vocabulary", "CSHA1"]),
        tests("JSONTests", ["JSON"]),
        tests("JSONSchemaTests", ["JSONSchema", "JSON", "CFiles"]),
        tests("EventCodecTests", ["EventCodec", "JSONSchema", "Vocabulary", "JSON", "APNsRules"]),
        tests("APNsRulesTests", ["APNsRules", "Vocabulary"]),
        tests("ConnectionPoolTests", ["ConnectionPool", "Vocabulary"]),
        tests("DeliveryTests", ["Delivery", "Vocabulary", "APNsRules", "ConnectionPool"]),
        tests("SimulationTests", ["Simulation"]),
        tests("TelemetryTests", ["Telemetry", "Vocabulary"]),
        // All tests are one program: linked once, it names the signal that ends any of them.
        .target(name: "LastWords", path: "Tests/LastWords"),
        .target(name: "TestThreads", path: "Tests/TestThreads", swiftSettings: strict),
        tests(
            "KafkaIOTests",
            ["KafkaIO", "EmbeddedKafka", "Vocabulary", "CLinux", "LastWords", "TestThreads"]
        ),
        tests("SystemIOTests", ["SystemIO", "Vocabulary"]),
        tests("HTTP2IOTests", ["HTTP2IO", "HTTP2Peer", "SystemIO", "Vocabulary"]),
        tests("RegistryIOTests", ["RegistryIO", "HTTPServer", "Vocabulary"]),
        tests("YAMLTests", ["YAML"]),
        tests("HTTPServerTests", ["HTTPServer", "HTTP2Peer", "HTTP2IO"]),
        tests("CommandsTests", ["Commands"]),
        tests("CommandLineTests", ["Commands", "heliograph", "heliograph-lab"]),
        tests(
            "AdminHTTPTests",
            ["AdminHTTP", "HTTPServer", "HTTP2IO", "Telemetry", "Vocabulary"]
        ),
        tests("LogTests", ["Log", "Telemetry", "Vocabulary"]),
        tests("ConfigurationTests", ["Configuration", "SystemIO", "Vocabulary"]),
        tests(
            "CredentialsTests",
            [
                "Credentials", "Configuration", "HTTP2IO", "HTTP2Peer", "APNsRules", "Vocabulary",
            ]
        ),
        tests(
            "ShardTests",
            [
                "Shard", "APNsRules", "APNsSimulator", "Configuration", "ConnectionPool",
                "Credentials", "Delivery",
                "EmbeddedKafka", "EventCodec", "HTTP2IO", "HTTP2Peer", "JSON", "JSONSchema",
                "KafkaIO", "Log", "SystemIO", "Telemetry", "Vocabulary", "CRdkafka", "TestThreads",
            ]
        ),
        tests("ToolsTests", ["Tools", "APNsRules", "Vocabulary"]),
        tests(
            "ServiceTests",
            [
                "Service", "AdminHTTP", "Configuration", "Delivery", "EventCodec", "HTTP2Peer",
                "JSONSchema", "KafkaIO", "Log", "Telemetry", "Vocabulary",
            ]
        ),
        tests(
            "APNsSimulatorTests",
            ["APNsSimulator", "HTTP2IO", "HTTP2Peer", "SystemIO", "APNsRules", "Vocabulary"]
        ),
        tests("ArchitectureTests", []),
    ],
    cxxLanguageStandard: .cxx17
)
