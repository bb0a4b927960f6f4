import AdminHTTP
import Foundation
import HTTP2IO
import HTTPServer
import Synchronization
import Telemetry
import Testing
import Vocabulary

@Suite struct AdminRoutesTests {
    private static let obstacle = Readiness.Finding(
        part: "kafka",
        reason: "no \"broker\" answers"
    )
    private static let warning = Readiness.Finding(part: "credential example", reason: "parked")

    private func answer(
        _ path: String,
        to method: String = "GET",
        isWell: Bool = true,
        _ fields: [HTTPField] = [],
        access: AdminAccess = AdminAccess(hosts: AdminHosts([])),
        orderCampaign: AdminState.OrderCampaign? = nil
    ) -> HTTPResponse {
        let readiness = Readiness(
            obstacles: isWell ? [] : [Self.obstacle],
            warnings: [Self.warning]
        )
        let state = AdminState(
            isAlive: { isWell },
            readiness: { readiness },
            metrics: { Metrics(version: "1", shards: []).families },
            statusJSON: { Array("{}".utf8) },
            orderCampaign: orderCampaign
        )
        return Self.answer(of: AdminRoutes(state: state, access: access), method, path, fields)
    }

    /// The answer, also one that is given later.
    private static func answer(
        of routes: AdminRoutes,
        _ method: String,
        _ path: String,
        _ fields: [HTTPField] = []
    ) -> HTTPResponse {
        switch routes.answer(to: HTTPRequest(method, path, fields)) {
        case .now(let response): return response
        case .later(let start):
            let given = Mutex<HTTPResponse?>(nil)
            start { response in given.withLock { $0 = response } }
            return given.withLock { $0 } ?? HTTPResponse(.notImplemented, "not answered")
        }
    }

    private static let probes = ["/startup", "/live", "/ready"]
    private static let pages = ["/", "/metrics", "/status.json", "/elsewhere"]

    @Test(arguments: [true, false])
    func `a request for a public DNS name gets no page, and from a probe only the status`(
        isWell: Bool
    ) {
        let foreign = [HTTPField("host", "evil.example:9464")]
        for path in Self.pages {
            let answer = answer(path, isWell: isWell, foreign)
            #expect(answer.status == .misdirected)
            #expect(String(decoding: answer.body, as: UTF8.self).contains("admin.hosts"))
        }
        for path in Self.probes {
            let answer = answer(path, isWell: isWell, foreign)
            #expect(answer.status == self.answer(path, isWell: isWell).status)
            #expect(!String(decoding: answer.body, as: UTF8.self).contains("credential"))
        }
    }

    @Test func `who has no status page has the other pages`() {
        let state = AdminState(
            isAlive: { true },
            readiness: { Readiness() },
            metrics: { [] },
            statusJSON: nil
        )
        let routes = AdminRoutes(state: state, access: AdminAccess(hosts: AdminHosts([])))
        for (path, status) in [
            ("/", HTTPResponse.Status.notFound), ("/status.json", .notFound), ("/metrics", .ok),
            ("/live", .ok),
        ] {
            #expect(Self.answer(of: routes, "GET", path).status == status, "\(path)")
        }
        #expect(Self.answer(of: routes, "POST", "/campaigns/a/pause").status == .methodNotAllowed)
    }

    // MARK: Orders for campaigns

    /// A request for an order: what the visitor sends, what the port has, and the answer.
    struct Order: Sendable {
        var method = "POST"
        var path = "/campaigns/spring/pause"
        var fields = [Self.bearer]
        var hasToken = true
        var hasTopic = true
        let status: HTTPResponse.Status
        /// A part of the answer.
        let says: String
        /// Nil: the order does not reach Kafka.
        var asked: CampaignRequest?

        static let token = "0123456789abcdef"
        static let bearer = HTTPField("authorization", "Bearer \(token)")

        static func password(_ user: String) -> HTTPField {
            let login = Data("\(user):\(token)".utf8).base64EncodedString()
            return HTTPField("authorization", "Basic \(login)")
        }

        static func name(_ name: String) -> CampaignName {
            guard let name = CampaignName(name) else { preconditionFailure("not a name") }
            return name
        }

        static let host = HTTPField("host", "push:9464")
        static let written = CampaignRequest(.pause, name("spring"))

