import AdminHTTP
import Foundation
import HTTP2IO
import HTTPServer
import Telemetry
import Testing

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
        access: AdminAccess = AdminAccess(hosts: AdminHosts([]))
    ) -> HTTPResponse {
        let readiness = Readiness(
            obstacles: isWell ? [] : [Self.obstacle],
            warnings: [Self.warning]
        )
        let state = AdminState(
            isAlive: { isWell },
            readiness: { readiness },
            metrics: { Metrics(version: "1", shards: []).families },
            statusJSON: { Array("{}".utf8) }
        )
        return AdminRoutes(state: state, access: access)
            .answer(to: HTTPRequest(method, path, fields))
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
            #expect(routes.answer(to: HTTPRequest("GET", path, [])).status == status, "\(path)")
        }
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
