import JSON

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
        fileprivate let symbols: [(field: Field, symbol: Int)]

        init(of schema: Schema) {
            symbols = fields.compactMap { field in
                schema.program.symbols.position(of: field.rawValue).map { (field, $0) }
            }
        }
    }

    /// Finds the fields along with the names that a schema looks for.
    init(
        _ root: JSONNode,
        _ names: Names,
        of schema: Schema,
        _ check: inout SchemaCheck
    ) {
        check.start(schema.program)
        guard root.isObject, let present = check.members(of: root, for: schema.program) else {
            self = EventFields(root, check.document)
            return
        }
        for (field, symbol) in names.symbols where present.contains(SymbolSet(symbol)) {
            set(field, check.member(symbol, of: root))
        }
    }

    /// A repeated name leaves its field nil: neither value is more right than the other.
    init(_ root: JSONNode, _ document: JSONDocument) {
        guard root.isObject else { return }
        var seen: UInt32 = 0
        var cursor = ChildCursor(root)
        while let (name, value) = cursor.nextMember(in: document) {
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
