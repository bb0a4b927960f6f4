import Configuration
import Foundation
import Log
import Service
import Testing

/// Problems in the contents of files that a configuration names.
@Suite struct ConfigurationContentTests {
    /// Returns what `heliograph check` reports for a configuration that names unusable files.
    ///
    /// In the configuration and the report, `FOLDER` stands for the files' folder.
    private func told(_ yaml: String) throws -> [String] {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "heliograph-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["garbage.p8", "garbage.pem", "short.key"] {
            try Data("garbage".utf8).write(to: folder.appending(path: name))
        }
        let path = folder.path(percentEncoded: false)
        let file = folder.appending(path: "h.yaml")
        try Data(yaml.replacing("FOLDER", with: path).utf8).write(to: file)
        do throws(ServiceError) {
            let name = file.path(percentEncoded: false)
            try Configuration(file: name, environment: [:]).checkCredentials()
            return []
        } catch {
            return error.lines.map { $0.replacing(path, with: "FOLDER") }
        }
    }

    private static func credential(_ name: String, _ keyFile: String, bundleID: String) -> String {
        """
        {name: \(name), team_id: DEF123GHIJ, key_id: ABC123DEFG, key_file: FOLDER/\(keyFile), \
        bundle_ids: [\(bundleID)]}
        """
    }

    private static let contents = [
        "log.fingerprint_key_file: 'FOLDER/short.key' is shorter than 16 bytes",
        "admin.bearer_token_file: 'FOLDER/short.key' has a token shorter than 16 bytes",
        "apns.credentials.0.key_file: 'FOLDER/garbage.p8' is not PEM; expected the .p8 private key",
        "apns.ca_file: 'FOLDER/garbage.pem' is not PEM; expected certificates in PEM",
    ]

    private func expect(_ starts: [String], of yaml: String) throws {
        let told = try told(yaml)
        #expect(told.count == starts.count, "\(told)")
        for (line, start) in zip(told, starts) {
            #expect(line.hasPrefix(start))
            #expect(line.contains(" (FOLDER/h.yaml:"), "\(line)")
        }
    }

    /// Except problems that follow from others, and librdkafka's own checks.
    @Test func `problems in files are reported together with wrong keys`() throws {
        let keys = [
            "log.level: is 'loud'; expected", "limit: is not a known key",
            "apns.credentials.1.key_file: 'FOLDER/nowhere.p8' cannot be read",
            "apns.credentials.2.bundle_ids.0: is 'not one'; expected",
        ]
        try expect(
            keys + Self.contents,
            of: """
                log: {level: loud, fingerprint_key_file: FOLDER/short.key}
                admin: {bearer_token_file: FOLDER/short.key}
                limit: {}
                kafka: {properties: {no.such.property: 1}}
                apns:
                  ca_file: FOLDER/garbage.pem
                  credentials:
                    - \(Self.credential("a", "garbage.p8", bundleID: "com.example.a"))
                    - \(Self.credential("b", "nowhere.p8", bundleID: "com.example.b"))
                    - \(Self.credential("c", "garbage.p8", bundleID: "not one"))
                """
        )
    }

    @Test func `one file's problem hides neither another file's nor Kafka's`() throws {
        try expect(
            ["kafka.properties.no.such.property: "] + Self.contents,
            of: """
                log: {fingerprint_key_file: FOLDER/short.key}
                admin: {bearer_token_file: FOLDER/short.key}
                kafka: {properties: {no.such.property: 1}}
                apns:
                  ca_file: FOLDER/garbage.pem
                  credentials: [\(Self.credential("a", "garbage.p8", bundleID: "com.example.a"))]
                """
        )
    }

    @Test func `a secret in the file is one problem`() throws {
        let inline = Self.credential("a", "garbage.p8", bundleID: "com.example.a")
            .replacing("key_file: FOLDER/garbage.p8", with: "key: s3cret")
        try expect(
            ["apns.credentials.0.key: is a secret and does not belong in this file; expected"],
            of: "apns: {credentials: [\(inline)]}"
        )
    }

    @Test func `an unreadable file is reported once`() throws {
        try expect(
            [
                "log.fingerprint_key_file: 'FOLDER/nowhere.key' cannot be read",
                "admin.bearer_token_file: 'FOLDER/nowhere.key' cannot be read",
                "apns.proxy_password_file: 'FOLDER/nowhere.txt' cannot be read",
                "apns.credentials.0.key_file: 'FOLDER/nowhere.p8' cannot be read",
            ],
            of: """
                log: {fingerprint_key_file: FOLDER/nowhere.key}
                admin: {bearer_token_file: FOLDER/nowhere.key}
                apns:
                  ca_file: FOLDER/garbage.pem
                  proxy_password_file: FOLDER/nowhere.txt
                  credentials: [\(Self.credential("a", "nowhere.p8", bundleID: "com.example.a"))]
                """
        )
    }
}
