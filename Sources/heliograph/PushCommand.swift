import ArgumentParser
import Foundation
import Service

struct PushCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Send one notification or broadcast now, and tell everything about it.",
        discussion: """
            The tool for a device that stays silent: it sends with the service's own client, \
            credentials and checks, past Kafka and without retries, and prints the request's \
            headers, the times, APNs' answer and what it means. Neither the provider token nor the \
            whole device token is printed.

              heliograph push --config heliograph.yaml --token a1b2… --bundle-id com.example.App \\
                  --alert "Hello"
              heliograph push --config heliograph.yaml --channel dHN0… --bundle-id com.example.App \\
                  --payload '{"aps":{"event":"update","timestamp":1790000000,"content-state":{}}}'
              heliograph push --config heliograph.yaml --event event.json

            Exit codes: 0 APNs accepted it; 1 it did not, it was not sent, or standard output \
            takes no more, and standard error tells what APNs said; 64 the command line is wrong.
            """
    )

    @OptionGroup var file: ConfigurationOption

    @Option(help: ArgumentHelp("An event as in the topic; - is standard input.", valueName: "file"))
    var event: String?

    @Flag(help: "The event is a broadcast.")
    var broadcast = false

    @Option(help: ArgumentHelp("The device token.", valueName: "hexadecimal"))
    var token: String?

    @Option(help: ArgumentHelp("The channel to broadcast to, instead.", valueName: "base64"))
    var channel: String?

    @Option(help: "The app's bundle ID; the push type's suffix is appended.")
    var bundleId: String?

    @Option(help: "alert, background, voip, … (default: alert; no option of broadcasts)")
    var pushType: String?

    @Option(help: "production or sandbox; without it, the credential's own.")
    var environment: String?

    @Option(help: "10, 5 or 1.")
    var priority: Int?

    @Option(
        help: ArgumentHelp(
            "When it is of no use any more; 0: not stored. Broadcasts: 0 by default.",
            valueName: "epoch-seconds"
        )
    )
    var expiration: Int64?

    @Option(help: "Notifications of one collapse ID replace each other.")
    var collapseId: String?

    @Option(help: "The text to show; short for --payload '{\"aps\":{\"alert\":…}}'.")
    var alert: String?

    @Option(help: ArgumentHelp("The payload, byte for byte.", valueName: "json"))
    var payload: String?

    @Option(help: "Seconds to wait for the answer.")
    var timeout = 30

    func validate() throws {
        guard (1...3600).contains(timeout) else {
            throw ValidationError("--timeout is from 1 to 3600.")
        }
        if event != nil {
            let others = [
                token, channel, bundleId, pushType, environment, collapseId, alert, payload,
            ]
            guard others.allSatisfy({ $0 == nil }), priority == nil, expiration == nil else {
                throw ValidationError("--event is the whole event; leave the other options out.")
            }
            return
        }
        guard bundleId != nil, (token == nil) != (channel == nil) else {
            throw ValidationError("--token or --channel, and --bundle-id, are needed, or --event.")
        }
        if channel == nil {
            guard !broadcast else {
                throw ValidationError("--broadcast goes with --event or --channel.")
            }
            guard (alert == nil) != (payload == nil) else {
                throw ValidationError("Either --alert or --payload is needed.")
            }
        } else {
            guard payload != nil, alert == nil, pushType == nil, collapseId == nil else {
                throw ValidationError(
                    "A broadcast has --payload, and no --alert, --push-type or --collapse-id."
                )
            }
        }
    }

    func run() throws {
        let configuration = try file.load()
        let push = PushRun(configuration, timeout: .seconds(timeout))
        do {
            let isBroadcast = broadcast || channel != nil
            let report = try push.send(
                try eventText(),
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

    private func eventText() throws -> [UInt8] {
        if let event {
            guard let stream = event == "-" ? .input : ByteStream(path: event) else {
                throw ServiceError(text: "\(event): \(FileError.unreadable(errno))")
            }
            guard let bytes = stream.readAll(limit: 1 << 20) else {
                throw ServiceError(text: "\(event): cannot be read, or is larger than 1MiB")
            }
            return bytes
        }
        let given = try payload.map { try PushEvent.Payload(json: $0, of: "--payload") }
        return PushEvent(
            to: target,
            bundleID: bundleId ?? "",
            environment: environment,
            priority: priority,
            expiration: expiration,
            payload: given ?? .alert(alert ?? "")
        ).utf8
    }

    private var target: PushEvent.Target {
        if let channel { return .channel(id: channel) }
        return .device(
            token: token ?? "",
            pushType: pushType ?? "alert",
            collapseID: collapseId
        )
    }
}
