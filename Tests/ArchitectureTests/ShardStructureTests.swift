import Testing

/// A shard's parts keep their state private and do not depend on each other.
@Suite struct ShardStructureTests {
    private static let shard = "Shard"
    private static let parts = [
        "KafkaSide", "APNsConnections", "APNsRequests", "OutcomeProducer", "ShardObserver",
    ]

    @Test func `only the shard's own file names the shard`() throws {
        for file in try sources(of: Self.shard) where !file.isNamed(Self.shard) {
            #expect(!file.mentions(Self.shard), "\(file.name)")
        }
    }

    @Test(arguments: parts)
    func `a part does not name another part`(part: String) throws {
        let file = try #require(try sources(of: Self.shard).first { $0.isNamed(part) })
        for other in Self.parts where other != part {
            #expect(!file.mentions(other), "\(part) knows \(other)")
        }
    }

    /// In Swift, only extensions in the same file see `private` members.
    @Test(arguments: parts + [shard])
    func `a part's state is private, and no other file extends it`(part: String) throws {
        for file in try sources(of: Self.shard) {
            guard file.isNamed(part) else {
                #expect(!file.extends(part), "\(file.name)")
                continue
            }
            let properties = file.storedProperties(of: part)
            #expect(!properties.isEmpty)
            for line in properties {
                #expect(line.isPrivateProperty, "\(part): \(line)")
            }
        }
    }
}
