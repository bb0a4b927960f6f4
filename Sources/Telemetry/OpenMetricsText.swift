/// OpenMetrics' text format, version 1.0.
///
/// It differs from Prometheus' own format: a counter's family has no suffix `_total`, an info's no
/// suffix `_info`, units are given, and the end is marked, so that truncation is detected.
/// `_created` is left out: everything was created at the start of the process, which
/// `process_start_time_seconds` shows once.
public enum OpenMetricsText {
    public static let contentType =
        "application/openmetrics-text; version=1.0.0; charset=utf-8"

    public static func render(_ families: [MetricFamily]) -> String {
        var text = ""
        for family in families {
            let name = familyName(family)
            text += "# TYPE \(name) \(family.kind.rawValue)\n"
            if let unit = ["seconds", "bytes"].first(where: { name.hasSuffix("_\($0)") }) {
                text += "# UNIT \(name) \(unit)\n"
            }
            text += "# HELP \(name) \(ExpositionText.escaped(family.help, quote: true))\n"
            ExpositionText.append(family, to: &text)
        }
        return text + "# EOF\n"
    }

    private static func familyName(_ family: MetricFamily) -> String {
        let name = family.fullName
        let suffix: String? =
            switch family.kind {
            case .counter: "_total"
            case .info: "_info"
            case .gauge, .histogram: nil
            }
        guard let suffix, name.hasSuffix(suffix) else { return name }
        return String(name.dropLast(suffix.count))
    }
}
