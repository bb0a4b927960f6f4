import ArgumentParser
import Service

struct FingerprintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fingerprint",
        abstract: "Print the name by which logs call a device token.",
        discussion: """
            Logs never show a device token. With log.fingerprint_key_file they name it by a keyed \
            fingerprint, in the key 'device', so that a customer's device can be looked for:

              kubectl logs -l app.kubernetes.io/name=heliograph --tail=-1 --prefix | \\
                  grep "$(heliograph fingerprint --config heliograph.yaml - < token.txt)"

            An argument is seen by everybody who may list processes; '-' reads from standard \
            input, a token a line. The same key gives the same fingerprint everywhere; it is the \
            first 16 digits of 'openssl dgst -sha256 -hmac KEY' over the token in lower case.

            Exit codes: 0 done; 1 there is no key, a text is no device token, or standard output \
            takes no more; 64 the command line is wrong.
            """
    )

    @Argument(help: ArgumentHelp("The device token; - reads tokens from standard input."))
    var token: String

    @OptionGroup var key: FingerprintKeyOptions

    func run() throws {
        do {
            let key = try key.load()
            for (index, text) in try texts().enumerated() {
                guard let fingerprint = key.fingerprint(ofText: text) else {
                    let place = token == "-" ? "line \(index + 1)" : "the argument"
                    throw ServiceError(
                        text: "\(place) is no device token: expected an even number of "
                            + "hexadecimal digits"
                    )
                }
                Console.show(fingerprint)
            }
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
    }

    private func texts() throws -> [String] {
        guard token == "-" else { return [token] }
        guard let bytes = ByteStream.input.readAll(limit: 16 << 20) else {
            throw ServiceError(text: "standard input cannot be read, or is larger than 16MiB")
        }
        return bytes.split(separator: UInt8(ascii: "\n"))
            .map { String(decoding: $0, as: UTF8.self).filter { !$0.isWhitespace } }
            .filter { !$0.isEmpty }
    }
}

/// Where the key of fingerprints comes from.
struct FingerprintKeyOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("A configuration with log.fingerprint_key_file.", valueName: "file")
    )
    var config: String?

    @Option(
        help: ArgumentHelp("The key file itself, instead of a configuration.", valueName: "file")
    )
    var keyFile: String?

    func validate() throws {
        guard (config == nil) != (keyFile == nil) else {
            throw ValidationError("Either --config or --key-file is needed.")
        }
    }

    func load() throws -> FingerprintKey {
        if let keyFile { return try FingerprintKey(path: keyFile, named: "--key-file") }
        let configuration = ConfigurationOption.load(config ?? "")
        guard let key = try configuration.fingerprintKey() else {
            throw ServiceError(
                text: "log.fingerprint_key_file: is not set, so logs name no device; make a key "
                    + "with 'openssl rand -hex 32', and give it to all processes"
            )
        }
        return key
    }
}
