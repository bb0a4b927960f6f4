import HTTP2IO
import SystemIO
import Testing
import Vocabulary

@Suite struct ResolverTests {
    /// Waits for this many answers; only a broken resolver takes a minute.
    private func answers(_ count: Int, of resolver: Resolver) throws -> [Resolution] {
        let deadline = SystemClock.now + .seconds(60)
        let loop = try EventLoop()
        try loop.register(resolver.fileDescriptor, id: 1, interest: .read)
        var resolutions: [Resolution] = []
        while resolutions.count < count, SystemClock.now < deadline {
            try loop.wait(until: deadline) { _, _ in resolutions += resolver.takeResolutions() }
        }
        return resolutions
    }

    /// Sends one query and waits for its answer.
    private func resolve(
        _ host: String,
        seed: UInt64? = nil
    ) throws -> Result<[SocketAddress], ResolveError> {
        let resolver = try Resolver()
        #expect(resolver.resolve(host, port: 2197, id: 42, shuffleSeed: seed))
        let resolutions = try answers(1, of: resolver)
        #expect(resolutions.map(\.id) == [42])
        return try #require(resolutions.first).result
    }

    @Test(arguments: ["127.0.0.1", "::1", "192.0.2.7"])
    func `a numeric host is its own answer`(host: String) throws {
        let expected = try #require(SocketAddress(numeric: host, port: 2197))
        #expect(try resolve(host).get() == [expected])
    }

    @Test func `localhost resolves to loopback with the requested port`() throws {
        let addresses = try resolve("localhost", seed: 3).get()
        #expect(!addresses.isEmpty)
        for address in addresses {
            #expect(address.port == 2197)
            #expect(["127.0.0.1", "::1"].contains(address.host))
        }
    }

    @Test func `a name that cannot exist is an error with a text`() throws {
        // RFC 6761, 6.4 reserves .invalid; an over-long label fails without any server.
        let label = String(repeating: "x", count: 70)
        guard case .failure(let error) = try resolve("\(label).invalid") else {
            Issue.record("resolved")
            return
        }
        #expect(!error.text.isEmpty)
    }

    @Test func `a full mailbox is reported`() throws {
        let resolver = try Resolver(capacity: 2)
        #expect(resolver.resolve("127.0.0.1", port: 1, id: 1))
        #expect(resolver.resolve("127.0.0.1", port: 1, id: 2))
        #expect(!resolver.resolve("127.0.0.1", port: 1, id: 3))
        #expect(try answers(2, of: resolver).count == 2)
        #expect(resolver.resolve("127.0.0.1", port: 1, id: 3))
    }

    @Test(arguments: [(SocketAddress.Family.ipv6, "::"), (.ipv4, "192.0.2.")])
    func `shuffling uses all addresses and keeps the preferred family first`(
        family: SocketAddress.Family,
        prefix: String
    ) throws {
        let leaders = try (1...4).map {
            try #require(SocketAddress(numeric: "\(prefix)\($0)", port: 443))
        }
        let others = try ["198.51.100.1", "2001:db8::1"].map {
            try #require(SocketAddress(numeric: $0, port: 443))
        }.filter { $0.family != family }
        var generator = SeededGenerator(seed: 1)
        var firsts: Set<SocketAddress> = []
        for _ in 0..<100 {
            let order = (leaders + others).shuffledWithinFamilies(using: &generator)
            #expect(Set(order) == Set(leaders + others))
            #expect(order.prefix(4).allSatisfy { $0.family == family })
            firsts.insert(order[0])
        }
        #expect(firsts == Set(leaders))
    }
}
