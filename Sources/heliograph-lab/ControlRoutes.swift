import APNsSimulator
import FlyingFox
import Foundation
import JSON
import Vocabulary

/// What the control endpoint understands; `docs/simulator.md` describes it.
struct ControlRoutes: HTTPHandler {
    let simulator: RunningSimulator

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        let parts = request.path.split(separator: "/").map(String.init)
        switch (request.method, parts.first, parts.count) {
        case (.GET, "statistics", 1): return json(.ok, simulator.statistics.json)
        case (.GET, "channels", 1): return await answer(to: .channels)
        case (.POST, "scenario", 1): return await replaceScenario(try await request.bodyData)
        case (.POST, "fault", 1): return await fault(try await request.bodyData)
        case (.DELETE, "devices", 1): return await answer(to: .forgetDevices)
        case (.GET, "devices", 2): return await answer(to: .device(parts[1].lowercased()))
        case (.POST, "devices", 3) where parts[2] == "offline" || parts[2] == "online":
            let token = parts[1].lowercased()
            return await answer(to: .setOffline(token, parts[2] == "offline"))
        case (_, "statistics", 1), (_, "channels", 1), (_, "scenario", 1), (_, "fault", 1),
            (_, "devices", 1...3):
            return failure(.methodNotAllowed, "method")
        default: return failure(.notFound, "no such path")
        }
    }

    private func replaceScenario(_ body: Data) async -> HTTPResponse {
        do throws(ScenarioError) {
            return await answer(to: .replaceScenario(try ScenarioFile.parse(Array(body))))
        } catch {
            return failure(.badRequest, error.description)
        }
    }

    private func fault(_ body: Data) async -> HTTPResponse {
        // FlyingFox has a JSONValue too.
        let value: JSON.JSONValue
        do throws(JSONError) {
            value = try JSON.JSONValue.parse(Array(body))
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
        return await answer(to: .fault(fault, environment))
    }

    private func answer(to command: SimulatorCommand) async -> HTTPResponse {
        switch await simulator.ask(command) {
        case .done: return HTTPResponse(statusCode: .noContent)
        case .count(let count): return json(.ok, Array("{\"connections\":\(count)}".utf8))
        case .content(let content): return json(.ok, content)
        case .unknown: return failure(.notFound, "no such device")
        case .notRemembered: return failure(.notFound, "started with --remember-devices 0")
        case .stopped: return failure(.serviceUnavailable, "stopped")
        }
    }

    private func failure(_ status: HTTPStatusCode, _ text: String) -> HTTPResponse {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("error")
        writer.string(text)
        writer.endObject()
        return json(status, writer.bytes)
    }

    private func json(_ status: HTTPStatusCode, _ content: [UInt8]) -> HTTPResponse {
        HTTPResponse(
            statusCode: status,
            headers: [.contentType: "application/json"],
            body: Data(content + [UInt8(ascii: "\n")])
        )
    }
}
