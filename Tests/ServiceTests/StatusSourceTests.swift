import AdminHTTP
import Service
import Testing
import Vocabulary

@Suite struct StatusSourceTests {
    @Test(arguments: LocalReason.allCases)
    func `the status page explains each of Heliograph's own reasons`(reason: LocalReason) {
        let note = StatusDocument.ExplainedReason.note(on: reason.rawValue, decidedBy: "heliograph")
        #expect(!note.meaning.isEmpty && !note.remedy.isEmpty)
    }

    @Test(arguments: APNsReason.allCases.map(\.rawValue) + ["other", "none"])
    func `each reason of APNs is explained on the status page`(reason: String) {
        let note = StatusDocument.ExplainedReason.note(on: reason, decidedBy: "apns")
        #expect(!note.meaning.isEmpty && !note.remedy.isEmpty)
    }

    /// Both lists have this word, with different meanings.
    @Test func `the explanation of a reason in both lists depends on the decider`() {
        let word = LocalReason.payloadTooLarge.rawValue
        let local = StatusDocument.ExplainedReason.note(on: word, decidedBy: "heliograph")
        #expect(local != StatusDocument.ExplainedReason.note(on: word, decidedBy: "apns"))
    }
}
