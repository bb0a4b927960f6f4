import Commands
import Configuration
import Credentials
import Log
import Service

enum FingerprintCommand {
    private static let token = Operand.required(
        .text("token"),
        help: "A device token, or - to read tokens from standard input, one per line."
    )
    private static let config = Option.optional(
        "config",
        .file,
        help: "Configuration file with log.fingerprint_key_file."
    ).variable(Configuration.fileVariable)
    private static let keyFile = Option.optional(
        "key-file",
        .file,
        help: "The key file itself, instead of --config."
    )

    static let command = Command(
        "fingerprint",
        "Print the fingerprint that logs show for a device token.",
        text: """
            Logs never show a device token. With log.fingerprint_key_file they show a keyed \
            fingerprint instead, under the key 'device', so that you can find a customer's device.

            Anyone who can list processes sees a command's arguments; pass - to read tokens from \
            standard input instead. A fingerprint is the first 16 digits of \
            'openssl dgst -sha256 -hmac KEY' of the token in lower case.
            """,
        parameters: [token, config, keyFile],
        examples: [
            "Print a fingerprint":
                "heliograph fingerprint --config heliograph.yaml - < token.txt",
            "Find a device's log lines (HELIOGRAPH_CONFIG is set)": """
            f=$(heliograph fingerprint - < token.txt) && grep "$f" heliograph.log
            """,
        ],
        exitCodes: [
            0: "Done.",
            1: """
            There is no key or no token, an argument or a line is not a device token, or standard \
            output cannot be written.
            """,
        ]
    ) { arguments in
        let key = try keySource(arguments)
        do {
            try printFingerprints(of: arguments[token], key: key)
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
    }

    private enum KeySource {
        case file(String)
        case configuration(String)
    }

    /// A key file takes precedence over the environment variable that names a configuration.
    private static func keySource(_ arguments: Arguments) throws(UsageError) -> KeySource {
        switch (arguments[keyFile], arguments[config]) {
        case (let file?, _) where !arguments.has(config): return .file(file)
        case (nil, let file?): return .configuration(file)
        default: throw UsageError("--config, --key-file: pass exactly one of them")
        }
    }

    private static func printFingerprints(of token: String, key source: KeySource) throws {
        let key = try load(source)
        for (line, text) in try texts(token) {
            guard let fingerprint = key.fingerprint(ofText: text) else {
                let place = token == "-" ? "line \(line)" : "<token>"
                throw ServiceError(
                    text: "\(place): not a device token; expected an even number of "
                        + "hexadecimal digits"
                )
            }
            Console.show(fingerprint)
        }
    }

    private static func load(_ source: KeySource) throws -> FingerprintKey {
        switch source {
        case .file(let path): return try FingerprintKey(.file(path), named: "--key-file")
        case .configuration(let path):
            guard let key = try ConfigurationOption.load(path).fingerprintKey() else {
                throw ServiceError(
                    text:
                        "log.fingerprint_key_file: is not set, so logs show no fingerprints; make a "
                        + "key with 'openssl rand -hex 32', and give it to all processes"
                )
            }
            return key
        }
    }

    /// The tokens, each with the number of its line.
    private static func texts(_ token: String) throws -> [(line: Int, text: String)] {
        guard token == "-" else { return [(1, token)] }
        guard let bytes = ByteStream.input.readAll(limit: 16 << 20) else {
            throw ServiceError(text: "standard input: cannot be read, or is larger than 16MiB")
        }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let texts = lines.enumerated().map { index, line in
            (index + 1, String(decoding: line, as: UTF8.self).filter { !$0.isWhitespace })
        }
        let tokens = texts.filter { !$0.1.isEmpty }
        guard !tokens.isEmpty else {
            throw ServiceError(text: "standard input: has no device token")
        }
        return tokens
    }
}
