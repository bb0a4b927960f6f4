import Configuration
import Foundation
import HTTP2Peer
import Log
import Service
import Testing

/// No message or summary shows a key or a password set as another value by mistake.
@Suite final class ShownSecretsTests {
    private static let pem = String(decoding: EphemeralAuthority.signingKeyPEM(), as: UTF8.self)
    private static let lines = pem.split(separator: "\n").dropFirst().dropLast()

    /// The misplaced value, and the parts that would reveal it.
    private static let misplaced: [(text: String, secrets: [String])] = [
        (pem, lines.map(String.init)),
        (pem.replacing("\n", with: "\\n"), lines.map(String.init)),
        (pem.replacing("\n", with: " "), lines.map(String.init)),
        (lines.joined(), lines.map(String.init)),
        (String(repeating: "correct horse ", count: 20), ["horse"]),
        ("one line\nhunter2", ["hunter2"]),
    ]

    /// Every key with its variable; for a list, the variable of the first entry.
    private static let keys: [(path: String, variable: String)] = Configuration.keys.map { key in
        let name = key.path.replacing("[]", with: ".0").replacing(".", with: "_").uppercased()
        let property = key.path == "kafka.properties" ? "_SECURITY_PROTOCOL" : ""
        return (key.path, "HELIOGRAPH_\(name)\(property)")
    }

    /// With a `ca_file` of its own: parsing the system's roots would be most of the work.
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory
            .appending(path: "heliograph-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(EphemeralAuthority().rootPEM).write(to: folder.appending(path: "roots.pem"))
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private static var credential: [String: Any] {
        [
            "name": "a", "team_id": "DEF123GHIJ", "key_id": "ABC123DEFG",
            "key_file": "/nowhere.p8", "bundle_ids": ["com.example.a"],
        ]
    }

    /// A configuration with one credential and one more value; JSON is YAML.
    private func yaml(_ path: String, _ value: String) throws -> Data {
        let roots = folder.appending(path: "roots.pem").path(percentEncoded: false)
        var root: [String: Any] = ["apns": ["credentials": [Self.credential], "ca_file": roots]]
        set(&root, path.split(separator: ".").map(String.init)[...], value)
        return try JSONSerialization.data(withJSONObject: root)
    }

    private func set(_ node: inout [String: Any], _ path: ArraySlice<String>, _ value: String) {
        guard let first = path.first else { return }
        let name = first.replacing("[]", with: "")
        if path.count == 1 {
            node[name] = name == "properties" ? ["sasl.password": value] : value as Any
        } else if first.hasSuffix("[]") {
            var entries = node[name] as? [[String: Any]] ?? [[:]]
            set(&entries[0], path.dropFirst(), value)
            node[name] = entries
        } else {
            var inner = node[name] as? [String: Any] ?? [:]
            set(&inner, path.dropFirst(), value)
            node[name] = inner
        }
    }

    /// Everything that `heliograph check` prints.
    private func said(_ yaml: Data, _ environment: [String: String]) throws -> String {
        let file = folder.appending(path: "heliograph.yaml")
        try yaml.write(to: file)
        do throws(ServiceError) {
            let name = file.path(percentEncoded: false)
            let configuration = try Configuration(file: name, environment: environment)
            let warnings = try configuration.checkCredentialsNow()
            return configuration.summary + warnings.joined()
        } catch {
            return error.description
        }
    }

    @Test func `there are configuration keys to test`() {
        #expect(Self.keys.count > 80)
        #expect(Self.keys.contains { $0.path == "apns.credentials[].key_file" })
    }

    @Test(arguments: 0..<misplaced.count)
    func `no configuration key shows a secret that is its value by mistake`(form: Int) throws {
        let (text, secrets) = Self.misplaced[form]
        for (path, variable) in Self.keys {
            let texts = [
                try said(yaml(path, text), [:]), try said(yaml("shards", "1"), [variable: text]),
            ]
            for told in texts {
                for secret in secrets { #expect(!told.contains(secret), "\(path): \(told)") }
            }
        }
    }

    @Test(arguments: ["\n", "\\n"])
    func `a key is accepted from a variable, and rejected in the file`(end: String) throws {
        let key = Self.pem.replacing("\n", with: end)
        let variable = "HELIOGRAPH_APNS_CREDENTIALS_0_KEY"
        var credential = Self.credential
        credential["key_file"] = nil
        let yaml = try JSONSerialization.data(
            withJSONObject: ["apns": ["credentials": [credential]]]
        )
        let accepted = try said(yaml, [variable: key])
        #expect(accepted.contains("apns.credentials.0.key: (hidden)\n"))
        credential["key"] = key
        let refused = try JSONSerialization.data(
            withJSONObject: ["apns": ["credentials": [credential]]]
        )
        #expect(
            try said(refused, [:]).hasPrefix(
                """
                apns.credentials.0.key: is a secret and does not belong in this file; \
                expected the variable \(variable), or `key_file` (
                """
            )
        )
    }

    @Test func `a key and its file cannot both be set`() throws {
        let said = try said(
            yaml("shards", "1"),
            ["HELIOGRAPH_APNS_CREDENTIALS_0_KEY": Self.pem]
        )
        #expect(
            said.contains(
                "apns.credentials.0.key: is set together with `key_file`; remove one of them"
            )
        )
    }

    @Test func `a problem with a variable's value names the variable`() throws {
        var credential = Self.credential
        credential["key_file"] = nil
        let yaml = try JSONSerialization.data(
            withJSONObject: ["apns": ["credentials": [credential]]]
        )
        let said = try said(yaml, ["HELIOGRAPH_APNS_CREDENTIALS_0_KEY": "hunter2"])
        #expect(
            said == """
                apns.credentials.0.key: the variable HELIOGRAPH_APNS_CREDENTIALS_0_KEY is not PEM; \
                expected the .p8 private key from Apple
                """
        )
    }

    @Test(arguments: [
        ("", "''"), ("/etc/key.p8", "'/etc/key.p8'"), ("a\u{1B}[2Jb", "'a?[2Jb'"),
        ("http://u:p@h", "'http://u:(hidden)@h'"),
        ("a\nb", "a text of 3 bytes (not shown)"),
        ("-----BEGIN", "a text of 10 bytes (not shown)"),
        (String(repeating: "x", count: 200), "'\(String(repeating: "x", count: 200))'"),
        (String(repeating: "x", count: 201), "a text of 201 bytes (not shown)"),
        ("MIGH" + String(repeating: "A/9=", count: 15), "a text of 64 bytes (not shown)"),
        (
            "MIGH" + String(repeating: "A.9=", count: 15),
            "'MIGH\(String(repeating: "A.9=", count: 15))'"
        ),
    ])
    func `a message quotes a value unless it may be a secret`(value: String, quoted: String) {
        #expect(value.quoted == quoted)
    }

    @Test(arguments: [
        ("", ""), ("a -----END b", "a -----END b"),
        ("is '-----BEGIN X-----\nAB\n-----END X-----', b", "is '(hidden)', b"),
        ("is '-----BEGIN X-----AB", "is '(hidden)"),
        ("a -----BEGIN X----- AB -----END X", "a (hidden)"),
    ])
    func `a PEM block in a message is hidden`(sentence: String, shown: String) {
        #expect(Secrets.withoutKeys(sentence) == shown)
    }
}
