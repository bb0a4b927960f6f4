import HTTPServer
import RegistryIO
import Testing
import Vocabulary

@Suite struct RegistryClientTests {
    /// A client's result for schema 7 from a registry with these answers.
    private func verdict(
        before: [String] = [],
        behind: [String] = [],
        _ answer: @escaping HTTPServer.Answer
    ) async throws -> Result<RegistryVerdict, RegistryError> {
        var limits = HTTPServer.Limits()
        limits.maxExchange = .seconds(60)
        let server = try HTTPServer(
            HTTPAddress(host: "127.0.0.1", port: 0),
            name: "registry",
            limits: limits,
            answer: answer
        )
        server.start()
        defer { server.stop() }
        let urls = before + ["http://\(server.address)"] + behind
        let client = try RegistryClient(RegistryAccess(urls: urls, timeout: .seconds(20)))
        do throws(RegistryError) {
            return .success(try client.fetch(.id(7)))
        } catch {
            return .failure(error)
        }
    }

    private static let schemaPath = "/schemas/ids/7"
    // Port 1 is reserved (tcpmux), and nothing listens there.
    private static let nobody = "http://127.0.0.1:1"

    @Test func `an address without a registry is unreachable, and the schema not unknown`() throws {
        let client = try RegistryClient(RegistryAccess(urls: [Self.nobody], timeout: .seconds(5)))
        let error = #expect(throws: RegistryError.self) { _ = try client.fetch(.id(1)) }
        guard case .unreachable = error else {
            Issue.record("unexpected \(String(describing: error))")
            return
        }
    }

    @Test func `a registry that fails every request is unreachable`() async throws {
        let found = try await verdict { _ in HTTPResponse(.unavailable, "") }
        #expect(found == .failure(.unreachable("status 503")))
    }

    @Test(arguments: [HTTPResponse.Status.ok, .notFound, .badRequest])
    func `a registry that fails for one schema is still used for others`(
        status: HTTPResponse.Status
    ) async throws {
        let found = try await verdict { request in
            HTTPResponse(request.path == Self.schemaPath ? .unavailable : status, "[]")
        }
        #expect(found == .failure(.failed("status 503")))
    }

    @Test func `a refusal next to a dead address does not concern all schemas`() async throws {
        for isFirst in [true, false] {
            let dead = [Self.nobody]
            let found = try await verdict(before: isFirst ? dead : [], behind: isFirst ? [] : dead)
            {
                _ in HTTPResponse(.notFound, "<html>")
            }
            guard case .failure(let error) = found else {
                Issue.record("\(found)")
                return
            }
            #expect(!error.concernsAll)
        }
    }

    @Test func `an answer over the size limit is unusable`() async throws {
        let found = try await verdict { _ in
            HTTPResponse(.ok, String(repeating: " ", count: 5 << 20))
        }
        guard case .success(.unusable(let cause)) = found else {
            Issue.record("\(found)")
            return
        }
        #expect(cause.contains("4 MiB"))
    }

    @Test func `the references of a schema have a total size limit`() async throws {
        let references = (0..<5).map {
            #"{"name":"r\#($0)","subject":"r\#($0)","version":1}"#
        }
        let found = try await verdict { request in
            let isSchema = request.path == Self.schemaPath
            let list = isSchema ? references.joined(separator: ",") : ""
            let text = isSchema ? "{}" : String(repeating: " ", count: 1 << 20)
            return HTTPResponse(
                .ok,
                #"{"schema":"\#(text)","schemaType":"JSON","references":[\#(list)]}"#
            )
        }
        guard case .success(.unusable(let cause)) = found else {
            Issue.record("\(found)")
            return
        }
        #expect(cause.contains("4 MiB"))
    }
}
