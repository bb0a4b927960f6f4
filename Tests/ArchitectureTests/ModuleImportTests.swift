import Foundation
import Testing

/// The layers: what each module may import, as `docs/architecture.md` draws them.
let allowedImports: [String: Set<String>] = [
    "Vocabulary": ["CSHA1"],
    "JSON": ["CSimdjson", "CRE2"],
    "Spelling": [],
    "JSONSchema": ["JSON", "Spelling", "CFiles"],
    "EventCodec": ["Vocabulary", "JSON", "JSONSchema", "CFiles"],
    "APNsRules": ["Vocabulary", "JSON"],
    "ConnectionPool": ["Vocabulary"],
    "Delivery": ["Vocabulary", "APNsRules", "ConnectionPool", "CPrefetch"],
    "Simulation": ["Vocabulary", "APNsRules", "ConnectionPool", "Delivery"],
    "Telemetry": ["Vocabulary", "Synchronization"],
    "KafkaIO": [
        "Vocabulary", "CRdkafka", "CLinux", "CPrefetch", "Glibc", "Synchronization",
    ],
    "SystemIO": ["Vocabulary", "CLinux", "Glibc"],
    "HTTP2IO": [
        "Vocabulary", "SystemIO", "CNghttp2", "COpenSSL", "CLinux", "Glibc", "Synchronization",
    ],
    "HTTP2Peer": ["Vocabulary", "SystemIO", "HTTP2IO", "CNghttp2", "COpenSSL", "Glibc"],
    "EmbeddedKafka": ["Vocabulary", "KafkaIO", "CRdkafka"],
    "RegistryIO": ["Vocabulary", "JSON", "CCurl"],
    "YAML": ["CYAML"],
    "HTTPServer": [
        "Vocabulary", "HTTP2IO", "CLinux", "Foundation", "Glibc", "Synchronization",
    ],
    "Commands": ["Spelling", "Foundation", "Glibc"],
    "AdminHTTP": ["Vocabulary", "Telemetry", "JSON", "HTTPServer", "CFiles", "COpenSSL"],
    "Log": [
        "Vocabulary", "JSON", "Telemetry", "SystemIO", "Foundation", "Glibc", "Synchronization",
    ],
    "Configuration": [
        "Vocabulary", "JSON", "Spelling", "JSONSchema", "EventCodec", "APNsRules", "Delivery",
        "SystemIO", "KafkaIO", "HTTP2IO", "YAML", "Log", "Foundation", "Glibc",
        "Synchronization",
    ],
    "Credentials": [
        "Vocabulary", "APNsRules", "Telemetry", "SystemIO", "KafkaIO", "HTTP2IO", "Log",
        "Configuration",
        "Foundation", "Synchronization",
    ],
    // No configuration: a shard has its own `ShardSettings`.
    "Shard": [
        "Vocabulary", "JSON", "EventCodec", "APNsRules", "ConnectionPool", "Delivery",
        "Telemetry", "SystemIO", "KafkaIO", "HTTP2IO", "Log", "Credentials", "Foundation",
        "Synchronization",
    ],
    "Tools": [
        "Vocabulary", "JSON", "Spelling", "JSONSchema", "EventCodec", "APNsRules", "Delivery",
        "SystemIO", "KafkaIO", "HTTP2IO", "Log", "Configuration", "Credentials", "Foundation",
        "FoundationEssentials",
    ],
    "Service": [
        "Vocabulary", "JSON", "JSONSchema", "EventCodec", "APNsRules", "ConnectionPool",
        "Delivery", "Telemetry", "SystemIO", "KafkaIO", "HTTPServer", "RegistryIO", "AdminHTTP",
        "YAML", "CFiles", "CLinux", "Log", "Configuration", "Credentials", "Shard", "Foundation",
        "Glibc", "Synchronization",
    ],
    "APNsSimulator": [
        "Vocabulary", "SystemIO", "HTTP2IO", "HTTP2Peer", "APNsRules", "JSON", "Glibc",
        "Synchronization",
    ],
]

private let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

struct SourceFile {
    /// `Module/File.swift`.
    let name: String
    let lines: [Substring]
}

func sources(of module: String) throws -> [SourceFile] {
    let folder = root.appending(path: "Sources/\(module)")
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    var sources: [SourceFile] = []
    for case let file as URL in files ?? FileManager.DirectoryEnumerator() {
        guard file.pathExtension == "swift" else { continue }
        let text = try String(contentsOf: file, encoding: .utf8)
        let name = "\(module)/\(file.lastPathComponent)"
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        sources.append(SourceFile(name: name, lines: lines))
    }
    return sources
}

@Suite struct ModuleImportTests {
    @Test(arguments: allowedImports.keys.sorted())
    func `a module imports only what its layer allows`(module: String) throws {
        let allowed = try #require(allowedImports[module])
        let files = try sources(of: module)
        #expect(!files.isEmpty)
        for file in files {
            for line in file.lines {
                let words = line.split(separator: " ")
                guard let index = words.firstIndex(of: "import"), index <= 1,
                    words.count > index + 1
                else { continue }
                let imported = String(words[index + 1])
                #expect(allowed.contains(imported), "\(file.name) imports \(imported)")
            }
        }
    }

    /// The pure core does not read clocks, create random numbers, or wait.
    @Test(arguments: [
        "Vocabulary", "JSON", "Spelling", "JSONSchema", "EventCodec", "APNsRules",
        "ConnectionPool", "Delivery", "Simulation",
    ])
    func `the pure core uses no clock, randomness, task or lock`(module: String) throws {
        let banned = [
            "ContinuousClock", "SuspendingClock", "Date()", "SystemRandomNumberGenerator",
            "Task {", "Task.detached", "await ", "Mutex(", "DispatchQueue", " print(",
        ]
        for file in try sources(of: module) {
            for line in file.lines where !line.drop(while: { $0 == " " }).hasPrefix("//") {
                for word in banned where line.contains(word) {
                    Issue.record("\(file.name): '\(word)' is not allowed in the pure core")
                }
            }
        }
    }
}

@Suite struct SourceStyleTests {
    private static let modules =
        allowedImports.keys.sorted() + ["heliograph", "heliograph-lab"]

    /// The modules on a record's path.
    ///
    /// The compiler can inline only `public` functions into another module: see
    /// docs/decisions/0024.
    private static let recordPath: Set<String> = [
        "Vocabulary", "JSON", "JSONSchema", "EventCodec", "APNsRules", "ConnectionPool",
        "Delivery", "Telemetry", "SystemIO", "KafkaIO", "HTTP2IO",
    ]

    @Test(arguments: modules)
    func `cross-module API is public on the record path, and package elsewhere`(
        module: String
    ) throws {
        let banned = Self.recordPath.contains(module) ? "package " : "public "
        for file in try sources(of: module) {
            for line in file.lines {
                let code = line.drop { $0 == " " }
                guard !code.hasPrefix("public import") else { continue }
                #expect(!code.hasPrefix(banned), "\(file.name): not \(banned)")
            }
        }
    }

    @Test(arguments: modules)
    func `nothing is re-exported, and no TODO is left`(module: String) throws {
        for file in try sources(of: module) {
            for line in file.lines {
                #expect(!line.contains("@_exported"), "\(file.name): import it where it is used")
                #expect(!line.contains("TODO") && !line.contains("FIXME"), "\(file.name)")
            }
        }
    }
}
