import Commands

enum HealthCommand {
    private static let url = Option.defaulted(
        "url",
        .text("url"),
        to: "http://127.0.0.1:9464/live",
        help: "The URL to request, http only; the port is admin.port."
    )
    private static let timeout = Option.defaulted(
        "timeout",
        .integer(1...60, "seconds"),
        to: 3,
        help: "Timeout for connecting, sending and waiting each, from 1 to 60."
    )

    static let command = Command(
        "health",
        "Check that a running service is alive.",
        text: "For health checks of containers that have neither a shell nor curl.",
        parameters: [url, timeout],
        examples: [
            "Check that the service is alive": "heliograph health",
            "Check that the service is ready":
                "heliograph health --url http://127.0.0.1:9464/ready",
        ],
        exitCodes: [
            0: "The service answered with a status of 2xx.",
            1: "It answered with another status, or not at all.",
        ]
    ) { arguments in
        let url = arguments[url]
        guard let probe = HealthProbe(url) else {
            throw UsageError(
                "--url: invalid value '\(url)'; expected a URL such as http://127.0.0.1:9464/live"
            )
        }
        do throws(HealthProbe.Failure) {
            try probe.ask(seconds: arguments[timeout])
        } catch {
            Console.complain("\(url): \(error)")
            Console.end(.failure)
        }
    }
}
