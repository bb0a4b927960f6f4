/// A parsing event (YAML 1.2, 3.1).
struct Event {
    enum Content {
        case documentStart
        case documentEnd
        case alias(String)
        case scalar(String, YAMLScalar.Style)
        case listStart
        case listEnd
        case mappingStart
        case mappingEnd
    }

    let content: Content
    /// Where it begins, including a node's tag and anchor.
    let mark: YAMLMark
    /// The anchor of a node, without its `&`.
    var anchor: String?
    /// The tag of a node, resolved: `tag:yaml.org,2002:str` for `!!str`.
    var tag: String?
}
