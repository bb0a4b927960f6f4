import Commands
import Service
import Tools
import Vocabulary

enum ChannelsCommand {
    static let command = Command(
        "channels",
        "Create, read, list and delete an app's broadcast channels.",
        text: """
            A broadcast reaches every device that subscribes to its channel; Live Activities use \
            them since iOS 18. The app needs the Broadcast Capability. Production and sandbox have \
            separate channels, at most 10,000 per app in each.

            Each command sends one request, without retries, to \
            apns.endpoints.management_production or management_sandbox, with the credential that \
            covers the app.
            """,
        commands: ["Commands": [create, read, list, delete]]
    )

    private enum StoragePolicy: String, CaseIterable {
        case none
        case newest
    }

    private static let storagePolicy = Option.defaulted(
        "storage-policy",
        .choice("policy") as ValueType<StoragePolicy>,
        to: .none,
        help: """
            What APNs stores for offline devices, for up to 8 hours. It cannot be changed later.
            """
    )
    private static let channel = Option.required(
        "channel",
        ValueType("id", expected: "a channel ID in base64", read: { ChannelID($0) }),
        help: "The channel's ID."
    )

    private static let create = Command(
        "create",
        "Create a channel and print its ID.",
        text: """
            Not idempotent: after exit code 2, list the channels before you try again.
            """,
        parameters: ChannelRequestOptions.parameters([storagePolicy]),
        examples: [
            "Store the newest broadcast for offline devices (HELIOGRAPH_CONFIG is set)":
                """
            heliograph channels create --bundle-id com.example.app --storage-policy newest
            """
        ],
        exitCodes: ChannelRequestOptions.exitCodes
    ) { arguments in
        let storesNewest = arguments[storagePolicy] == .newest
        ChannelRequestOptions.carryOut(.create(storesNewest: storesNewest), arguments)
    }

    private static let read = Command(
        "read",
        "Print a channel's storage policy and push type.",
        parameters: ChannelRequestOptions.parameters([channel]),
        examples: [
            "Read one channel (HELIOGRAPH_CONFIG is set)":
                """
            heliograph channels read --bundle-id com.example.app --channel dHN0LXNyY2g=
            """
        ],
        exitCodes: ChannelRequestOptions.exitCodes
    ) { ChannelRequestOptions.carryOut(.read($0[channel]), $0) }

    private static let list = Command(
        "list",
        "Print the IDs of an app's channels, one per line.",
        parameters: ChannelRequestOptions.parameters(),
        examples: [
            "List an app's channels":
                """
            heliograph channels list --config heliograph.yaml --bundle-id com.example.app
            """
        ],
        exitCodes: ChannelRequestOptions.exitCodes
    ) { ChannelRequestOptions.carryOut(.list, $0) }

    private static let delete = Command(
        "delete",
        "Delete a channel permanently.",
        parameters: ChannelRequestOptions.parameters([channel]),
        examples: [
            "Delete one channel (HELIOGRAPH_CONFIG is set)":
                """
            heliograph channels delete --bundle-id com.example.app --channel dHN0LXNyY2g=
            """
        ],
        exitCodes: ChannelRequestOptions.exitCodes
    ) { ChannelRequestOptions.carryOut(.delete($0[channel]), $0) }
}

/// The options of every request about channels.
private enum ChannelRequestOptions {
    static func parameters(_ own: [any DeclaredParameter] = []) -> [any DeclaredParameter] {
        [ConfigurationOption.config, bundleID] + own + [environment, timeout, json]
    }

    static let exitCodes: KeyValuePairs<Int, String> = [
        0: "Done.",
        1: """
        APNs refused the request, it was not sent, or standard output cannot be written; standard \
        error says which.
        """,
        2: "APNs did not answer; it may have carried out the request.",
    ]

    private static let bundleID = Option.required(
        "bundle-id",
        .text("id"),
        help: "The app's bundle ID, without a push type's suffix."
    )
    private static let environment = Option.optional(
        "environment",
        .choice("environment") as ValueType<APNsEnvironment>,
        help: "The channel's environment; by default, the credential's."
    )
    private static let timeout = Option.defaulted(
        "timeout",
        .integer(1...3600, "seconds"),
        to: 30,
        help: "How long to wait for the answer, from 1 to 3600."
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
                // If the ID of a created channel is lost, the channel cannot be used but still
                // counts.
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
