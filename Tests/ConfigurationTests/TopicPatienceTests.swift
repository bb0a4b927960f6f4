import Configuration
import Testing
import Vocabulary

@Suite struct TopicPatienceTests {
    @Test func `a topic counts as missing when it has been unknown for 30 s`() {
        var patience = TopicPatience(properties: [:])
        let start = Instant(nanoseconds: 7)
        let asked = [0, 1, 29, 30, 31].map { patience.wereUnknown(at: start + .seconds($0)) }
        #expect(asked == [true, true, true, false, false])
    }

    /// The limits of the service and of commands.
    @Test(
        arguments: [
            (nil, [30_000, 5000]), ("60000", [60_000, 5000]), ("1000", [1000, 1000]),
        ] as [(String?, [Int])]
    )
    func `the operator's property sets the time`(property: String?, limits: [Int]) {
        let properties = property.map { [TopicPatience.property: $0] } ?? [:]
        let patience = TopicPatience(properties: properties)
        #expect([patience.limit, patience.ofCommands] == limits.map { .milliseconds($0) })
    }
}
