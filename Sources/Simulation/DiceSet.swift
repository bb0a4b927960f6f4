/// The kinds of random decisions.
enum Draw: Int, CaseIterable {
    // The world's, shared by all members
    case devices, traffic, content, faults, members, retryPartition
    // APNs
    case connection, ping, answer, fate, trouble, streamLimit, providerToken
    // Kafka and the Schema Registry
    case produce, report, transaction, storedOffsets, metadata, commit, tokenStatus, schema,
        decoding, log
    /// Events with recipients, and the turns in which their recipients are read.
    case recipients
}

/// The dice of a world: each kind of draw has its own random stream for each member.
///
/// So the draws of one decision do not affect others: an engine that makes the same decisions in
/// another order gets the same run.
struct DiceSet {
    private let seed: UInt64
    /// Ordered by member and kind of draw; those of the world come first.
    private var streams: [Dice] = []
    /// Those of `recipients`, by member: apart, so that the others are those of a world without
    /// recipients.
    private var recipientStreams: [Dice] = []

    init(seed: UInt64) {
        self.seed = seed
    }

    /// The dice of a draw that belongs to no member.
    subscript(draw: Draw) -> Dice {
        mutating get { self[draw, MemberID.nobody] }
        _modify { yield &self[draw, MemberID.nobody] }
    }

    subscript(draw: Draw, member: Member) -> Dice {
        mutating get { self[draw, member.id] }
        _modify { yield &self[draw, member.id] }
    }

    subscript(draw: Draw, member: MemberID) -> Dice {
        mutating get {
            draw == .recipients
                ? recipientStreams[recipientPlace(member)] : streams[place(of: draw, member)]
        }
        _modify {
            if draw == .recipients {
                yield &recipientStreams[recipientPlace(member)]
            } else {
                yield &streams[place(of: draw, member)]
            }
        }
    }

    private mutating func recipientPlace(_ member: MemberID) -> Int {
        let place = Int(member.number)
        while recipientStreams.count <= place {
            var seeds = Dice(seed: ~seed &+ UInt64(recipientStreams.count) << 32)
            recipientStreams.append(Dice(seed: seeds.seed()))
        }
        return place
    }

    private mutating func place(of draw: Draw, _ member: MemberID) -> Int {
        let place = Int(member.number) * Draw.recipients.rawValue + draw.rawValue
        while streams.count <= place {
            // Seeds are themselves random, so that neighboring streams are independent.
            var seeds = Dice(seed: seed &+ UInt64(streams.count) << 32)
            streams.append(Dice(seed: seeds.seed()))
        }
        return place
    }
}

extension MemberID {
    /// Members are numbered from 1.
    fileprivate static let nobody = MemberID(number: 0)
}
