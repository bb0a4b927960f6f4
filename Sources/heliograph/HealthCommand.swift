import Commands

enum HealthCommand {
    private static let url = Option.defaulted(
        "url",
        .text("URL"),
        to: "http://127.0.0.1:9464/live",
        help: "The URL to request, http only. Its port is admin.port in the configuration."
    )
    private static let timeout = Option.defaulted(
        "timeout",
        .integer(1...60, "SECONDS"),
        to: 3,
        help: "How long connecting, sending and waiting for the answer may each take."
    )

    static let command = Command(
        "health",
        "Ask a running service whether it is alive, for a container's health check.",
        parameters: [url, timeout],
        examples: [
            "Check whether the service is ready:":
                "heliograph health --url http://127.0.0.1:9464/ready"
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
