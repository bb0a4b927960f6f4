import AdminHTTP
import HTTPServer
import Telemetry
import Testing

@Suite struct AdminServerTests {
    private static let state = AdminState(
        isAlive: { true },
        readiness: { Readiness() },
        metrics: { [] },
        statusJSON: { [] }
    )

    private static let access = AdminAccess(hosts: AdminHosts([]))

    @Test func `a port in use is one error with the address`() async throws {
        let server = AdminServer(host: "127.0.0.1", port: 0, state: Self.state, access: Self.access)
        let (addresses, listening) = AsyncStream.makeStream(of: HTTPAddress.self)
        let task = Task {
            defer { listening.finish() }
            try await server.run { listening.yield($0) }
        }
        var iterator = addresses.makeAsyncIterator()
        let address = try #require(await iterator.next())
        #expect(address.port != 0)
        let second = AdminServer(
            host: address.host,
            port: address.port,
            state: Self.state,
            access: Self.access
        )
        await #expect(throws: AdminServerError(.addressInUse(address))) { try await second.run() }
        task.cancel()
        try await task.value
    }

    @Test func `a host that is not an address is refused`() async {
        let server = AdminServer(host: "a.b.c", port: 0, state: Self.state, access: Self.access)
        await #expect(throws: AdminServerError(.notAnAddress("a.b.c"))) { try await server.run() }
    }

    @Test func `an error names the setting to change`() {
        let address = HTTPAddress(host: "::1", port: 9464)
        #expect(
            AdminServerError(.addressInUse(address)).description
                == "admin.port: [::1]:9464 is in use by another process; "
                + "set another port, or 0 for any free one"
        )
        #expect(
            AdminServerError(.notAnAddress("a.b")).description
                == "admin.host: 'a.b' is neither an IP address nor localhost"
        )
        #expect(
            AdminServerError(.failed(address, cause: "Permission denied")).description
                == "admin.port: cannot listen on [::1]:9464: Permission denied"
        )
    }

    @Test func `a task cancelled at the start returns`() async throws {
        let server = AdminServer(host: "localhost", port: 0, state: Self.state, access: Self.access)
        let task = Task { try await server.run() }
        task.cancel()
        try await task.value
    }
}
