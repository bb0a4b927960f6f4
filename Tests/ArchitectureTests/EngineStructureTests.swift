import Testing

/// The engine's six owners keep their state to themselves and know nothing of each other.
@Suite struct EngineStructureTests {
    private static let engine = "DeliveryEngine"
    private static let owners = [
        "Assignment", "Intake", "Hygiene", "Dispatch", "Retry", "Publishing",
    ]

    /// A replay stands outside, as a shard does: it tells the engine what a log says.
    @Test func `only its own file names the engine`() throws {
        for file in try sources(of: "Delivery")
        where !file.isNamed(Self.engine) && !file.isNamed("Replay") {
            #expect(!file.mentions(Self.engine), "\(file.name)")
        }
    }

    @Test(arguments: owners)
    func `an owner names no other owner`(owner: String) throws {
        let file = try #require(try sources(of: "Delivery").first { $0.isNamed(owner) })
        for other in Self.owners where other != owner {
            #expect(!file.mentions(other), "\(owner) knows \(other)")
        }
    }

    /// What is `private` in Swift is seen by extensions in the same file only.
    @Test(arguments: owners + [engine])
    func `the state of an owner is private, and no other file extends it`(owner: String) throws {
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
