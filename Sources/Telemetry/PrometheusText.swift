/// Prometheus' text exposition format, version 0.0.4.
public enum PrometheusText {
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Every family with its HELP and TYPE line.
    public static func render(_ families: [MetricFamily]) -> String {
        var text = ""
        for family in families {
            let name = family.fullName
            let kind = family.kind == .info ? MetricFamily.Kind.gauge : family.kind
            text += "# HELP \(name) \(ExpositionText.escaped(family.help, quote: false))\n"
            text += "# TYPE \(name) \(kind.rawValue)\n"
            ExpositionText.append(family, to: &text)
        }
        return text
    }
}
