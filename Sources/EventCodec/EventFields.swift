import JSON
import JSONSchema

/// Where an event's fields stand in its document, found in one pass over the top level.
struct EventFields {
    /// What the kinds of events have.
    enum Field: Int, CaseIterable {
        case id
        case deviceToken
        case channelID
        case bundleID
        case topic
        case pushType
        case payload
        case environment
        case priority
        case expiration
        case collapseID
        case apnsID
        case tokenRegisteredAt
        case occurredAt
        case metadata
    }

    /// Whether the event is for a channel.
    let isBroadcast: Bool
    /// For each field the place of its value on the tape, where only the whole document stands at 0.
    private var places: InlineArray<15, UInt32>
    /// The second value of a name that stands twice: such an event is ambiguous, and so is none.
    private(set) var repeated: JSONNode?

    /// Finds the fields along with the names that the kind's schema looks for.
    init(_ root: JSONNode, _ kind: EventKind, _ check: inout SchemaCheck) {
        isBroadcast = kind.isBroadcast
        guard let present = kind.schema.members(of: root, &check) else {
            places = InlineArray(repeating: 0)
            find(in: root, kind, check.document)
            return
        }
        places = InlineArray { index in
            let symbol = kind.symbols[index]
            guard !present.isDisjoint(with: symbol) else { return 0 }
            return UInt32(check.member(symbol.rawValue.trailingZeroBitCount).index)
        }
    }

    /// A repeated name leaves its field nil: neither value is more right than the other.
    private mutating func find(in root: JSONNode, _ kind: EventKind, _ document: JSONDocument) {
        guard root.isObject else { return }
        var seen: UInt32 = 0
        var cursor = document.children(of: root)
        while let (name, value) = document.nextMember(&cursor) {
            guard let position = kind.names.position(of: name, in: document) else { continue }
            let index = kind.fields[position].rawValue
            let bit = UInt32(1) << UInt32(index)
            if seen & bit == 0 {
                places[index] = UInt32(value.index)
            } else {
                places[index] = 0
                repeated = repeated ?? value
            }
            seen |= bit
        }
    }

    /// Where the field's value stands on the document's tape; nil: it is not there.
    @inline(__always)
    subscript(field: Field) -> Int? {
        let place = Int(places[field.rawValue])
        return place == 0 ? nil : place
    }
}

/// A kind of event: its schema, and what it calls its fields.
///
/// An object, so that a decoder lends it out by counting one reference.
final class EventKind: Sendable {
    let schema: Schema
    /// Whether it is for a channel.
    let isBroadcast: Bool
    /// The fields that it has, and their names, in the same order.
    fileprivate let fields: [EventFields.Field]
    fileprivate let names: NameTable
    /// For each field the symbol that the schema has for its name; none where the kind has no such
    /// field.
    fileprivate let symbols: InlineArray<15, SymbolSet>

    /// Events for one device.
    static func notification(_ schema: Schema) -> EventKind {
        EventKind(
            schema,
            [
                (.id, "id"), (.deviceToken, "device_token"), (.bundleID, "bundle_id"),
                (.topic, "topic"), (.pushType, "push_type"), (.payload, "payload"),
                (.environment, "environment"), (.priority, "priority"),
                (.expiration, "expiration"), (.collapseID, "collapse_id"), (.apnsID, "apns_id"),
                (.tokenRegisteredAt, "token_registered_at"), (.occurredAt, "occurred_at"),
                (.metadata, "metadata"),
            ]
        )
    }

    /// Events for a channel.
    static func broadcast(_ schema: Schema) -> EventKind {
        EventKind(
            schema,
            [
                (.id, "id"), (.channelID, "channel_id"), (.bundleID, "bundle_id"),
                (.payload, "payload"), (.expiration, "expiration"),
                (.environment, "environment"), (.priority, "priority"),
                (.apnsID, "apns_request_id"), (.occurredAt, "occurred_at"),
                (.metadata, "metadata"),
            ]
        )
    }

    /// It traps if the schema does not name every field.
    private init(_ schema: Schema, _ table: [(field: EventFields.Field, name: String)]) {
        self.schema = schema
        isBroadcast = table.contains { $0.field == .channelID }
        fields = table.map(\.field)
        names = NameTable(table.map(\.name))
        var symbols = InlineArray<15, SymbolSet>(repeating: [])
        for (field, name) in table {
            guard let symbol = schema.symbol(of: name) else {
                preconditionFailure("the event's schema does not name \(name)")
            }
            symbols[field.rawValue] = SymbolSet(symbol)
        }
        self.symbols = symbols
    }
}
