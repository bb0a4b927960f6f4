import Commands

enum HealthCommand {
    private static let url = Option.defaulted(
        "url",
        .text("URL"),
        to: "http://127.0.0.1:9464/live",
        help: "What to ask, over http only; the port is admin.port of the configuration."
    )
    private static let timeout = Option.defaulted(
        "timeout",
        .integer(1...60, "SECONDS"),
        to: 3,
        help: "The limit for connecting, for sending and for the answer, each."
    )

    static let command = Command(
        "health",
        "Ask a running service whether it is alive, for a container's health check.",
        parameters: [url, timeout],
        examples: [
            "Whether the service is ready:": "heliograph health --url http://127.0.0.1:9464/ready"
        ],
        exitCodes: [
            0: "The answer's status is 2xx.",
            1: "It is not, or there is no answer; standard error says which.",
        ]
    ) { arguments in
        let url = arguments[url]
        do throws(HealthProbe.Failure) {
            try HealthProbe(url).ask(seconds: arguments[timeout])
        } catch {
            Console.complain("\(url): \(error)")
            Console.end(.failure)
        }
    }
}
