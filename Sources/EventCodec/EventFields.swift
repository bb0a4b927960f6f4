import JSON
import JSONSchema

/// Where an event's fields stand in its document, found in one pass over the top level.
struct EventFields {
    var id: JSONNode?
    var deviceToken: JSONNode?
    var bundleID: JSONNode?
    var topic: JSONNode?
    var pushType: JSONNode?
    var payload: JSONNode?
    var environment: JSONNode?
    var priority: JSONNode?
    var expiration: JSONNode?
    var collapseID: JSONNode?
    var apnsID: JSONNode?
    var tokenRegisteredAt: JSONNode?
    var occurredAt: JSONNode?
    var metadata: JSONNode?
    /// The second value of a name that stands twice: such an event is ambiguous, and so is none.
    var repeated: JSONNode?

    fileprivate enum Field: String, CaseIterable {
        case id
        case deviceToken = "device_token"
        case bundleID = "bundle_id"
        case topic
        case pushType = "push_type"
        case payload
        case environment
        case priority
        case expiration
        case collapseID = "collapse_id"
        case apnsID = "apns_id"
        case tokenRegisteredAt = "token_registered_at"
        case occurredAt = "occurred_at"
        case metadata
    }

    private static let fields = Field.allCases
    private static let table = NameTable(fields.map(\.rawValue))

    /// The symbols that a schema has for the names of the fields.
    struct Names: Sendable {
        fileprivate let id: Int
        fileprivate let deviceToken: Int
        fileprivate let bundleID: Int
        fileprivate let topic: Int
        fileprivate let pushType: Int
        fileprivate let payload: Int
        fileprivate let environment: Int
        fileprivate let priority: Int
        fileprivate let expiration: Int
        fileprivate let collapseID: Int
        fileprivate let apnsID: Int
        fileprivate let tokenRegisteredAt: Int
        fileprivate let occurredAt: Int
        fileprivate let metadata: Int

        /// It traps if the schema does not name every field.
        init(of schema: Schema) {
            func symbol(_ field: Field) -> Int {
                guard let symbol = schema.symbol(of: field.rawValue) else {
                    preconditionFailure("the event's schema does not name \(field.rawValue)")
                }
                return symbol
            }
            id = symbol(.id)
            deviceToken = symbol(.deviceToken)
            bundleID = symbol(.bundleID)
            topic = symbol(.topic)
            pushType = symbol(.pushType)
            payload = symbol(.payload)
            environment = symbol(.environment)
            priority = symbol(.priority)
            expiration = symbol(.expiration)
            collapseID = symbol(.collapseID)
            apnsID = symbol(.apnsID)
            tokenRegisteredAt = symbol(.tokenRegisteredAt)
            occurredAt = symbol(.occurredAt)
            metadata = symbol(.metadata)
        }
    }

    /// Finds the fields along with the names that a schema looks for.
    init(
        _ root: JSONNode,
        _ names: Names,
        of schema: Schema,
        _ check: inout SchemaCheck
    ) {
        guard let present = schema.members(of: root, &check) else {
            self = EventFields(root, check.document)
            return
        }
        @inline(__always)
        func value(_ symbol: Int) -> JSONNode? {
            present.contains(SymbolSet(symbol)) ? check.member(symbol) : nil
        }
        id = value(names.id)
        deviceToken = value(names.deviceToken)
        bundleID = value(names.bundleID)
        topic = value(names.topic)
        pushType = value(names.pushType)
        payload = value(names.payload)
        environment = value(names.environment)
        priority = value(names.priority)
        expiration = value(names.expiration)
        collapseID = value(names.collapseID)
        apnsID = value(names.apnsID)
        tokenRegisteredAt = value(names.tokenRegisteredAt)
        occurredAt = value(names.occurredAt)
        metadata = value(names.metadata)
    }

    /// A repeated name leaves its field nil: neither value is more right than the other.
    init(_ root: JSONNode, _ document: JSONDocument) {
        guard root.isObject else { return }
        var seen: UInt32 = 0
        var cursor = document.children(of: root)
        while let (name, value) = document.nextMember(&cursor) {
            guard let position = Self.table.position(of: name, in: document) else { continue }
            let bit = UInt32(1) << UInt32(position)
            if seen & bit == 0 {
                set(Self.fields[position], value)
            } else {
                set(Self.fields[position], nil)
                repeated = repeated ?? value
            }
            seen |= bit
        }
    }

    private mutating func set(_ field: Field, _ value: JSONNode?) {
        switch field {
        case .id: id = value
        case .deviceToken: deviceToken = value
        case .bundleID: bundleID = value
        case .topic: topic = value
        case .pushType: pushType = value
        case .payload: payload = value
        case .environment: environment = value
        case .priority: priority = value
        case .expiration: expiration = value
        case .collapseID: collapseID = value
        case .apnsID: apnsID = value
        case .tokenRegisteredAt: tokenRegisteredAt = value
        case .occurredAt: occurredAt = value
        case .metadata: metadata = value
        }
    }
}
