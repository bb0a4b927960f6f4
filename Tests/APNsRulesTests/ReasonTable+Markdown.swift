import APNsRules
import Vocabulary

extension ReasonTable {
    /// The whole page `docs/reasons.md`.
    static var markdown: String {
        var page = """
            # Reasons

            Generated from the code's own table; a test keeps it in step. \
            `heliograph explain REASON` prints one row.

            An answer is judged by its status first, then by its reason. A reason that is unknown, \
            or comes with another status than its own, has no say: the table of statuses decides.

            | disposition | what Heliograph does |
            |---|---|

            """
        for disposition in Disposition.allCases {
            page += "| `\(disposition.rawValue)` | \(disposition.meaning) |\n"
        }
        page += "\n## Reasons of APNs\n\n" + header
        for row in rows where row.reason != nil { page += row.markdown }
        page +=
            "\n## Statuses without a reason that decides\n\nThe first row that fits decides.\n\n"
        page += header
        for row in rows where row.reason == nil { page += row.markdown }
        page += """

            ## Reasons of APNs for broadcasts and channels

            They judge `/4/broadcasts` and the management of channels, `heliograph channels`. No \
            device token is concerned. A broadcast never goes to a retry topic, and no request \
            about channels is repeated:

            | disposition | what Heliograph does |
            |---|---|

            """
        for disposition in Disposition.allCases where disposition.isOtherForBroadcasts {
            page += "| `\(disposition.rawValue)` | \(disposition.broadcastMeaning) |\n"
        }
        page += "\n" + header
        for row in rows(of: .broadcast) { page += row.markdown }
        page += """

            ## Reasons of Heliograph itself

            `decided_by` is `heliograph`, or `apns` for an `UnexplainedStatus` that is `rejected` \
            or `unregistered`: then the answer's status decided.

            | reason | outcome | token action | meaning | what to do |
            |---|---|---|---|---|

            """
        for reason in LocalReason.allCases { page += reason.markdown }
        return page
    }

    private static let header = """
        | status | reason | disposition | token action | at fault | meaning | what to do |
        |---|---|---|---|---|---|---|

        """
}

extension ReasonTable.Row {
    fileprivate var markdown: String {
        let reasonText = reason.map { "`\($0.rawValue)`" } ?? "any"
        return "| \(statusText) | \(reasonText) | `\(verdict.disposition.rawValue)`"
            + " | `\(verdict.tokenAction.rawValue)` | \(verdict.fault.rawValue)"
            + " | \(explanation) | \(remedy) |\n"
    }
}

extension LocalReason {
    fileprivate var markdown: String {
        let kinds = outcomes.map { "`\($0.rawValue)`" }.joined(separator: ", ")
        let actions = otherTokenActions.reduce("`\(TokenAction.keep.rawValue)`") {
            "\($0), `\($1.action.rawValue)` for `\($1.outcome.rawValue)`"
        }
        return "| `\(rawValue)` | \(kinds) | \(actions) | \(explanation) | \(remedy) |\n"
    }
}
