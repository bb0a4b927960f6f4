import JSON
import JSONSchema
import Vocabulary

/// Reads the entries of `recipients`, each of which is valid or invalid on its own.
struct RecipientReader {
    private let schema: ItemSchema
    /// The schema's symbols for the fields of an entry.
    private let deviceTokenSymbol: Int
    private let apnsIDSymbol: Int
    private let collapseIDSymbol: Int
    private let expirationSymbol: Int

    /// Traps if the event's schema has no schema for recipients, or does not name their fields.
    init(_ event: Schema) {
        guard let schema = ItemSchema(event, ofItemsIn: "recipients"),
            let deviceToken = event.symbol(of: Self.deviceToken.text),
            let apnsID = event.symbol(of: Self.apnsID.text),
            let collapseID = event.symbol(of: Self.collapseID.text),
            let expiration = event.symbol(of: Self.expiration.text)
        else { preconditionFailure("the event's schema does not describe recipients") }
        self.schema = schema
        deviceTokenSymbol = deviceToken
        apnsIDSymbol = apnsID
        collapseIDSymbol = collapseID
        expirationSymbol = expiration
    }

    private static let deviceToken = JSONName("device_token")
    private static let apnsID = JSONName("apns_id")
    private static let collapseID = JSONName("collapse_id")
    private static let expiration = JSONName("expiration")

    /// Reads the list of an event that is otherwise valid, in one pass.
    ///
    /// - Parameters:
    ///   - list: The array.
    ///   - offset: What to add to positions in the document to get positions in the record's
    ///     `eventBytes`.
    ///   - check: The document, and the state of its validation.
    /// - Returns: The entries, in their order.
    func read(_ list: JSONNode, offset: Int, _ check: inout SchemaCheck) -> RecipientList {
        var builder = RecipientList.Builder(
            bytes: list.range.shifted(by: offset),
            count: list.count
        )
        // Found once: looking for an entry from the root takes longer for each one.
        var place: String?
        var cursor = check.document.children(of: list)
        while let entry = check.document.nextItem(&cursor) {
            let bytes = entry.range.shifted(by: offset)
            if let members = members(of: entry, &check), schema.admits(entry, &check) {
                check.document.withContent(of: members.deviceToken) { token in
                    builder.append(checked: token, fields(members, check.document), bytes: bytes)
                }
            } else {
                let listPlace = place ?? check.document.pointer(to: list)
                place = listPlace
                let refusal = refusal(of: entry, at: "\(listPlace)/\(builder.count)", &check)
                builder.append(refusal, bytes: bytes)
            }
        }
        return builder.finished()
    }

    /// The values of an entry that is a string or an object.
    private struct Members {
        let deviceToken: JSONNode
        var apnsID: JSONNode?
        var collapseID: JSONNode?
        var expiration: JSONNode?
    }

    /// Finds an entry's values, valid or not; nil if it has no token, or a name twice.
    @inline(__always)
    private func members(of entry: JSONNode, _ check: inout SchemaCheck) -> Members? {
        if entry.isString { return Members(deviceToken: entry) }
        guard entry.isObject else { return nil }
        guard let present = schema.members(of: entry, &check) else {
            return searchedMembers(of: entry, check.document)
        }
        func member(_ symbol: Int) -> JSONNode? {
            present.contains(SymbolSet(symbol)) ? check.member(symbol) : nil
        }
        guard let token = member(deviceTokenSymbol), token.isString else { return nil }
        return Members(
            deviceToken: token,
            apnsID: member(apnsIDSymbol),
            collapseID: member(collapseIDSymbol),
            expiration: member(expirationSymbol)
        )
    }

    /// The same for an object with a name that has escapes or appears twice.
    private func searchedMembers(of entry: JSONNode, _ document: JSONDocument) -> Members? {
        guard document.repeatedMember(in: entry) == nil,
            let token = document.member(of: entry, named: Self.deviceToken), token.isString
        else { return nil }
        return Members(
            deviceToken: token,
            apnsID: document.member(of: entry, named: Self.apnsID),
            collapseID: document.member(of: entry, named: Self.collapseID),
            expiration: document.member(of: entry, named: Self.expiration)
        )
    }

    /// The own fields of a valid entry; nil: it has none.
    @inline(__always)
    private func fields(
        _ members: Members,
        _ document: JSONDocument
    ) -> RecipientList.Fields? {
        if members.apnsID == nil, members.collapseID == nil, members.expiration == nil {
            return nil
        }
        return RecipientList.Fields(
            apnsID: members.apnsID.flatMap { APNsID(utf8: document.content(of: $0).span) },
            collapseID: members.collapseID.flatMap { document.string($0) }
                .flatMap(CollapseID.init),
            expiration: members.expiration.flatMap { document.integer($0) }
        )
    }

    /// Why an entry is invalid, with every field that is valid on its own.
    private func refusal(
        of entry: JSONNode,
        at place: String,
        _ check: inout SchemaCheck
    ) -> RecipientList.Refusal {
        var refusal: RecipientList.Refusal
        if let repeated = check.document.repeatedMember(in: entry) {
            let violation = Violation(
                instanceLocation: place + check.document.pointer(to: repeated, from: entry),
                keywordLocation: "",
                message: FindingReport.repeatedName
            )
            refusal = RecipientList.Refusal(reason: .malformedEvent, violations: [violation])
        } else {
            // Without a token, the entry was not checked yet.
            _ = schema.admits(entry, &check)
            let findings = schema.findings(of: entry, at: place, refusedIn: &check)
            refusal = RecipientList.Refusal(
                reason: .schemaViolation,
                violations: findings.map { Violation($0) }
            )
        }
        let document = check.document
        let token = entry.isObject ? only(Self.deviceToken, of: entry, document) : entry
        refusal.deviceToken = token.flatMap { token in
            token.byteCount <= DeviceToken.maxDigitCount + 2 ? document.string(token) : nil
        }.flatMap(DeviceToken.init)
        refusal.apnsID = only(Self.apnsID, of: entry, document).flatMap {
            APNsID(utf8: document.content(of: $0).span)
        }
        return refusal
    }

    /// The value of a member; nil also if there are two: neither is more correct than the other.
    private func only(
        _ name: JSONName,
        of entry: JSONNode,
        _ document: JSONDocument
    ) -> JSONNode? {
        guard entry.isObject else { return nil }
        var found: JSONNode?
        var cursor = document.children(of: entry)
        while let (candidate, value) = document.nextMember(&cursor) {
            guard document.isEqual(candidate, to: name) else { continue }
            if found != nil { return nil }
            found = value
        }
        return found
    }
}
