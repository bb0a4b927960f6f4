import Configuration

/// `docs/configuration.md`, from the definitions that the reader itself uses.
enum ConfigurationReference {
    static let markdown = Configuration.keys.map(row).reduce(introduction, +)

    private static let introduction = """
        # Configuration

        Generated from the definitions in `Sources/Configuration`; a test compares them.

        Heliograph reads one YAML file, the one that `--config` or `HELIOGRAPH_CONFIG` names. Scalars \
        follow YAML 1.2's core schema: `no` and `off` are text, `0x10` is a number. Anchors and aliases \
        work; merge keys (`<<`) and custom tags are errors.

        The environment variable in the table overrides a key. `<n>` is the index of a list entry, \
        from 0; the index after the last adds an entry. Separate the values of a list by commas. \
        An empty variable sets a key that may be null to `null`, and is ignored for any other. \
        Keys of `kafka.properties` are written with `_` instead of `.`; a variable that ends in \
        `_FILE` names a file.

        Secrets do not belong in the configuration file, which refuses them. Put a secret into a \
        file and name it with the key that ends in `_file`, or into the variable of the key \
        without that ending.

        Durations are a whole number and `ms`, `s`, `m` or `h`. Sizes are bytes, alone or with \
        `KiB`, `MiB`, `GiB`, `kB`, `MB` or `GB`. Unknown keys, unknown `HELIOGRAPH_` variables \
        and keys set twice are errors.

        All errors are reported at once: in keys and variables, unreadable files, your schemas, \
        and the content of the files of credentials, `apns.ca_file`, `admin` and \
        `log.fingerprint_key_file`. Some appear only after others are fixed:

        - if the file is not YAML: all others;
        - the content of a credential's files: after its keys are correct and all its files can be \
        read; that of `apns.ca_file`: after `apns.proxy_password_file` can be read as well;
        - librdkafka's errors in `kafka.properties`: once all keys and your schemas are correct \
        and every file can be read;
        - a certificate that is not for its credential's `environment`: once all credentials' \
        files are correct, too;
        - missing topics: Kafka is asked last.

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
