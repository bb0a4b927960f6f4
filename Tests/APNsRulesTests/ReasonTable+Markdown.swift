import APNsRules
import Vocabulary

extension ReasonTable {
    /// The whole page `docs/reasons.md`.
    static var markdown: String {
        var page = """
            # Reasons

            Generated from the table in the code; a test compares them. \
            `heliograph explain REASON` prints one row.

            The status of an answer counts first, then its reason. If the reason is unknown, or \
            comes with the wrong status, the table of statuses decides: a 410 with any reason means \
            `remove`. APNs always gives a reason when it refuses. A refusal without one comes from a \
            server in between, such as a proxy: it is retried, and has no meaning for the token or \
            the credential.

            While the token fuse is blown, the token action of an outcome is `hold` instead of the \
            one in the table, except for `keep`: [outcomes](outcomes.md#token-actions).

            | disposition | what Heliograph does |
            |---|---|

            """
        for disposition in Disposition.allCases {
            page += "| `\(disposition.rawValue)` | \(disposition.meaning) |\n"
        }
        page += "\n## Reasons of APNs\n\n" + header
        for row in rows where row.reason != nil { page += row.markdown }
        page +=
            "\n## Statuses, if no reason decides\n\nThe first matching row decides.\n\n"
        page += header
        for row in rows where row.reason == nil { page += row.markdown }
        page += """

            ## Reasons of APNs for broadcasts and channels

            They apply to `/4/broadcasts` and to `heliograph channels`. They do not concern device \
            tokens. A broadcast never goes to a retry topic, and no request about channels is \
            repeated:

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

            `decided_by` is `heliograph`.

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
        let reasonText =
            reason.map { "`\($0.rawValue)`" } ?? reasonText(other: "another", any: "any")
        return "| \(statusText) | \(reasonText) | `\(verdict.disposition.rawValue)`"
            + " | `\(verdict.tokenAction.rawValue)` | \(verdict.fault.rawValue)"
            + " | \(explanation) | \(remedy) |\n"
    }
}

extension LocalReason {
    fileprivate var markdown: String {
        let kinds = outcomes.map { "`\($0.rawValue)`" }.joined(separator: ", ")
        return "| `\(rawValue)` | \(kinds) | `\(TokenAction.keep.rawValue)` | \(explanation)"
            + " | \(remedy) |\n"
    }
}
