import Shard
import Testing
import Vocabulary

@Suite struct RestartRuleTests {
    struct Row: Sendable {
        var skipsNothing = false
        var position: Int64?
        var known: Range<Int64>? = 10..<20
        /// The next record that the client expected to fetch.
        var next: Int64?
        var start: StartPosition

        var rule: RestartRule {
            RestartRule(
                skipsNothing: skipsNothing,
                position: position.map { Offset($0) },
                known: known
            )
        }
    }

    @Test(arguments: [
        Row(position: 15, start: .at(Offset(15))),
        Row(skipsNothing: true, position: 15, start: .at(Offset(15))),
        // Nothing has been read yet.
        Row(skipsNothing: true, start: .beginning),
        Row(next: 10, start: .at(Offset(10))),
        Row(next: 20, start: .at(Offset(20))),
        Row(start: .end),
        // The client's position is from before the records were gone, or from another topic.
        Row(next: 9, start: .end),
        Row(next: 21, start: .end),
        Row(known: nil, next: 15, start: .end),
    ])
    func `records that cannot be read are not skipped`(row: Row) {
        #expect(row.rule.afterDamage(next: row.next) == row.start)
    }

    @Test(arguments: [Row(skipsNothing: true, start: .beginning), Row(start: .end)])
    func `without a position, reading starts where the configuration says`(row: Row) {
        #expect(row.rule.first == row.start)
    }
}
