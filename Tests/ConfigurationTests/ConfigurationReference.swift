import Configuration

/// `docs/configuration.md`, from the definitions that the reader itself uses.
enum ConfigurationReference {
    static let markdown = Configuration.keys.map(row).reduce(introduction, +)

    private static let introduction = """
        # Configuration

        Generated from the keys' definitions in `Sources/Configuration`; a test compares.

        Heliograph reads one YAML file, the one that `--config` or `HELIOGRAPH_CONFIG` names. Scalars \
        follow YAML 1.2's core schema: `no` and `off` are text, `0x10` is a number. Anchors and aliases \
        work; merge keys (`<<`) and custom tags are errors.

        Every key can be overridden by the environment variable in \
        the table; `<n>` counts the entries of a list from 0, and an entry past the end of the \
        file's list adds one. A list of values is separated by commas. An empty variable means \
        `null` for a key that may be null, and says nothing of any other. Keys of \
        `kafka.properties` are written with `_` for `.`; one that ends in `_FILE` names a file.

        A secret comes from a file, under the key with `_file`, or from the variable of the key without; \
        in the configuration file it is refused.

        Durations are a whole number and `ms`, `s`, `m` or `h`. Sizes are bytes, alone or with \
        `KiB`, `MiB`, `GiB`, `kB`, `MB` or `GB`. Unknown keys, unknown `HELIOGRAPH_` variables \
        and keys set twice are errors.

        All errors are reported at once: of keys and variables, of files that cannot be read, of \
        own schemas, and of what stands in the files of credentials, `apns.ca_file`, \
        `admin` and `log.fingerprint_key_file`. Some appear only after others are fixed:

        - of a file that is not YAML, all others;
        - what stands in a credential's files, when its keys are right and all its files can be \
        read; in `apns.ca_file`, when `apns.proxy_password_file` can be read as well;
        - librdkafka's verdict on `kafka.properties`, when no key and no own schema is wrong and \
        every file can be read;
        - whether certificates serve the `environment` of their credentials, when besides all \
        credentials' files are right;
        - topics that are missing: Kafka is asked for them last.

        | key | type | default | meaning | variable |
        |---|---|---|---|---|

        """

    private static func row(_ definition: KeyDefinition) -> String {
        let names = definition.path.replacing("[]", with: ".<n>").split(separator: ".")
        let variable =
            "HELIOGRAPH_"
            + names.map { $0 == "<n>" ? "<n>" : $0.uppercased() }.joined(separator: "_")
        let suffix = definition.path == "kafka.properties" ? "_<property>" : ""
        let defaultText = definition.defaultText.map { "`\($0)`" } ?? "required"
        return """
            | `\(definition.path)` | \(definition.type) | \(defaultText) \
            | \(definition.documentation) | `\(variable)\(suffix)` |

            """
    }
}
