import Testing

/// The engine's six owners keep their state private and do not depend on each other.
@Suite struct EngineStructureTests {
    private static let engine = "DeliveryEngine"
    private static let owners = [
        "Assignment", "Intake", "Hygiene", "Dispatch", "Retry", "Publishing",
    ]

    /// A replay is outside, like a shard: it feeds a log to the engine.
    @Test func `only the engine's own file names the engine`() throws {
        for file in try sources(of: "Delivery")
        where !file.isNamed(Self.engine) && !file.isNamed("Replay") {
            #expect(!file.mentions(Self.engine), "\(file.name)")
        }
    }

    @Test(arguments: owners)
    func `an owner does not name another owner`(owner: String) throws {
        let file = try #require(try sources(of: "Delivery").first { $0.isNamed(owner) })
        for other in Self.owners where other != owner {
            #expect(!file.mentions(other), "\(owner) knows \(other)")
        }
    }

    /// In Swift, only extensions in the same file see `private` members.
    @Test(arguments: owners + [engine])
    func `an owner's state is private, and no other file extends it`(owner: String) throws {
        for file in try sources(of: "Delivery") {
            guard file.isNamed(owner) else {
                #expect(!file.extends(owner), "\(file.name)")
                continue
            }
            for line in file.storedProperties(of: owner) {
                #expect(line.isPrivateProperty, "\(owner): \(line)")
            }
        }
    }
}
