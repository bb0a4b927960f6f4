/// The text formats of metrics, and the negotiation between them.
public enum ExpositionFormat: Hashable, Sendable {
    case prometheus
    case openMetrics

    /// - Parameter accept: The request's `Accept` header (RFC 9110, 12.5.1). The result is
    ///   Prometheus' own format unless OpenMetrics is explicitly preferred.
    public init(accept: String?) {
        var weights: [ExpositionFormat: Int] = [:]
        for range in (accept ?? "").split(separator: ",") {
            let parts = range.split(separator: ";").map { String($0.filter { $0 != " " }) }
            guard let format = Self.format(of: parts.first?.lowercased() ?? "") else { continue }
            weights[format] = max(weights[format] ?? 0, Self.thousandths(parts.dropFirst()))
        }
        let wanted = weights[.openMetrics] ?? 0
        self = wanted > 0 && wanted >= weights[.prometheus] ?? 0 ? .openMetrics : .prometheus
    }

    public var contentType: String {
        switch self {
        case .prometheus: PrometheusText.contentType
        case .openMetrics: OpenMetricsText.contentType
        }
    }

    public func render(_ families: [MetricFamily]) -> String {
        switch self {
        case .prometheus: PrometheusText.render(families)
        case .openMetrics: OpenMetricsText.render(families)
        }
    }

    private static func format(of mediaRange: String) -> ExpositionFormat? {
        switch mediaRange {
        case "application/openmetrics-text": .openMetrics
        case "text/plain", "text/*", "*/*": .prometheus
        default: nil
        }
    }

    /// The weight `q`, from 0 to 1000; 1000 if it is missing or invalid.
    private static func thousandths(_ parameters: ArraySlice<String>) -> Int {
        guard let text = parameters.first(where: { $0.lowercased().hasPrefix("q=") })?.dropFirst(2),
            let weight = Double(text), (0...1).contains(weight)
        else { return 1000 }
        return Int((weight * 1000).rounded())
    }
}
