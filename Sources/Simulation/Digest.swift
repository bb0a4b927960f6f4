import Delivery
import Vocabulary

/// Fingerprints of a run, one for each kind of decision: two runs of one seed have the same.
///
/// They show whether two builds decide the same. There is one for each kind, because the order
/// between decisions of different kinds is not a decision.
package struct Digest: Hashable, Sendable {
    private var happenings = WordDigest()
    /// In the order of `TurnDecision.List.allCases`.
    private var lists = TurnDecision.List.allCases.map { _ in WordDigest() }

    /// Something happened.
    mutating func mix(_ word: UInt64) { happenings.mix(word) }

    /// A member decided.
    mutating func mix(_ decision: TurnDecision, of member: MemberID, at now: Instant) {
        for (index, list) in TurnDecision.List.allCases.enumerated() {
            var isEmpty = true
            decision.forEachWord(of: list) { word in
                if isEmpty {
                    lists[index].mix(now.word)
                    lists[index].mix(UInt64(UInt32(member.number)))
                }
                isEmpty = false
                lists[index].mix(word)
            }
        }
    }

    /// Kind and value of each, for anyone who compares two builds.
    package var text: String {
        let names = ["happenings"] + TurnDecision.List.allCases.map(\.rawValue)
        return zip(names, [happenings] + lists).map { name, digest in
            name.replacing(" ", with: "-") + "=" + String(digest.value, radix: 16)
        }.joined(separator: " ")
    }
}

extension Instant {
    var word: UInt64 { UInt64(bitPattern: nanoseconds) }
}
