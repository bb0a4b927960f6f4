/// Builds a tree from events, within the limits of `YAMLDocument`.
struct TreeBuilder {
    private(set) var root: YAMLNode?
    private(set) var problems: [YAMLProblem] = []
    private var hasDocument = false
    /// The open lists and mappings, outermost first.
    private var frames: [Frame] = []
    private var anchors: [String: Anchor] = [:]
    private var total = Weight()

    /// The size of a node after its aliases are expanded.
    private struct Weight {
        var nodeCount = 0
        var textByteCount = 0

        init() {}

        /// The weight of a scalar, or of the start of a list or mapping.
        init(_ event: Event, text: String = "") {
            nodeCount = 1
            textByteCount = text.utf8.count + (event.tag?.utf8.count ?? 0)
        }
    }

    private enum Anchor {
        /// The node is still open: the frame at this depth.
        case open(depth: Int)
        case complete(YAMLNode, Weight, height: Int)
    }

    private struct Frame {
        var isMapping: Bool
        var mark: YAMLMark
        var anchor: String?
        /// The weight of everything before this node.
        var weightBefore: Weight
        /// The number of levels below this one.
        var heightBelow = 0
        var elements: [YAMLNode] = []
        var pairs: [YAMLPair] = []
        var key = Key.awaited
    }

    /// The key whose value comes next.
    private enum Key {
        case awaited
        case text(String, YAMLMark)
        /// The key was reported as a problem; its value is read and dropped.
        case refused(name: String)
    }

    /// Processes the next event; call it in libyaml's order.
    mutating func take(_ event: Event) throws(YAMLError) {
        switch event.content {
        case .documentStart:
            guard !hasDocument else {
                throw YAMLError("is not YAML: expected one document, found another", event.mark)
            }
            hasDocument = true
        case .documentEnd: break
        case .alias(let name): try expand(name, event.mark)
        case .scalar(let text, let style):
            let before = total
            try count(Weight(event, text: text), event.mark)
            let scalar = YAMLScalar(text, style, tag: event.tag)
            report(scalar == nil ? event.tag : nil, event.mark)
            let node = YAMLNode(.scalar(scalar ?? YAMLScalar(text, style)), event.mark)
            complete(node, event.anchor, since: before, height: 0)
            try add(node)
        case .listStart: try open(event, isMapping: false)
        case .mappingStart: try open(event, isMapping: true)
        case .listEnd, .mappingEnd: try close()
        }
    }

    private mutating func open(_ event: Event, isMapping: Bool) throws(YAMLError) {
        guard frames.count < YAMLDocument.maxDepth else { throw .tooDeep(event.mark) }
        let before = total
        try count(Weight(event), event.mark)
        let ownTag = isMapping ? "tag:yaml.org,2002:map" : "tag:yaml.org,2002:seq"
        report(event.tag.flatMap { ["!", ownTag].contains($0) ? nil : $0 }, event.mark)
        if let anchor = event.anchor { anchors[anchor] = .open(depth: frames.count) }
        frames.append(
            Frame(
                isMapping: isMapping,
                mark: event.mark,
                anchor: event.anchor,
                weightBefore: before
            )
        )
    }

    private mutating func close() throws(YAMLError) {
        guard var frame = frames.last else { return }
        if frame.isMapping { dropRepeatedKeys(of: &frame) }
        frames.removeLast()
        let content: YAMLNode.Content =
            frame.isMapping ? .mapping(frame.pairs) : .list(frame.elements)
        let node = YAMLNode(content, frame.mark)
        let height = frame.heightBelow + 1
        // The anchor may have been redefined by a node inside this one.
        if let anchor = frame.anchor, case .open(depth: frames.count) = anchors[anchor] {
            complete(node, anchor, since: frame.weightBefore, height: height)
        }
        raise(to: height)
        try add(node)
    }

    /// Replaces an alias with its node.
    private mutating func expand(_ name: String, _ mark: YAMLMark) throws(YAMLError) {
        switch anchors[name] {
        case nil:
            // Do not show its name, which may be an unquoted password.
            throw YAMLError(
                "is not YAML: the alias has no anchor before it; a value that begins with '*' needs"
                    + " quotes",
                mark
            )
        case .open:
            throw YAMLError(
                "is not YAML: the alias is inside the value that it names",
                mark
            )
        case .complete(let node, let weight, let height):
            guard frames.count + height <= YAMLDocument.maxDepth else { throw .tooDeep(mark) }
            try count(weight, mark)
            raise(to: height)
            try add(node)
        }
    }

