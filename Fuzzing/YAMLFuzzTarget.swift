import Glibc
import YAML

/// What libFuzzer calls with each input of the YAML fuzzer; `scripts/fuzz` builds and runs it.
///
/// Whatever the bytes are, nothing may trap or run without end, a document keeps to its limits, and
/// each place lies in the text. With `YAML_TREES` in the environment each input's tree is printed
/// on a line, for `yaml_differential.py`.
private func take(_ input: [UInt8]) {
    let isShown = unsafe getenv("YAML_TREES") != nil
    let text = TextShape(input)
    do throws(YAMLError) {
        let document = try YAMLDocument(input)
        var tree = TreeCheck(text: text)
        if let root = document.root { tree.check(root, depth: 1) }
        precondition(tree.nodeCount <= YAMLDocument.maxNodeCount, "more nodes than the limit")
        precondition(tree.byteCount <= YAMLDocument.maxTextByteCount, "more text than the limit")
        for problem in document.problems { text.check(problem.message, problem.mark) }
        if isShown { print(document.root.map(shown) ?? "nothing") }
    } catch {
        text.check(error.message, error.mark)
        if isShown { print("error \(error.mark) \(error.message)") }
    }
}

/// The lines of a text (YAML 1.2, 5.4).
private struct TextShape {
    /// Of each line, in Unicode scalars, with its end.
    private var lengths = [0]

    init(_ input: [UInt8]) {
        var previous: Unicode.Scalar?
        for scalar in String(decoding: input, as: UTF8.self).unicodeScalars {
            if previous == "\r", scalar != "\n" { lengths.append(0) }
            lengths[lengths.count - 1] += 1
            if scalar == "\n" { lengths.append(0) }
            previous = scalar
        }
        // The end of a text without a last line end is on a line of its own.
        lengths.append(0)
    }

    func check(_ message: String, _ mark: YAMLMark) {
        check(mark)
        precondition(!message.isEmpty && !message.contains(where: \.isNewline), "not one line")
    }

    func check(_ mark: YAMLMark) {
        precondition(mark.line >= 1 && mark.column >= 1, "a place before the text: \(mark)")
        precondition(mark.line <= lengths.count, "a place after the text: \(mark)")
        precondition(mark.column <= lengths[mark.line - 1] + 1, "a place beside the text: \(mark)")
    }
}

/// Goes through a tree, and counts.
private struct TreeCheck {
    let text: TextShape
    var nodeCount = 0
    var byteCount = 0

    mutating func check(_ node: YAMLNode, depth: Int) {
        nodeCount += 1
        text.check(node.mark)
        switch node.content {
        case .scalar(let scalar):
            byteCount += scalar.text.utf8.count
            precondition(!scalar.isText || scalar.kind == .string, "a text that is none")
            if scalar.kind != .integer {
                precondition(YAMLCoreSchema.integer(scalar.text) == nil || scalar.isText)
            }
        case .list(let elements):
            precondition(depth <= YAMLDocument.maxDepth, "deeper than the limit")
            for element in elements { check(element, depth: depth + 1) }
        case .mapping(let pairs):
            precondition(depth <= YAMLDocument.maxDepth, "deeper than the limit")
            precondition(Set(pairs.map(\.key)).count == pairs.count, "a key twice")
            for pair in pairs {
                nodeCount += 1
                byteCount += pair.key.utf8.count
                precondition(pair.key.utf8.count <= YAMLDocument.maxKeyByteCount, "a long key")
                text.check(pair.keyMark)
                check(pair.value, depth: depth + 1)
            }
        }
    }
}

/// A tree on one line: places, styles, kinds, and texts in hexadecimal.
private func shown(_ node: YAMLNode) -> String {
    switch node.content {
    case .scalar(let scalar):
        "(\(node.mark) \(scalar.style) \(scalar.kind) \(hexadecimal(scalar.text)))"
    case .list(let elements): "[\(node.mark) \(elements.map(shown).joined(separator: " "))]"
    case .mapping(let pairs):
        "{\(node.mark) \(pairs.map(shown).joined(separator: " "))}"
    }
}

private func shown(_ pair: YAMLPair) -> String {
    "\(pair.keyMark) \(hexadecimal(pair.key))=\(shown(pair.value))"
}

private func hexadecimal(_ text: String) -> String {
    text.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

@c(LLVMFuzzerTestOneInput)
public func takeFuzzerInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // SAFETY: libFuzzer's bytes live as long as the call.
    let input = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
    take(input)
    return 0
}
