import Commands
import Configuration
import Foundation
import Log
import Service
import Tools

enum PushCommand {
    static let command = Command(
        "push",
        "Send one notification or broadcast now, and show everything about it.",
        text: """
            Use it when a device stays silent. It sends with the service's own client, credentials \
            and checks, but without Kafka and without retries. It prints the request's headers, \
            the times, APNs' answer and what the answer means. It never prints the provider token, \
            and only a part of the device token.

            Give either --event, or --bundle-id with --token or --channel.
            """,
        parameters: [
            ConfigurationOption.config, event, broadcast, token, channel, bundleID, pushType,
            environment, priority, expiration, collapseID, alert, payload, timeout,
        ],
        examples: [
            "A notification:": """
            heliograph push --config heliograph.yaml --token a1b2... \
            --bundle-id com.example.App --alert "Hello"
            """,
            "A broadcast:": """
            heliograph push --config heliograph.yaml --channel dHN0... \
            --bundle-id com.example.App \
            --payload '{"aps":{"event":"update","timestamp":1767225600,"content-state":{}}}'
            """,
            "An event as it is in Kafka:":
                "heliograph push --config heliograph.yaml --event event.json",
        ],
        exitCodes: [
            0: "APNs accepted it.",
            1: """
            APNs did not accept it, it was not sent, or standard output cannot be written to; \
            standard error has APNs' answer.
            """,
        ]
    ) { arguments in
        try checkRules(arguments)
        let push = PushRun(
            arguments.loadConfiguration(),
            timeout: .seconds(arguments[timeout])
        )
        do {
            let isBroadcast = arguments[broadcast] || arguments[channel] != nil
            let report = try push.send(
                try eventText(arguments),
                as: isBroadcast ? .broadcast : .notification
            )
            // Who does not hear that APNs has it sends it again.
            Console.show(report.text, orTell: report.text)
            Console.end(report.isAccepted ? .success : .failure)
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
    }

    // MARK: - Options

    private static let event = Option.optional(
        "event",
        .file,
        help: "An event as it is in the topic; - reads standard input."
    )
    private static let broadcast = Option.flag("broadcast", help: "The event is a broadcast.")
    private static let token = Option.optional("token", .text("HEX"), help: "The device token.")
    private static let channel = Option.optional(
        "channel",
        .text("ID"),
        help: "The channel to broadcast to."
    )
    private static let bundleID = Option.optional(
        "bundle-id",
        .text("ID"),
        help: "The app's bundle ID, without the push type's suffix."
    )
    private static let pushType = Option.defaulted(
        "push-type",
        .text("TYPE"),
        to: "alert",
        help: "alert, background, voip, ... Not for broadcasts."
    )
    private static let environment = Option.optional(
        "environment",
        .choice() as ValueType<ChannelRun.Environment>,
        help: "Where to send. Without it, the credential's own environment."
    )
    private static let priority = Option.optional(
        "priority",
        .integer() as ValueType<Int>,
        help: "10, 5 or 1."
    )
    private static let expiration = Option.optional(
        "expiration",
        .integer(Int64.min...Int64.max, "SECONDS"),
        help: """
            When the notification expires, in seconds since 1970; 0 means that APNs does not store \
            it. Broadcasts have 0 by default.
            """
    )
    private static let collapseID = Option.optional(
        "collapse-id",
        .text("ID"),
        help: "Notifications with the same collapse ID replace each other."
    )
    private static let alert = Option.optional(
        "alert",
        .text("TEXT"),
        help: #"The text to show; short for --payload '{"aps":{"alert":"TEXT"}}'."#
    )
    private static let payload = Option.optional(
        "payload",
        .text("JSON"),
        help: "The payload, sent byte for byte."
    )
    private static let timeout = Option.defaulted(
        "timeout",
        .integer(1...3600, "SECONDS"),
        to: 30,
        help: "How long to wait for the answer."
    )

    private static func checkRules(_ arguments: Arguments) throws(UsageError) {
        let hasAlert = arguments.has(alert)
        let hasPayload = arguments.has(payload)
        if arguments.has(event) {
            let others =
                [token, channel, bundleID, collapseID, alert, payload]
                .contains { arguments.has($0) }
            guard !others, !arguments.has(pushType), !arguments.has(environment),
                !arguments.has(priority),
                !arguments.has(expiration)
            else { throw UsageError("--event is the whole event; leave out the other options") }
            return
        }
        guard arguments.has(bundleID), arguments.has(token) != arguments.has(channel) else {
            throw UsageError("give either --event, or --bundle-id with --token or --channel")
        }
        guard arguments.has(channel) else {
            guard !arguments[broadcast] else {
                throw UsageError("--broadcast goes with --event or --channel")
            }
            guard hasAlert != hasPayload else {
                throw UsageError("give either --alert or --payload")
            }
            return
        }
        guard hasPayload, !hasAlert, !arguments.has(pushType), !arguments.has(collapseID) else {
            throw UsageError(
                "a broadcast needs --payload and takes no --alert, --push-type or --collapse-id"
            )
        }
    }

    // MARK: - The event

    private static func eventText(_ arguments: Arguments) throws -> [UInt8] {
        if let event = arguments[event] {
            guard let stream = event == "-" ? .input : ByteStream(path: event) else {
                throw ServiceError(text: "\(event): \(FileError.unreadable(errno))")
            }
            guard let bytes = stream.readAll(limit: 1 << 20) else {
                throw ServiceError(text: "\(event): cannot be read, or is larger than 1MiB")
            }
            return bytes
        }
        let given = try arguments[payload].map {
            try PushEvent.Payload(json: $0, of: "--payload")
        }
        return PushEvent(
            to: target(arguments),
            bundleID: arguments[bundleID] ?? "",
            environment: arguments[environment]?.rawValue,
            priority: arguments[priority],
            expiration: arguments[expiration],
            payload: given ?? .alert(arguments[alert] ?? "")
        ).utf8
    }

    private static func target(_ arguments: Arguments) -> PushEvent.Target {
        if let channel = arguments[channel] { return .channel(id: channel) }
        return .device(
            token: arguments[token] ?? "",
            pushType: arguments[pushType],
            collapseID: arguments[collapseID]
        )
    }
}