        static let all: [Order] = [
            Order(status: .ok, says: "spring: done", asked: written),
            Order(
                path: "/campaigns/spring/cancel",
                status: .ok,
                says: "done",
                asked: CampaignRequest(.cancel, name("spring"))
            ),
            Order(
                path: "/campaigns/a%20%22b%22%2F%C3%BC/resume",
                status: .ok,
                says: "done",
                asked: CampaignRequest(.resume, name("a \"b\"/ü"))
            ),
            // Names that are none.
            Order(path: "/campaigns//pause", status: .badRequest, says: "not a campaign's name"),
            Order(path: "/campaigns/%0A/pause", status: .badRequest, says: "control characters"),
            Order(path: "/campaigns/%FF/pause", status: .badRequest, says: "UTF-8"),
            Order(path: "/campaigns/%+1/pause", status: .badRequest, says: "percent-encoded"),
            Order(path: "/campaigns/a%2/pause", status: .badRequest, says: "percent-encoded"),
            Order(
                path: "/campaigns/\(String(repeating: "x", count: 129))/pause",
                status: .badRequest,
                says: "1 to 128"
            ),
            // Other paths and methods.
            Order(
                path: "/campaigns/spring/pace",
                status: .notFound,
                says: "pause, resume or cancel"
            ),
            Order(path: "/campaigns/spring", status: .methodNotAllowed, says: "GET and HEAD only"),
            Order(
                path: "/campaigns/a/b/pause",
                status: .methodNotAllowed,
                says: "GET and HEAD only"
            ),
            Order(method: "GET", status: .methodNotAllowed, says: "POST only"),
            Order(method: "HEAD", status: .methodNotAllowed, says: "POST only"),
            Order(method: "PUT", status: .methodNotAllowed, says: "POST only"),
            // The service has no topic, or the port no token.
            Order(hasTopic: false, status: .notFound, says: "campaigns.topic is null"),
            Order(hasToken: false, status: .forbidden, says: "set admin.bearer_token_file first"),
            Order(
                fields: [],
                hasToken: false,
                status: .forbidden,
                says: "set admin.bearer_token_file first"
            ),
            // The token is missing, wrong, or comes for another host.
            Order(fields: [], status: .unauthorized, says: "bearer token required"),
            Order(
                fields: [HTTPField("authorization", "Bearer \(token)0")],
                status: .unauthorized,
                says: "bearer token required"
            ),
            Order(
                fields: [bearer, HTTPField("host", "evil.example")],
                status: .misdirected,
                says: "admin.hosts"
            ),
            // A browser sends the password by itself, so it must come from a page of the port.
            Order(fields: [password("ann")], status: .forbidden, says: "as a bearer token"),
            Order(
                fields: [password("ann"), host, HTTPField("origin", "http://push:9464")],
                status: .ok,
                says: "done",
                asked: CampaignRequest(.pause, name("spring"), user: "ann")
            ),
            Order(
                fields: [password(""), host, HTTPField("origin", "https://PUSH:9464")],
                status: .ok,
                says: "done",
                asked: written
            ),
            // The token is no name.
            Order(
                fields: [password(token), HTTPField("sec-fetch-site", "same-origin")],
                status: .ok,
                says: "done",
                asked: written
            ),
            Order(
                fields: [password("ann"), host, HTTPField("origin", "http://evil.example")],
                status: .forbidden,
                says: "another site"
            ),
            Order(
                fields: [password("ann"), host, HTTPField("origin", "http://push")],
                status: .forbidden,
                says: "another site"
            ),
            Order(
                fields: [password("ann"), host, HTTPField("origin", "null")],
                status: .forbidden,
                says: "another site"
            ),
            Order(
                fields: [password("ann"), HTTPField("origin", "http://push:9464")],
                status: .forbidden,
                says: "another site"
            ),
            Order(
                fields: [
                    password("ann"), host, HTTPField("origin", "http://push:9464"),
                    HTTPField("sec-fetch-site", "cross-site"),
                ],
                status: .forbidden,
                says: "another site"
            ),
            Order(
                fields: [password("ann"), HTTPField("sec-fetch-site", "same-site")],
                status: .forbidden,
                says: "another site"
            ),
            Order(
                fields: [bearer, HTTPField("origin", "http://evil.example")],
                status: .forbidden,
                says: "another site"
            ),
        ]
    }

    @Test func `an order needs a token, a topic, and a page of the port or a program`() throws {
        let tokens = try AdminTokens(text: Array(Order.token.utf8))
        for order in Order.all {
            let asked = Mutex<[CampaignRequest]>([])
            let orderCampaign: AdminState.OrderCampaign = { request, reply in
                asked.withLock { $0.append(request) }
                reply(.written("\(request.campaign): done"))
            }
            let access = AdminAccess(hosts: AdminHosts([])) { order.hasToken ? tokens : nil }
            let answer = answer(
                order.path,
                to: order.method,
                order.fields,
                access: access,
                orderCampaign: order.hasTopic ? orderCampaign : nil
            )
            #expect(answer.status == order.status, "\(order)")
            let body = String(decoding: answer.body, as: UTF8.self)
            #expect(body.contains(order.says), "\(order): \(body)")
            #expect(asked.withLock { $0 } == [order.asked].compactMap(\.self), "\(order)")
            if answer.status == .methodNotAllowed {
                let allowed = order.says == "POST only" ? "POST" : "GET, HEAD"
                #expect(answer.fields == [HTTPField("Allow", allowed)], "\(order)")
            }
        }
    }

