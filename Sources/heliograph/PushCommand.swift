import Commands
import Configuration
import Foundation
import Log
import Service
import Tools
import Vocabulary

enum PushCommand {
    static let command = Command(
        "push",
        "Send one notification or broadcast and show the full exchange.",
        text: """
            Use it when a device gets nothing. It uses the service's own client, credentials and \
            checks, but no Kafka and no retries. It prints the request's headers, timings, APNs' \
            answer and what the answer means. It never prints the provider token, and only part of \
            the device token.

            Pass either --event, or --bundle-id with --token, --recipients or --channel. An event \
            with 'recipients' is sent to one after another, on one connection; each gets one line. \
            Ctrl-C ends it, and shows who got it by then.
            """,
        parameters: [
            ConfigurationOption.config, token, channel, bundleID, alert, payload, environment,
            timeout,
        ],
        furtherParameters: [
            "Headers": [pushType, priority, expiration, collapseID],
            "Several devices, whole events": [recipients, event, broadcast],
        ],
        examples: [
            "Send an alert (HELIOGRAPH_CONFIG is set)": """
            heliograph push --token "$TOKEN" --bundle-id com.example.app --alert Hello
            """,
            "Send a complete event":
                "heliograph push --config heliograph.yaml --event event.json",
            "Send an alert to the devices in a file": """
            heliograph push --recipients tokens.txt --bundle-id com.example.app --alert Hi
            """,
        ],
        exitCodes: [
            0: "APNs accepted it, for every recipient.",
            1: """
            APNs refused it or did not answer, it was not sent, or standard output cannot be \
            written; the output says which. With recipients: for one of them at least.
            """,
        ]
    ) { arguments in
        try checkRules(arguments)
        let configuration = arguments.loadConfiguration()
        do {
            let isBroadcast = arguments[broadcast] || arguments[channel] != nil
            let event = try eventText(arguments, maxByteCount: configuration.limits.eventBytes)
            // From here on, Ctrl-C ends the wait for answers, so that what was sent is shown.
            Interruption.watch()
            let push = PushRun(configuration, timeout: .seconds(arguments[timeout])) {
                Interruption.hasHappened
            }
            let report = try push.send(event, as: isBroadcast ? .broadcast : .notification)
            // A user who does not see that APNs accepted it would send it again.
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
        help: "A file with a complete event; - reads standard input."
    )
    private static let broadcast = Option.flag(
        "broadcast",
        help: "The event in --event is a broadcast."
    )
    private static let token = Option.optional("token", .text("token"), help: "The device token.")
    private static let recipients = Option.optional(
        "recipients",
        .file,
        help: "A file with up to 1000 device tokens, one per line; - reads standard input."
    )
    private static let channel = Option.optional(
        "channel",
        .text("id"),
        help: "The channel to broadcast to."
    )
    private static let bundleID = Option.optional(
        "bundle-id",
        .text("id"),
        help: "The app's bundle ID, without a push type's suffix."
    )
    private static let pushType = Option.defaulted(
        "push-type",
        .text("type"),
        to: "alert",
        help: "alert, background, voip, ...; not for broadcasts."
    )
    private static let environment = Option.optional(
        "environment",
        .choice("environment") as ValueType<APNsEnvironment>,
        help: "Where to send; by default, the credential's environment."
    )
    private static let priority = Option.optional(
        "priority",
        .integer() as ValueType<Int>,
        help: "10 (at once), 5 or 1 (saves power)."
    )
    private static let expiration = Option.optional(
        "expiration",
        .integer(Int64.min...Int64.max, "seconds"),
        help: """
            Expiry as Unix time; 0 = deliver now or never, the default of broadcasts.
            """
    )
    private static let collapseID = Option.optional(
        "collapse-id",
        .text("id"),
        help: "Notifications with the same collapse ID replace each other."
    )
    private static let alert = Option.optional(
        "alert",
        .text("text"),
        help: #"The text to show: --payload '{"aps":{"alert":"TEXT"}}'."#
    )
    private static let payload = Option.optional(
        "payload",
        .text("json"),
        help: "The payload, sent byte for byte."
    )
    private static let timeout = Option.defaulted(
        "timeout",
        .integer(1...3600, "seconds"),
        to: 30,
        help: "How long to wait for the answer, from 1 to 3600."
    )

    private static func checkRules(_ arguments: Arguments) throws(UsageError) {
        let hasAlert = arguments.has(alert)
        let hasPayload = arguments.has(payload)
        if arguments.has(event) {
            let others =
                [token, recipients, channel, bundleID, collapseID, alert, payload]
                .contains { arguments.has($0) }
            guard !others, !arguments.has(pushType), !arguments.has(environment),
                !arguments.has(priority),
                !arguments.has(expiration)
            else {
                throw UsageError("--event: is a whole event; remove the options that describe one")
            }
            return
        }
        let targetCount = [token, recipients, channel].count { arguments.has($0) }
        guard arguments.has(bundleID), targetCount == 1 else {
            throw UsageError(
                "--bundle-id: needs one of --token, --recipients and --channel; or pass --event "
                    + "instead"
            )
        }
        guard arguments.has(channel) else {
            guard !arguments[broadcast] else {
                throw UsageError("--broadcast: needs --event or --channel; add one of them")
            }
            guard hasAlert != hasPayload else {
                throw UsageError("--alert, --payload: pass exactly one of them")
            }
            return
        }
        guard hasPayload, !hasAlert, !arguments.has(pushType), !arguments.has(collapseID) else {
            throw UsageError(
                "--channel: a broadcast needs --payload; remove --alert, --push-type and "
                    + "--collapse-id"
            )
        }
    }

    // MARK: - The event

    private static func eventText(
        _ arguments: Arguments,
        maxByteCount: Int
    ) throws -> [UInt8] {
        if let event = arguments[event] { return try read(event, maxByteCount) }
        let given = try arguments[payload].map {
            try PushEvent.Payload(json: $0, of: "--payload")
        }
        return PushEvent(
            to: try target(arguments),
            bundleID: arguments[bundleID] ?? "",
            environment: arguments[environment]?.rawValue,
            priority: arguments[priority],
            expiration: arguments[expiration],
            payload: given ?? .alert(arguments[alert] ?? "")
        ).utf8
    }

    private static func read(_ file: String, _ maxByteCount: Int = 1 << 20) throws -> [UInt8] {
        guard let stream = file == "-" ? .input : ByteStream(path: file) else {
            throw ServiceError(text: "\(file): \(FileError.unreadable(errno))")
        }
        guard let bytes = stream.readAll(limit: maxByteCount) else {
            throw ServiceError(
                text: "\(file): cannot be read, or is larger than \(ByteSize.print(maxByteCount))"
            )
        }
        return bytes
    }

    private static func target(_ arguments: Arguments) throws -> PushEvent.Target {
        if let channel = arguments[channel] { return .channel(id: channel) }
        if let file = arguments[recipients] {
            let lines = String(decoding: try read(file), as: UTF8.self)
                .split(whereSeparator: \.isNewline)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            return .recipients(
                lines.filter { !$0.isEmpty },
                pushType: arguments[pushType],
                collapseID: arguments[collapseID]
            )
        }
        return .device(
            token: arguments[token] ?? "",
            pushType: arguments[pushType],
            collapseID: arguments[collapseID]
        )
    }
}
