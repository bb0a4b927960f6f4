import APNsRules
import Credentials
import Delivery
import Vocabulary

/// Writes the headers of a shard's requests to APNs.
struct APNsRequests {
    /// Those of the last request.
    private(set) var headers = RequestSeries(RequestHeaders(authority: ""))
    /// By the route's index.
    private var endpoints: [RequestHeaders]
    /// The route of the last request, if any: those of one route come one after the other.
    private var route: Route?
    private var tokens: TurnTokens

    init(to endpoints: [APNsEndpoint], credentialCount: Int) {
        self.endpoints = endpoints.map(\.headers)
        tokens = TurnTokens(credentialCount: credentialCount)
    }

    /// Writes the headers of the next request.
    mutating func write(
        _ request: Send,
        _ credentials: [CredentialInUse],
        now: Moment
    ) {
        if route?.index != request.route.index {
            route = request.route
            headers.endpoint = endpoints[request.route.index]
        }
        headers.advance(
            to: request.arrival.content,
            topic: request.arrival.topic,
            providerToken: tokens.token(of: request.route.credential, credentials, now: now)
        )
    }

    /// Credentials were loaded anew.
    mutating func endpointsReplaced(_ endpoints: [APNsEndpoint]) {
        self.endpoints = endpoints.map(\.headers)
        route = nil
        tokens.forget()
    }

    /// A provider token has become another.
    mutating func tokenReplaced() {
        tokens.forget()
    }
}
