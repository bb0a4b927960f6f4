/// The tags of YAML 1.2's core schema (10.1 to 10.3), as libyaml resolves them.
enum YAMLTag {
    static let prefix = "tag:yaml.org,2002:"
}

extension YAMLScalar {
    /// Makes a scalar with an optional tag.
    ///
    /// - Returns: nil if the tag is not in the core schema, or does not fit the text.
    init?(_ text: String, _ style: Style, tag: String?) {
        guard let tag else {
            self.init(text, style)
            return
        }
        // A lone `!` means a string (6.9.1).
        if tag == "!" || tag == "\(YAMLTag.prefix)str" {
            self.init(text, style, isText: true)
            return
        }
        let kinds: [YAMLKind]
        switch tag.hasPrefix(YAMLTag.prefix) ? tag.dropFirst(YAMLTag.prefix.count) : "" {
        case "null": kinds = [.null]
        case "bool": kinds = [.boolean]
        case "int": kinds = [.integer]
        case "float": kinds = [.integer, .float]
        default: return nil
        }
        guard kinds.contains(YAMLCoreSchema.kind(of: text)) else { return nil }
        self.init(text, style, isText: false)
    }
}
