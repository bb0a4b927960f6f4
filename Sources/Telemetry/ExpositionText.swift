/// The part that both text formats share: the lines of samples.
enum ExpositionText {
    static func append(_ family: MetricFamily, to text: inout String) {
        let name = family.fullName
        for sample in family.samples {
            text += name
            text += sample.suffix
            append(sample.labels, to: &text)
            text += " "
            text += sample.value
            text += "\n"
        }
    }

    private static func append(_ labels: [MetricFamily.Label], to text: inout String) {
        guard !labels.isEmpty else { return }
        var separator = "{"
        for label in labels {
            text += separator
            text += label.name
            text += "=\""
            text += escaped(label.value, quote: true)
            text += "\""
            separator = ","
        }
        text += "}"
    }

    static func escaped(_ text: String, quote: Bool) -> String {
        let isPlain = text.utf8.allSatisfy {
            $0 != UInt8(ascii: "\\") && $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\"")
        }
        guard !isPlain else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quote: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
