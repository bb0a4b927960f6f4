/// How log lines are written; the raw values are the words of `log.format`.
package enum LogFormat: String, Hashable, Sendable, CaseIterable {
    case json, text
}
