/// The format of log lines; the raw values are those of `log.format`.
package enum LogFormat: String, Hashable, Sendable, CaseIterable {
    case json, text
}
