import KafkaIO

/// The keys of `kafka.properties` that name a file instead of a value.
enum KafkaPropertyFile {
    private static let suffix = "_file"
    /// A property itself, because clients read the file repeatedly while the service runs.
    static let tokens = "sasl.oauthbearer.token_file"

    /// The property whose value is in a file; nil: the key is itself a property.
    static func property(of key: String) -> String? {
        guard key.hasSuffix(suffix), KafkaConfiguration.withoutPrefix(key) != tokens else {
            return nil
        }
        return String(key.dropLast(suffix.count))
    }

    static func key(of property: String) -> String { property + suffix }

    /// The key for a variable's name, in which each `_` was replaced by `.`.
    ///
    /// librdkafka has its own OAUTHBEARER properties that end with `.file`.
    static func key(ofVariable dotted: String) -> String {
        let name = KafkaConfiguration.withoutPrefix(dotted)
        let isOwn = name.hasPrefix("sasl.oauthbearer.") && name != "sasl.oauthbearer.token.file"
        return dotted.hasSuffix(".file") && !isOwn ? key(of: String(dotted.dropLast(5))) : dotted
    }
}

extension Configuration {
    /// Reads the files that contain properties of the Kafka client, and sets these properties.
    ///
    /// - Returns: One problem for each unusable file, with its key.
    package mutating func takePropertyFiles() -> [ConfigurationProblem] {
        var problems: [ConfigurationProblem] = []
        for (property, path) in kafka.propertyFiles.sorted(by: { $0.key < $1.key }) {
            do throws(KafkaPropertyFileError) {
                kafka.properties[property] = try Self.propertyText(path)
            } catch {
                let key = "kafka.properties.\(KafkaPropertyFile.key(of: property))"
                problems.append(problem("\(path.quoted) \(error.sentence)", at: key))
            }
        }
        return problems
    }

    private static func propertyText(_ path: String) throws(KafkaPropertyFileError) -> String {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try BoundedFile.read(path, limit: maxKeyFileByteCount)
        } catch {
            throw KafkaPropertyFileError(sentence: "\(error); check the path")
        }
        // librdkafka ends a text at its first NUL.
        guard let text = SecretText.line(ofUTF8: bytes), !text.utf8.contains(0) else {
            throw KafkaPropertyFileError(sentence: "is not text in UTF-8; save it as UTF-8")
        }
        guard !text.isEmpty else { throw KafkaPropertyFileError(sentence: "is empty") }
        return text
    }
}

private struct KafkaPropertyFileError: Error {
    /// Continues a sentence that starts with the file's path.
    let sentence: String
}