    @Test(
        arguments: [
            (.written("a: paused"), .ok), (.refused("a: paused"), .conflict),
            (.unavailable("a: paused"), .unavailable), (.failed("a: paused"), .badGateway),
            (.unanswered("a: paused"), .gatewayTimeout),
        ] as [(CampaignAnswer, HTTPResponse.Status)]
    )
    func `what became of an order has a status of its own`(
        result: CampaignAnswer,
        status: HTTPResponse.Status
    ) throws {
        let tokens = try AdminTokens(text: Array(Order.token.utf8))
        let answer = answer(
            "/campaigns/a/pause",
            to: "POST",
            [Order.bearer],
            access: AdminAccess(hosts: AdminHosts([])) { tokens },
            orderCampaign: { $1(result) }
        )
        #expect(answer == HTTPResponse(status, "a: paused\n"))
    }

    @Test func `where a token is asked for, nothing but probes is answered without`() throws {
        let token = "0123456789abcdef"
        let tokens = try AdminTokens(text: Array(token.utf8))
        let access = AdminAccess(hosts: AdminHosts([])) { tokens }
        let right = HTTPField("authorization", "Bearer \(token)")
        let wrong = HTTPField("authorization", "Bearer \(token)0")
        for path in Self.pages {
            #expect(answer(path, [right], access: access) == answer(path))
            for fields in [[], [wrong], [right, right]] {
                let answer = answer(path, fields, access: access)
                #expect(answer.status == .unauthorized)
                #expect(answer.fields.map(\.name) == ["WWW-Authenticate", "WWW-Authenticate"])
            }
            // A token does not help a request for another host name.
            let foreign = [HTTPField("host", "evil.example"), right]
            #expect(answer(path, foreign, access: access).status == .misdirected)
        }
        for path in Self.probes { #expect(answer(path, access: access) == answer(path)) }
    }

    @Test(
        arguments: [
            ("/live", true, .ok, "alive\n"),
            ("/live", false, .unavailable, "not alive\n"),
            // A warning alone does not make the service unready.
            (
                "/ready", true, .ok,
                """
                {"ready":true,"reasons":[],\
                "warnings":[{"part":"credential example","reason":"parked"}]}

                """
            ),
            (
                "/ready", false, .unavailable,
                """
                {"ready":false,"reasons":[{"part":"kafka","reason":"no \\"broker\\" answers"}],\
                "warnings":[{"part":"credential example","reason":"parked"}]}

                """
            ),
            ("/startup", false, .ok, "started\n"),
            ("/status.json", true, .ok, "{}"),
            ("/elsewhere", true, .notFound, "not found\n"),
            ("/live/x", true, .notFound, "not found\n"),
        ] as [(String, Bool, HTTPResponse.Status, String)]
    )
    func `each path has its answer`(
        path: String,
        isWell: Bool,
        status: HTTPResponse.Status,
        body: String
    ) {
        let answer = answer(path, isWell: isWell)
        #expect(answer.status == status)
        #expect(String(decoding: answer.body, as: UTF8.self) == body)
    }

    @Test func `metrics name their format`() {
        let answer = answer("/metrics")
        #expect(answer.contentType == "text/plain; version=0.0.4; charset=utf-8")
        #expect(answer.fields == [HTTPField("Vary", "Accept")])
        #expect(String(decoding: answer.body, as: UTF8.self).contains("heliograph_shards 0\n"))
    }

    @Test(arguments: ["/", "/ready"])
    func `HEAD is answered like GET`(path: String) {
        #expect(answer(path, to: "HEAD") == answer(path))
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "OPTIONS"])
    func `only GET and HEAD are answered`(method: String) {
        let answer = answer("/live", to: method)
        #expect(answer.status == .methodNotAllowed)
        #expect(answer.fields == [HTTPField("Allow", "GET, HEAD")])
    }

    @Test func `the page loads only from its own server`() {
        let answer = answer("/")
        let page = String(decoding: answer.body, as: UTF8.self)
        #expect(answer.fields.contains { $0.value.hasPrefix("default-src 'none'") })
        #expect(page.hasPrefix("<!doctype html>"))
        #expect(!page.contains("://") && !page.contains("src=") && !page.contains("stylesheet"))
        #expect(page.contains("fetch(\"status.json\""))
    }

    @Test func `the page consists of its files, and its policy names each of them`() throws {
        let folder = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/AdminHTTP/Page")
        let files = try FileManager.default.contentsOfDirectory(
            at: folder,
            includingPropertiesForKeys: nil
        )
        let answer = answer("/")
        let page = String(decoding: answer.body, as: UTF8.self)
        let policy = try #require(answer.fields.first { $0.name == "Content-Security-Policy" })
        for file in files where file.pathExtension != "html" {
            let text = try String(contentsOf: file, encoding: .utf8)
            let element = file.pathExtension == "js" ? "script" : "style"
            #expect(page.contains("<\(element)>\(text)</\(element)>"))
            let sources = policy.value.split(separator: "; ").first {
                $0.hasPrefix("\(element)-src")
            }
            #expect(sources?.contains("'sha256-\(Self.sha256(text))'") == true)
        }
    }

    private static func sha256(_ text: String) -> String {
        let digits = Array(SHA256.hexadecimal(of: Array(text.utf8)))
        let digest = stride(from: 0, to: 64, by: 2).compactMap {
            UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
        return Data(digest).base64EncodedString()
    }
}
