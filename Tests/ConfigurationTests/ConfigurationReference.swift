import Configuration

/// `docs/configuration.md`, generated from the definitions that the reader uses.
enum ConfigurationReference {
    static let markdown = Configuration.keys.map(row).reduce(introduction, +)

    private static let introduction = """
        # Configuration

        Generated from the definitions in `Sources/Configuration`; a test compares them.

        Heliograph reads one YAML file, named by `--config` or `HELIOGRAPH_CONFIG`. Scalars follow \
        YAML 1.2's core schema: `no` and `off` are text, `0x10` is a number. Anchors and aliases \
        work; merge keys (`<<`) and custom tags are errors.

        The environment variable in the table overrides a key. `<n>` is the index of a list entry, \
        from 0; the index after the last adds an entry. Separate the values of a list with commas. \
        An empty variable sets the key to `null` if it may be null; otherwise it is ignored. Write \
        keys of `kafka.properties` with `_` instead of `.`; a variable that ends in `_FILE` names \
        a file.

        Heliograph refuses secrets in the configuration file. Put a secret into a file and set the \
        key that ends in `_file` to its path, or set the variable of the key without that ending \
        to the secret. Secrets in `kafka.properties`, such as `sasl.password`, cause only a \
        warning.

        Durations are a whole number and `ms`, `s`, `m` or `h`. Sizes are bytes, alone or with \
        `KiB`, `MiB`, `GiB`, `kB`, `MB` or `GB`. Unknown keys, unknown `HELIOGRAPH_` variables \
        and keys set twice are errors.

        All errors are reported at once: in keys and variables, in your schemas, in files that \
        cannot be read, and in the files of credentials, `apns.ca_file`, `admin` and \
        `log.fingerprint_key_file`. Some errors appear only after you have fixed others:

        - all others, if the file is not valid YAML;
        - errors in a credential's files: once its keys are correct and all its files can be read; \
        errors in `apns.ca_file`: once `apns.proxy_password_file` can be read as well;
        - librdkafka's errors in `kafka.properties`: once all keys and your schemas are correct \
        and every file can be read;
        - a certificate for the wrong `environment`: once the files of all credentials are correct \
        as well;
        - missing topics: Kafka is checked last.

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