    private mutating func complete(
        _ node: YAMLNode,
        _ anchor: String?,
        since before: Weight,
        height: Int
    ) {
        guard let anchor else { return }
        var weight = total
        weight.nodeCount -= before.nodeCount
        weight.textByteCount -= before.textByteCount
        anchors[anchor] = .complete(node, weight, height: height)
    }

    private mutating func count(_ weight: Weight, _ mark: YAMLMark) throws(YAMLError) {
        total.nodeCount += weight.nodeCount
        total.textByteCount += weight.textByteCount
        if total.nodeCount > YAMLDocument.maxNodeCount {
            let limit = YAMLDocument.maxNodeCount
            throw YAMLError("has more than \(limit) values and keys, aliases replaced", mark)
        }
        if total.textByteCount > YAMLDocument.maxTextByteCount {
            let limit = YAMLDocument.maxTextByteCount
            throw YAMLError("has more than \(limit) bytes of text, aliases replaced", mark)
        }
    }

    private mutating func raise(to height: Int) {
        guard let last = frames.indices.last else { return }
        frames[last].heightBelow = max(frames[last].heightBelow, height)
    }

    /// Adds a complete node to its parent.
    private mutating func add(_ node: YAMLNode) throws(YAMLError) {
        guard let last = frames.indices.last else {
            root = node
            return
        }
        guard frames[last].isMapping else {
            frames[last].elements.append(node)
            return
        }
        switch frames[last].key {
        case .awaited: frames[last].key = try key(node)
        case .text(let key, let mark):
            frames[last].pairs.append(YAMLPair(key: key, keyMark: mark, value: node))
            frames[last].key = .awaited
        case .refused: frames[last].key = .awaited
        }
    }

    private mutating func key(_ node: YAMLNode) throws(YAMLError) -> Key {
        switch node.content {
        case .scalar(let scalar):
            guard scalar.text.utf8.count <= YAMLDocument.maxKeyByteCount else {
                let limit = YAMLDocument.maxKeyByteCount
                throw YAMLError("has a key of more than \(limit) bytes", node.mark)
            }
            // https://yaml.org/type/merge.html, from YAML 1.1.
            guard scalar.text == "<<", !scalar.isText else { return .text(scalar.text, node.mark) }
            report("is a merge key; expected the keys themselves", node.mark, ["<<"])
            return .refused(name: "<<")
        case .list:
            report("is a list as a key; expected text", node.mark, ["?"])
        case .mapping:
            report("is a mapping as a key; expected text", node.mark, ["?"])
        }
        return .refused(name: "?")
    }

    // MARK: Problems

    private mutating func report(_ message: String, _ mark: YAMLMark, _ steps: [String]) {
        problems.append(YAMLProblem(path: path + steps, message: message, mark: mark))
    }

    /// Reports a tag that does not fit the next node.
    ///
    /// Does not show the tag, which may be an unquoted password.
    private mutating func report(_ tag: String?, _ mark: YAMLMark) {
        guard tag != nil else { return }
        var steps: [String] = []
        if let frame = frames.last { steps = [step(in: frame)] }
        report(
            "has a tag that does not fit; expected none; a value that begins with '!' needs quotes",
            mark,
            steps
        )
    }

    /// Keeps the last occurrence of each key, and reports the others.
    private mutating func dropRepeatedKeys(of frame: inout Frame) {
        let counts = Dictionary(frame.pairs.map { ($0.key, 1) }, uniquingKeysWith: +)
        guard counts.count < frame.pairs.count else { return }
        let last = Dictionary(frame.pairs.map { ($0.key, $0.keyMark) }) { $1 }
        var rest = counts
        var kept: [YAMLPair] = []
        for pair in frame.pairs {
            rest[pair.key, default: 1] -= 1
            if rest[pair.key] == 0 {
                kept.append(pair)
            } else {
                let count = counts[pair.key, default: 2]
                let times = count == 2 ? "twice, again" : "\(count) times, last"
                let place = last[pair.key, default: pair.keyMark]
                report("is set \(times) at \(place); expected once", pair.keyMark, [pair.key])
            }
        }
        frame.pairs = kept
    }

    /// The path of the innermost open list or mapping.
    private var path: [String] { frames.dropLast().map(step) }

    private func step(in frame: Frame) -> String {
        guard frame.isMapping else { return "\(frame.elements.count)" }
        switch frame.key {
        case .awaited: return "?"
        case .text(let key, _): return key
        case .refused(let name): return name
        }
    }
}

extension YAMLError {
    fileprivate static func tooDeep(_ mark: YAMLMark) -> YAMLError {
        YAMLError("is nested more than \(YAMLDocument.maxDepth) levels deep", mark)
    }
}
