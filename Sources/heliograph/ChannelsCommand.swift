import ArgumentParser
import Service

struct ChannelsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channels",
        abstract: "Create, read, list and delete an app's broadcast channels.",
        discussion: """
            A broadcast reaches every device that subscribes to a channel: Live Activities from \
            iOS 18 on. The app needs the Broadcast Capability; channels of production and sandbox \
            are apart; an app may have 10,000 of each.

            Requests go to apns.endpoints.management_production or management_sandbox, once, with \
            the credential that covers the app.

            Exit codes: 0 done; 1 APNs refused it, it was not asked, or standard output takes no \
            more, and standard error has the answer; 2 no answer came, and APNs may have done it; \
            64 the command line is wrong.
            """,
        subcommands: [
            CreateChannelCommand.self, ReadChannelCommand.self, ListChannelsCommand.self,
            DeleteChannelCommand.self,
        ]
    )
}

struct CreateChannelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a channel and print its ID.",
        discussion: """
            Once more is one channel more: where no answer came (exit code 2), list channels \
            before trying again.
            """
    )

    enum StoragePolicy: String, ExpressibleByArgument, CaseIterable {
        case none
        case newest
    }

    @OptionGroup var options: ChannelOptions

    @Option(
        help: ArgumentHelp(
            "What APNs keeps for devices that are away, for up to 8 hours; for ever so.",
            valueName: "none|newest"
        )
    )
    var storagePolicy = StoragePolicy.none

    func run() throws {
        try options.carryOut(.create(storesNewest: storagePolicy == .newest))
    }
}

struct ReadChannelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "read",
        abstract: "Print a channel's storage policy and push type."
    )

    @OptionGroup var options: ChannelOptions
    @OptionGroup var channel: ChannelOption

    func run() throws {
        try options.carryOut(.read(channel.id))
    }
}

struct ListChannelsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Print the ID of each channel of an app, a line each."
    )

    @OptionGroup var options: ChannelOptions

    func run() throws {
        try options.carryOut(.list)
    }
}

struct DeleteChannelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete a channel for good."
    )

    @OptionGroup var options: ChannelOptions
    @OptionGroup var channel: ChannelOption

    func run() throws {
        try options.carryOut(.delete(channel.id))
    }
}

/// What every request about channels needs.
struct ChannelOptions: ParsableArguments {
    @OptionGroup var file: ConfigurationOption

    @Option(help: "The app's bundle ID, without any suffix.")
    var bundleId: String

    @Option(
        help: ArgumentHelp(
            "Without it, the credential's own.",
            valueName: "production|sandbox"
        )
    )
    var environment: ChannelRun.Environment?

    @Option(help: "Seconds to wait for the answer.")
    var timeout = 30

    @Flag(help: "Print an object of JSON.")
    var json = false

    func validate() throws {
        guard (1...3600).contains(timeout) else {
            throw ValidationError("--timeout is from 1 to 3600.")
        }
    }

    /// Prints what came of it and ends the process.
    func carryOut(_ order: ChannelRun.Order) throws -> Never {
        let run = ChannelRun(try file.load(), timeout: .seconds(timeout))
        do {
            let report = try run.carryOut(
                order,
                bundleID: bundleId,
                environment: environment
            )
            if let text = json ? report.json : report.text {
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

/// `--channel ID`.
struct ChannelOption: ParsableArguments {
    @Option(name: .customLong("channel"), help: ArgumentHelp("The channel.", valueName: "id"))
    var id: ChannelRun.Channel
}

extension ChannelRun.Channel: ExpressibleByArgument {
    package init?(argument: String) {
        self.init(argument)
    }
}

extension ChannelRun.Environment: ExpressibleByArgument {}
