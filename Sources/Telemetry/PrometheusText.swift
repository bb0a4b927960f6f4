/// Prometheus' text exposition format, version 0.0.4.
package enum PrometheusText {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Every family with its HELP and TYPE line; names begin with `heliograph_`.
    package static func render(_ families: [MetricFamily]) -> String {
        var text = ""
        for family in families {
            let name = "heliograph_\(family.name)"
            text += "# HELP \(name) \(escaped(family.help, quote: false))\n"
            text += "# TYPE \(name) \(family.kind.rawValue)\n"
            for sample in family.samples {
                text += "\(name)\(sample.suffix)\(rendered(sample.labels)) \(sample.value)\n"
            }
        }
        return text
    }

    private static func rendered(_ labels: [MetricFamily.Label]) -> String {
        guard !labels.isEmpty else { return "" }
        let pairs = labels.map { "\($0.name)=\"\(escaped($0.value, quote: true))\"" }
        return "{\(pairs.joined(separator: ","))}"
    }

    private static func escaped(_ text: String, quote: Bool) -> String {
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
