import HTTPServer

/// Runs a server on a free port while `body` runs.
func withServer(
    limits: HTTPServer.Limits = .bodies(upTo: 0),
    identity: @escaping @Sendable () -> ServerIdentity? = { nil },
    answer: @escaping HTTPServer.Answer = { _ in HTTPResponse(.ok, "well\n") },
    _ body: (HTTPAddress) async throws -> Void
) async throws {
    try await withServer(limits: limits, identity: identity, handler: { .now(answer($0)) }, body)
}

/// Runs a server that may answer later.
func withServer(
    limits: HTTPServer.Limits = .bodies(upTo: 0),
    identity: @escaping @Sendable () -> ServerIdentity? = { nil },
    handler: @escaping HTTPServer.Handler,
    _ body: (HTTPAddress) async throws -> Void
) async throws {
    let server = try HTTPServer(
        HTTPAddress(host: "127.0.0.1", port: 0),
        name: "test",
        limits: limits,
        identity: identity,
        handler: handler
    )
    let task = Task { await server.serve() }
    let result = await Result { try await body(server.address) }
    task.cancel()
    await task.value
    try result.get()
}

extension Result where Failure == any Error {
    /// The result of `body`.
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}

extension HTTPServer.Limits {
    static func bodies(upTo byteCount: Int) -> HTTPServer.Limits {
        var limits = HTTPServer.Limits()
        limits.maxBodyByteCount = byteCount
        // These tests must not depend on the machine's speed.
        limits.maxExchange = .seconds(60)
        limits.maxLinger = .seconds(60)
        return limits
    }
}
