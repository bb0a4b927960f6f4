import Delivery
import Vocabulary

/// Fingerprints of a run, one per kind of decision; runs of one seed have the same.
///
/// They show whether two builds decide the same. There is one per kind because the order between
/// decisions of different kinds has no meaning.
package struct Digest: Hashable, Sendable {
    private var happenings = WordDigest()
    /// In the order of `TurnDecision.List.allCases`.
    private var lists = TurnDecision.List.allCases.map { _ in WordDigest() }

    /// Adds a happening.
    mutating func mix(_ word: UInt64) { happenings.mix(word) }

    /// Adds a member's decision.
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

    /// The kind and the value of each fingerprint, to compare two builds.
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
