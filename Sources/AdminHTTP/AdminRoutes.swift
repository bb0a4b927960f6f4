import FlyingFox
import FoundationEssentials
import Telemetry

/// The pages of the admin port.
struct AdminRoutes: HTTPHandler {
    let state: AdminState

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard request.method == .GET || request.method == .HEAD else {
            var refusal = text(.methodNotAllowed, "GET and HEAD only\n")
            refusal.headers[HTTPHeader("Allow")] = "GET, HEAD"
            return refusal
        }
        return answer(to: request.path)
    }

    private func answer(to path: String) -> HTTPResponse {
        switch path {
        case "/live":
            return state.isAlive()
                ? text(.ok, "alive\n") : text(.serviceUnavailable, "not alive\n")
        case "/ready":
            let readiness = state.readiness()
            return page(
                readiness.isReady ? .ok : .serviceUnavailable,
                "application/json",
                Data("\(readiness.json)\n".utf8)
            )
        case "/metrics":
            return page(.ok, PrometheusText.contentType, Data(state.metricsText().utf8))
        case "/status.json":
            return page(.ok, "application/json", Data(state.statusJSON()))
        case "/":
            var answer = page(.ok, "text/html; charset=utf-8", Data(StatusPage.html.utf8))
            answer.headers[HTTPHeader("Content-Security-Policy")] = StatusPage.policy
            return answer
        default:
            return text(.notFound, "not found\n")
        }
    }

    private func text(_ status: HTTPStatusCode, _ text: String) -> HTTPResponse {
        page(status, "text/plain; charset=utf-8", Data(text.utf8))
    }

    private func page(_ status: HTTPStatusCode, _ type: String, _ body: Data) -> HTTPResponse {
        HTTPResponse(
            statusCode: status,
            headers: [
                .contentType: type,
                HTTPHeader("Cache-Control"): "no-store",
                HTTPHeader("X-Content-Type-Options"): "nosniff",
            ],
            body: body
        )
    }
}

/// Answers HEAD like GET, without the body (RFC 9110, 9.3.2).
struct BodylessHead<Base: HTTPHandler>: HTTPHandler {
    let base: Base

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        var response = try await base.handleRequest(request)
        guard request.method == .HEAD else { return response }
        let byteCount = try await response.bodyData.count
        response.headers[.contentLength] = "\(byteCount)"
        return HTTPResponse(statusCode: response.statusCode, headers: response.headers)
    }
}
