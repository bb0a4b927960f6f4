import Configuration
import Foundation
import Log
import Service
import Testing

/// Kafka client properties that are read from files.
@Suite struct KafkaPropertyFileTests {
    private static let plain = "security.protocol: sasl_plaintext, sasl.mechanism: PLAIN"

    /// The configuration with a password file in `FOLDER`.
    private func read(
        _ content: [UInt8]?,
        _ properties: String = "\(plain), sasl.username: me, sasl.password_file: FOLDER/password"
    ) throws -> (configuration: Configuration?, told: [String]) {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "heliograph-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.path(percentEncoded: false)
        if let content { try Data(content).write(to: folder.appending(path: "password")) }
        let yaml = """
            kafka: {properties: {\(properties)}}
            apns:
              credentials:
                - name: a
                  team_id: DEF123GHIJ
                  key_id: ABC123DEFG
                  key_file: FOLDER/h.yaml
                  bundle_ids: [com.example.a]
            """
        let file = folder.appending(path: "h.yaml")
        try Data(yaml.replacing("FOLDER", with: path).utf8).write(to: file)
        do throws(ServiceError) {
            let name = file.path(percentEncoded: false)
            return (try Configuration(file: name, environment: [:]), [])
        } catch {
            return (nil, error.lines.map { $0.replacing(path, with: "FOLDER") })
        }
    }

    @Test(arguments: [
        ("s3cret", "s3cret"), ("s3cret\n", "s3cret"), ("\u{FEFF}s3cret\r\n", "s3cret"),
        (" s3 cret ", " s3 cret "), ("one\ntwo\n", "one\ntwo"), ("s\u{E9}cret", "s\u{E9}cret"),
    ])
    func `a property's value is the content of its file`(content: String, value: String) throws {
        let (configuration, told) = try read(Array(content.utf8))
        #expect(told == [])
        #expect(configuration?.kafka.properties["sasl.password"] == value)
        #expect(configuration?.summary.contains("cret") == false)
    }

    @Test(
        arguments: [
            (nil, "cannot be read: No such file or directory; check the path"),
            ([], "is empty; check the path"), ([0x0A], "is empty"),
            ([0x61, 0x00, 0x62], "is not text in UTF-8; save it as UTF-8"),
            ([0x61, 0xFF], "is not text in UTF-8; save it as UTF-8"),
        ] as [([UInt8]?, String)]
    )
    func `an unusable file is reported once`(content: [UInt8]?, sentence: String) throws {
        let told = try read(content).told.filter { $0.hasPrefix("kafka.") }
        #expect(told.count == 1)
        let start = "kafka.properties.sasl.password_file: 'FOLDER/password' \(sentence) (FOLDER/h"
        #expect(told.first?.hasPrefix(start) == true, "\(told)")
    }

    @Test func `a property without effect is refused for commands too, with its place`() throws {
        let configuration = try #require(
            try read(nil, "ssl.ca.location: FOLDER/h.yaml").configuration
        )
        #expect {
            try configuration.checkKafkaProperties()
        } throws: { error in
            let lines = (error as? ServiceError)?.lines ?? []
            return lines.count == 1
                && lines.allSatisfy {
                    $0.hasPrefix("kafka.properties.ssl.ca.location: has no effect")
                        && $0.contains("h.yaml:")
                }
        }
        let sound = try #require(
            try read(nil, "\(Self.plain), sasl.username: me, sasl.password: x").configuration
        )
        try sound.checkKafkaProperties()
    }

    /// librdkafka quotes the values that it rejects.
    @Test func `no message shows the content of a file`() throws {
        let configuration = try #require(
            try read(Array("hunter2".utf8), "security.protocol_file: FOLDER/password").configuration
        )
        #expect {
            try configuration.checkCredentials()
        } throws: { error in
            let text = "\(error)"
            return text.contains("kafka.properties.security.protocol: ")
                && !text.contains("hunter2")
        }
    }
}
