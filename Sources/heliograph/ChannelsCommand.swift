import Commands
import Service
import Tools

enum ChannelsCommand {
    static let command = Command(
        "channels",
        "Create, read, list and delete an app's broadcast channels.",
        text: """
            A broadcast reaches every device that subscribes to a channel; Live Activities use \
            them from iOS 18 on. The app needs the Broadcast Capability. Production and sandbox \
            have separate channels, and an app can have 10,000 in each.

            Each command sends one request, without retries, to \
            apns.endpoints.management_production or management_sandbox, with the credential that \
            covers the app.
            """,
        commands: [create, read, list, delete]
    )

    private enum StoragePolicy: String, CaseIterable {
        case none
        case newest
    }

    private static let storagePolicy = Option.defaulted(
        "storage-policy",
        .choice() as ValueType<StoragePolicy>,
        to: .none,
        help: """
            What APNs keeps, for up to 8 hours, for devices that are offline. It cannot be changed \
            later.
            """
    )
    private static let channel = Option.required(
        "channel",
        ValueType("ID", expected: "a channel ID in base64", read: { ChannelRun.Channel($0) }),
        help: "The channel."
    )

    private static let create = Command(
        "create",
        "Create a channel and print its ID.",
        text: """
            Creating is not idempotent: after exit code 2, list the channels before you try again.
            """,
        parameters: ChannelRequestOptions.parameters + [storagePolicy],
        exitCodes: ChannelRequestOptions.exitCodes
    ) { arguments in
        let storesNewest = arguments[storagePolicy] == .newest
        ChannelRequestOptions.carryOut(.create(storesNewest: storesNewest), arguments)
    }

    private static let read = Command(
        "read",
        "Print a channel's storage policy and push type.",
        parameters: ChannelRequestOptions.parameters + [channel],
        exitCodes: ChannelRequestOptions.exitCodes
    ) { ChannelRequestOptions.carryOut(.read($0[channel]), $0) }

    private static let list = Command(
        "list",
        "Print the ID of each channel of an app, one per line.",
        parameters: ChannelRequestOptions.parameters,
        exitCodes: ChannelRequestOptions.exitCodes
    ) { ChannelRequestOptions.carryOut(.list, $0) }

    private static let delete = Command(
        "delete",
        "Delete a channel permanently.",
        parameters: ChannelRequestOptions.parameters + [channel],
        exitCodes: ChannelRequestOptions.exitCodes
    ) { ChannelRequestOptions.carryOut(.delete($0[channel]), $0) }
}

/// What every request about channels needs.
private enum ChannelRequestOptions {
    static let parameters: [any DeclaredParameter] = [
        ConfigurationOption.config, bundleID, environment, timeout, json,
    ]

    static let exitCodes: KeyValuePairs<Int, String> = [
        0: "Done.",
        1: """
        APNs refused the request, it was not sent, or standard output cannot be written to; \
        standard error has APNs' answer.
        """,
        2: "No answer came; APNs may have carried out the request.",
    ]

    private static let bundleID = Option.required(
        "bundle-id",
        .text("ID"),
        help: "The app's bundle ID, without a suffix."
    )
    private static let environment = Option.optional(
        "environment",
        .choice() as ValueType<ChannelRun.Environment>,
        help: "Where the channel is. Without it, the credential's own environment."
    )
    private static let timeout = Option.defaulted(
        "timeout",
        .integer(1...3600, "SECONDS"),
        to: 30,
        help: "How long to wait for the answer."
    )
    private static let json = Option.flag("json", help: "Print one JSON object.")

    /// Prints the answer and ends the process.
    static func carryOut(_ order: ChannelRun.Order, _ arguments: Arguments) -> Never {
        let run = ChannelRun(
            arguments.loadConfiguration(),
            timeout: .seconds(arguments[timeout])
        )
        do {
            let report = try run.carryOut(
                order,
                bundleID: arguments[bundleID],
                environment: arguments[environment]
            )
            if let text = arguments[json] ? report.json : report.text {
                // A channel whose ID nobody has seen is a channel too many.
                Console.show(
                    text,
                    orTell: "\(report.remarks)\n\(text)",
                    ending: report.ending == .unknown ? .unchecked : .failure
                )
            }
            Console.complain(report.remarks)
            switch report.ending {
            case .done: Console.end(.success)
            case .refused: Console.end(.failure)
            case .unknown: Console.end(.unchecked)
            }
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
    }
}
