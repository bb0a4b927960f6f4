import KafkaIO
import Testing

@Suite struct KafkaLogLineTests {
    @Test(
        arguments: [
            (
                "ADDPARTS",
                "[thrd:main]: TxnCoordinator/1: Failed to add partition \"t\" [1] to transaction:"
                    + " Broker: Topic authorization failed",
                "TOPIC_AUTHORIZATION_FAILED: TxnCoordinator/1: Failed to add partition \"t\" [1]"
            ),
            (
                "TXNERR",
                "[thrd:main]: Current transaction failed in state InTransaction: Failed to add offsets"
                    + " to transaction on broker TxnCoordinator/1: Broker: Group authorization failed"
                    + " (after 801ms) (GROUP_AUTHORIZATION_FAILED)",
                "GROUP_AUTHORIZATION_FAILED: Current transaction failed in state InTransaction"
            ),
            ("ADDPARTS", "[thrd:main]: Broker: Operation not attempted", nil),
            ("FAIL", "[thrd:main]: Broker: Topic authorization failed", nil),
        ] as [(String, String, String?)]
    )
    func `the right that a transaction lacks is read from librdkafka's text`(
        facility: String,
        text: String,
        begins: String?
    ) {
        let error = KafkaLogLine(level: 3, facility: facility, text: text).transactionError
        #expect((error == nil) == (begins == nil))
        #expect(error?.description.hasPrefix(begins ?? "") != false)
        #expect(error?.text.contains("give the service's principal") != false)
    }
}
