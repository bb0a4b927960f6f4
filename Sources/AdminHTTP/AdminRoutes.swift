package import HTTPServer
import Telemetry

/// The pages of the admin port.
package struct AdminRoutes: Sendable {
    private let state: AdminState

    package init(state: AdminState) {
        self.state = state
    }

    package func answer(to request: HTTPRequest) -> HTTPResponse {
        guard request.method == "GET" || request.method == "HEAD" else {
            var refusal = HTTPResponse(.methodNotAllowed, "GET and HEAD only\n")
            refusal.fields = [HTTPField("Allow", "GET, HEAD")]
            return refusal
        }
        switch request.path {
        case "/startup": return HTTPResponse(.ok, "started\n")
        case "/live":
            return state.isAlive()
                ? HTTPResponse(.ok, "alive\n") : HTTPResponse(.unavailable, "not alive\n")
        case "/ready":
            let readiness = state.readiness()
            return HTTPResponse(
                readiness.isReady ? .ok : .unavailable,
                contentType: "application/json",
                body: Array("\(readiness.json)\n".utf8)
            )
        case "/metrics": return metrics(accepted: request["accept"])
        case "/status.json":
            return HTTPResponse(.ok, contentType: "application/json", body: state.statusJSON())
        case "/":
            var answer = HTTPResponse(
                .ok,
                contentType: "text/html; charset=utf-8",
                body: Array(StatusPage.html.utf8)
            )
            answer.fields = [HTTPField("Content-Security-Policy", StatusPage.policy)]
            return answer
        default: return HTTPResponse(.notFound, "not found\n")
        }
    }

    private func metrics(accepted: String?) -> HTTPResponse {
        let format = ExpositionFormat(accept: accepted)
        var answer = HTTPResponse(
            .ok,
            contentType: format.contentType,
            body: Array(format.render(state.metrics()).utf8)
        )
        answer.fields = [HTTPField("Vary", "Accept")]
        return answer
    }
}
