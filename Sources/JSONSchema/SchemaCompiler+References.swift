import JSON

extension SchemaCompiler {
    /// Compiles a `$ref` or `$dynamicRef`.
    mutating func compileReference(
        _ value: JSONValue,
        _ keyword: String,
        _ context: Context
    ) throws(SchemaError) {
        let text = try string(value, keyword, context)
        let reference = URIReference(text)
        var target = try target(of: reference, text, keyword, context)
        if keyword == "$dynamicRef", let anchor = reference.fragment {
            let resource = index.resource(at: target)
            // Only if the target is a dynamic anchor itself are outer scopes searched.
            if index.resources[resource].dynamicAnchors[anchor] == target {
                target = context.scope[anchor] ?? target
            }
        }
        let node = try node(at: target, from: context.scope, in: context.resource)
        emit(.apply, keyword, a: node)
    }

    private mutating func target(
        of reference: URIReference,
        _ text: String,
        _ keyword: String,
        _ context: Context
    ) throws(SchemaError) -> SchemaLocation {
        var reference = reference.resolved(against: index.resources[context.resource].base)
        let fragment = reference.decodedFragment
        reference.fragment = nil
        let uri = reference.text
        try spend(1 + uri.utf8.count >> 4, at: context.location)
        guard let found = index.resource(uri: uri) else {
            let known = index.documentURIs.dropLast().prefix(20).joined(separator: ", ")
            let message =
                "no document has the URI '\(uri)'; known: \(known.isEmpty ? "none" : known)"
            var error = refusal(keyword, message, context)
            error.isMissingDocument = true
            throw error
        }
        let root = index.resources[found].location
        guard let fragment else {
            throw refusal(keyword, "'\(text)' has a fragment that is not UTF-8", context)
        }
        if fragment.isEmpty { return root }
        guard fragment.hasPrefix("/") else {
            // The document may have another name as well.
            let resource = index.resources[index.resource(at: root)]
            guard let target = resource.anchors[ExactText(fragment)] else {
                let message = "'\(uri)' has no anchor '\(fragment)'"
                throw refusal(keyword, message, context)
            }
            return target
        }
        let target = SchemaLocation(document: root.document, pointer: root.pointer + fragment)
        guard index.value(at: target) != nil else {
            throw refusal(keyword, "nothing is at '\(text)'", context)
        }
        return target
    }
}
