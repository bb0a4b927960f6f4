import JSON
import Vocabulary

/// The outcomes of the campaign's devices.
struct CampaignLedger {
    private let plan: CampaignPlan
    private var hasOutcome: [Bool]
    private var kinds: [OutcomeKind: Int] = [:]
    /// Devices with an outcome.
    private(set) var count = 0
    /// Outcomes for a device that had one.
    private var repeated = 0
    /// Outcomes of no device of the plan.
    private var strays = 0

    init(_ plan: CampaignPlan) {
        self.plan = plan
        hasOutcome = Array(repeating: false, count: plan.devices)
    }

    mutating func take(_ value: [UInt8]?) {
        guard let (device, kind) = value.flatMap(read) else {
            strays += 1
            return
        }
        guard !hasOutcome[device] else {
            repeated += 1
            return
        }
        hasOutcome[device] = true
        count += 1
        kinds[kind, default: 0] += 1
    }

    private func read(_ value: [UInt8]) -> (device: Int, kind: OutcomeKind)? {
        var document = JSONDocument()
        guard (try? document.parse(value)) != nil,
            let id = document.member(of: document.root, named: Self.id)
                .flatMap({ document.string($0) }),
            let recipient = document.member(of: document.root, named: Self.recipient)
                .flatMap({ document.integer($0) }),
            let kind = document.member(of: document.root, named: Self.outcome)
                .flatMap({ document.string($0) }).flatMap(OutcomeKind.init),
            let device = plan.event(id).flatMap({ plan.device($0, recipient: Int(recipient)) })
        else { return nil }
        return (device, kind)
    }

    private static let id = JSONName("event_id")
    private static let recipient = JSONName("recipient")
    private static let outcome = JSONName("outcome")

    /// Whether each device has one outcome, `accepted` or `cancelled`.
    var isRight: Bool {
        repeated == 0 && strays == 0
            && (kinds[.accepted] ?? 0) + (kinds[.cancelled] ?? 0) == plan.devices
    }

    /// The outcomes, and whether they add up.
    var sum: String {
        let parts = OutcomeKind.allCases.filter { kinds[$0] != nil || isExpected($0) }.map {
            "\(CampaignDemo.text(kinds[$0] ?? 0)) \($0.rawValue)"
        }
        let devices = CampaignDemo.text(plan.devices)
        let sum =
            "\(parts.joined(separator: " + ")) = \(CampaignDemo.text(count)) outcomes for "
            + "\(devices) devices"
        guard !isRight else { return sum }
        return "NOT AS EXPECTED: \(sum); \(repeated) outcomes are repeated, \(strays) are stray"
    }

    private func isExpected(_ kind: OutcomeKind) -> Bool { kind == .accepted || kind == .cancelled }
}
