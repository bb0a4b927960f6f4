package import HTTPServer
import Telemetry
import Vocabulary

/// The pages of the admin port.
package struct AdminRoutes: Sendable {
    private let state: AdminState
    private let access: AdminAccess

    package init(state: AdminState, access: AdminAccess) {
        self.state = state
        self.access = access
    }

    package func answer(to request: HTTPRequest) -> HTTPAnswer {
        guard state.statusJSON != nil, let path = CampaignPath(request.path) else {
            return .now(read(request))
        }
        return order(path, request)
    }

    private func read(_ request: HTTPRequest) -> HTTPResponse {
        guard request.method == "GET" || request.method == "HEAD" else {
            var refusal = HTTPResponse(.methodNotAllowed, "GET and HEAD only\n")
            refusal.fields = [HTTPField("Allow", "GET, HEAD")]
            return refusal
        }
        return probe(request) ?? access.refusal(of: request) ?? page(request)
    }

    /// The answer to a request for an order, the only one that changes anything.
    private func order(_ path: CampaignPath, _ request: HTTPRequest) -> HTTPAnswer {
        if let refusal = access.refusal(of: request) { return .now(refusal) }
        guard request.method == "POST" else {
            var refusal = HTTPResponse(.methodNotAllowed, "POST only\n")
            refusal.fields = [HTTPField("Allow", "POST")]
            return .now(refusal)
        }
        if let refusal = access.refusalOfChange(by: request) { return .now(refusal) }
        guard let orderCampaign = state.orderCampaign else {
            return .now(
                HTTPResponse(
                    .notFound,
                    "campaigns.topic is null, so campaigns cannot be paused or cancelled; set it\n"
                )
            )
        }
        guard let action = path.action else {
            return .now(HTTPResponse(.notFound, "not found: use pause, resume or cancel\n"))
        }
        guard let campaign = path.campaign else {
            return .now(
                HTTPResponse(
                    .badRequest,
                    "not a campaign's name: 1 to \(CampaignName.maxCharacterCount) characters in"
                        + " UTF-8, percent-encoded, no control characters\n"
                )
            )
        }
        let order = CampaignRequest(action, campaign, user: access.user(of: request))
        return .later { reply in orderCampaign(order) { reply($0.response) } }
    }

    /// The answer to a probe, which needs no access rights: restarts depend on it.
    ///
    /// - Returns: nil for any other page.
    private func probe(_ request: HTTPRequest) -> HTTPResponse? {
        switch request.path {
        case "/startup": return HTTPResponse(.ok, "started\n")
        case "/live":
            return state.isAlive()
                ? HTTPResponse(.ok, "alive\n") : HTTPResponse(.unavailable, "not alive\n")
        case "/ready":
            let readiness = state.readiness()
            let status: HTTPResponse.Status = readiness.isReady ? .ok : .unavailable
            // A page with another name learns nothing more than the status.
            guard access.knowsName(in: request) else {
                return HTTPResponse(status, readiness.isReady ? "ready\n" : "not ready\n")
            }
            return HTTPResponse(
                status,
                contentType: "application/json",
                body: Array("\(readiness.json)\n".utf8)
            )
        default: return nil
        }
    }

    private func page(_ request: HTTPRequest) -> HTTPResponse {
        switch (request.path, state.statusJSON) {
        case ("/metrics", _): return metrics(accepted: request["accept"])
        case ("/status.json", let json?):
            return HTTPResponse(.ok, contentType: "application/json", body: json())
        case ("/", .some):
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
