import ArgumentParser

struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Ask a running service whether it is alive; for a container's health check.",
        discussion: """
            Exits 0 when the answer's status is 2xx, 1 otherwise, with one line on standard error. \
            With --url http://127.0.0.1:9464/ready it asks for readiness.
            """
    )

    @Option(help: "What to ask: http, no https; follow admin.port of the configuration.")
    var url = "http://127.0.0.1:9464/live"

    @Option(help: "Seconds that connecting, asking and answering may take, each.")
    var timeout = 3

    func validate() throws {
        guard (1...60).contains(timeout) else { throw ValidationError("--timeout: 1 to 60") }
    }

    func run() async throws {
        do throws(HealthProbe.Failure) {
            try HealthProbe(url).ask(seconds: timeout)
        } catch {
            Console.complain("\(url): \(error)")
            Console.end(.failure)
        }
    }
}
