/// Fingerprints of a run, one for each kind of decision: two runs of one seed have the same.
///
/// They tell whether two builds decide the same. There is one for each kind, because the order in
/// which decisions of different kinds are told is no decision.
package struct Digest: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        /// What happened, and when.
        case happenings
        case connections
        case sends
        case cancels
        case tokenRefreshes = "token-refreshes"
        case tokenWords = "token-words"
        case schemas
        case publications
        case transactions
        case assignments
        case commits
        case pauses
    }

    private var values = Array(repeating: UInt64(0xCBF2_9CE4_8422_2325), count: Kind.allCases.count)

    /// FNV-1a, by words.
    mutating func mix(_ word: UInt64, into kind: Kind) {
        let place = kind.place
        values[place] = (values[place] ^ word) &* 0x0000_0100_0000_01B3
        values[place] ^= values[place] >> 29
    }

    package subscript(kind: Kind) -> UInt64 { values[kind.place] }

    /// Kind and value of each, for whoever compares two builds.
    package var text: String {
        Kind.allCases.map { "\($0.rawValue)=\(String(self[$0], radix: 16))" }
            .joined(separator: " ")
    }
}

extension Digest.Kind {
    fileprivate var place: Int {
        switch self {
        case .happenings: 0
        case .connections: 1
        case .sends: 2
        case .cancels: 3
        case .tokenRefreshes: 4
        case .tokenWords: 5
        case .schemas: 6
        case .publications: 7
        case .transactions: 8
        case .assignments: 9
        case .commits: 10
        case .pauses: 11
        }
    }
}
