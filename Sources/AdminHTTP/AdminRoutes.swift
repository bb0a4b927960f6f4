import Telemetry

/// The pages of the admin port.
struct AdminRoutes: Sendable {
    let state: AdminState

    func answer(to request: RequestHead) -> AdminResponse {
        guard request.method == "GET" || request.method == "HEAD" else {
            var refusal = AdminResponse(.methodNotAllowed, "GET and HEAD only\n")
            refusal.fields = [("Allow", "GET, HEAD")]
            return refusal
        }
        switch request.path {
        case "/startup": return AdminResponse(.ok, "started\n")
        case "/live":
            return state.isAlive()
                ? AdminResponse(.ok, "alive\n") : AdminResponse(.unavailable, "not alive\n")
        case "/ready":
            let readiness = state.readiness()
            return AdminResponse(
                readiness.isReady ? .ok : .unavailable,
                contentType: "application/json",
                body: Array("\(readiness.json)\n".utf8)
            )
        case "/metrics": return metrics(accepted: request.accept)
        case "/status.json":
            return AdminResponse(.ok, contentType: "application/json", body: state.statusJSON())
        case "/":
            var answer = AdminResponse(
                .ok,
                contentType: "text/html; charset=utf-8",
                body: Array(StatusPage.html.utf8)
            )
            answer.fields = [("Content-Security-Policy", StatusPage.policy)]
            return answer
        default: return AdminResponse(.notFound, "not found\n")
        }
    }

    private func metrics(accepted: String?) -> AdminResponse {
        let format = ExpositionFormat(accept: accepted)
        var answer = AdminResponse(
            .ok,
            contentType: format.contentType,
            body: Array(format.render(state.metrics()).utf8)
        )
        answer.fields = [("Vary", "Accept")]
        return answer
    }
}
