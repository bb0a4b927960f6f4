import APNsSimulator
import Dispatch
import HTTPServer
import JSON
import Synchronization
import Vocabulary

/// The routes of the control endpoint; `docs/simulator.md` describes them.
struct ControlRoutes: Sendable {
    let simulator: RunningSimulator

    /// Answers a request; waits for the simulator's thread if necessary.
    func answer(to request: HTTPRequest) -> HTTPResponse {
        let parts = request.path.split(separator: "/").map(String.init)
        switch (request.method, parts.first, parts.count) {
        case ("GET", "statistics", 1): return json(.ok, simulator.statistics.json)
        case ("GET", "channels", 1): return answer(to: .channels)
        case ("POST", "scenario", 1): return replaceScenario(request.body)
        case ("POST", "fault", 1): return fault(request.body)
        case ("DELETE", "devices", 1): return answer(to: .forgetDevices)
        case ("GET", "devices", 2): return answer(to: .device(parts[1].lowercased()))
        case ("POST", "devices", 3) where parts[2] == "offline" || parts[2] == "online":
            let token = parts[1].lowercased()
            return answer(to: .setOffline(token, parts[2] == "offline"))
        case (_, "statistics", 1), (_, "channels", 1), (_, "scenario", 1), (_, "fault", 1),
            (_, "devices", 1...3):
            return failure(.methodNotAllowed, "method")
        default: return failure(.notFound, "no such path")
        }
    }

    private func replaceScenario(_ body: [UInt8]) -> HTTPResponse {
        do throws(ScenarioError) {
            return answer(to: .replaceScenario(try ScenarioFile.parse(body)))
        } catch {
            return failure(.badRequest, error.description)
        }
    }

    private func fault(_ body: [UInt8]) -> HTTPResponse {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue.parse(body)
        } catch {
            return failure(.badRequest, "\(error)")
        }
        guard let fault = value["is"]?.string.flatMap({ ConnectionFault($0) }) else {
            return failure(.badRequest, "is: a fault of connections")
        }
        var environment: APNsEnvironment?
        if let name = value["environment"] {
            guard let known = name.string.flatMap(APNsEnvironment.init(rawValue:)) else {
                return failure(.badRequest, "environment: production or sandbox")
            }
            environment = known
        }
        return answer(to: .fault(fault, environment))
    }

    private func answer(to command: SimulatorCommand) -> HTTPResponse {
        switch AwaitedReply.of(simulator, to: command) {
        case .done: HTTPResponse(.noContent, "")
        case .count(let count): json(.ok, Array("{\"connections\":\(count)}".utf8))
        case .content(let content): json(.ok, content)
        case .unknown: failure(.notFound, "no such device")
        case .notRemembered: failure(.notFound, "started with --remember-devices 0")
        case .stopped: failure(.unavailable, "stopped")
        case nil: failure(.unavailable, "the simulator does not answer")
        }
    }

    private func failure(_ status: HTTPResponse.Status, _ text: String) -> HTTPResponse {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("error")
        writer.string(text)
        writer.endObject()
        return json(status, writer.bytes)
    }

    private func json(_ status: HTTPResponse.Status, _ content: [UInt8]) -> HTTPResponse {
        HTTPResponse(
            status,
            contentType: "application/json",
            body: content + [UInt8(ascii: "\n")]
        )
    }
}

/// The simulator thread's reply, for which the server's thread waits.
private final class AwaitedReply: Sendable {
    private let reply = Mutex<SimulatorReply?>(nil)
    private let arrival = DispatchSemaphore(value: 0)

    /// The simulator runs commands between two requests, so this is far more than enough.
    private static let maxWait = DispatchTimeInterval.seconds(15)

    /// Blocks the thread, which must not belong to the cooperative pool.
    ///
    /// - Returns: nil if no reply came in time.
    static func of(
        _ simulator: RunningSimulator,
        to command: SimulatorCommand
    ) -> SimulatorReply? {
        let awaited = AwaitedReply()
        simulator.ask(command) { reply in
            awaited.reply.withLock { $0 = reply }
            awaited.arrival.signal()
        }
        _ = awaited.arrival.wait(timeout: .now() + maxWait)
        return awaited.reply.withLock(\.self)
    }
}
