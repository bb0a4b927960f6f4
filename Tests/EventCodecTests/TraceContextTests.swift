import EventCodec
import Testing
import Vocabulary

@Suite struct TraceContextTests {
    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    private static let other = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"

    private static func headers(_ pairs: [(String, String)]) -> [RecordHeader] {
        pairs.map { RecordHeader(name: $0, value: Array($1.utf8)) }
    }

    // MARK: traceparent

    @Test(arguments: [
        parent, other,
        // Flags from later versions are kept (3.2.2.4).
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff",
        // A later version follows these rules and may be longer (3.2.4).
        "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-the-future-brings",
        "00-00000000000000000000000000000001-0000000000000001-00",
    ])
    func `a valid traceparent is passed on byte for byte`(text: String) {
        let headers = Self.headers([("traceparent", text)])
        #expect(TraceContext(headers)?.headers == headers)
    }

    @Test(arguments: [
        "", "00", "mine", String(parent.dropLast()), parent + "-", parent + "1", " " + parent,
        parent + " ",
        // Version ff is invalid (3.2.2.1), and a longer text continues with a dash.
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-011",
        "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-"
            + String(repeating: "x", count: 600),
        // All zeros (3.2.2.3, 3.2.2.4), upper case, other letters, other dashes.
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
        "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331_01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
    ])
    func `an invalid traceparent is dropped, along with the tracestate`(text: String) {
        #expect(TraceContext(Self.headers([("traceparent", text), ("tracestate", "a=b")])) == nil)
    }

    @Test func `two traceparents, none, or one without a value make no context`() {
        let twice = [("traceparent", Self.parent), ("traceparent", Self.other)]
        #expect(TraceContext(Self.headers(twice)) == nil)
        #expect(TraceContext(Self.headers([("tracestate", "a=b")])) == nil)
        #expect(TraceContext([]) == nil)
        #expect(TraceContext([RecordHeader(name: "traceparent", value: nil)]) == nil)
    }

    @Test func `names are read in any case and written in lower case`() {
        let found = TraceContext(
            Self.headers([("TraceParent", Self.parent), ("x", "y"), ("TRACESTATE", "a=b")])
        )
        #expect(
            found?.headers == Self.headers([("traceparent", Self.parent), ("tracestate", "a=b")])
        )
    }

    // MARK: tracestate

    private static func passedOn(_ states: [String]) -> String? {
        let all = [("traceparent", parent)] + states.map { ("tracestate", $0) }
        guard let headers = TraceContext(headers(all))?.headers else { return nil }
        return headers.dropFirst().first.map { String(decoding: $0.value ?? [], as: UTF8.self) }
    }

    private static func members(_ count: Int) -> String {
        (0..<count).map { "k\($0)=v" }.joined(separator: ",")
    }

    @Test(arguments: [
        "a=b", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "0a@vendor=1 2", "a_-*/@9=!~",
        " a=b\t,\tc=d ", "a=b,,c=d", members(32),
        String(repeating: "k", count: 256) + "=" + String(repeating: "v", count: 256),
    ])
    func `a valid tracestate is passed on byte for byte`(text: String) {
        #expect(Self.passedOn([text]) == text)
    }

    @Test(arguments: [
        "", ",", "a", "a=", "=b", "a=b=c", "A=b", "_a=b", "a b=c", "a=b,a=c", "a=\u{7F}",
        "a=\n", "a=ü", members(33),
        String(repeating: "k", count: 257) + "=v", "k=" + String(repeating: "v", count: 257),
    ])
    func `an invalid tracestate is dropped, and the traceparent is kept`(text: String) {
        #expect(TraceContext(Self.headers([("traceparent", Self.parent)])) != nil)
        #expect(Self.passedOn([text]) == nil)
    }

    @Test func `several tracestates are joined into one list`() {
        #expect(Self.passedOn(["a=b", "c=d"]) == "a=b,c=d")
        #expect(Self.passedOn(["a=b", "a=d"]) == nil)
    }

    // MARK: Precedence

    /// The trace headers of the outcome for a record and its CloudEvent.
    private static func taken(
        _ record: [(String, String)],
        _ cloudEvent: [(String, String)]
    ) -> [RecordHeader] {
        var source = EventText.record(Array("{}".utf8))
        source.headers = headers(record)
        source.traceContext = headers(cloudEvent)
        let outcome = Outcome(
            kind: .duplicate,
            reason: nil,
            decidedBy: .heliograph,
            subject: OutcomeSubject(ofEvent: nil),
            receivedAt: Timestamp(milliseconds: 0),
            completedAt: Timestamp(milliseconds: 0)
        )
        var headers: [RecordHeader] = []
        OutcomeEncoder.forEachHeader(of: outcome, record: source) { name, value in
            let bytes = value.indices.map { value[$0] }
            headers.append(RecordHeader(name: name, value: bytes))
        }
        return headers.filter { $0.name.hasPrefix("trace") }
    }

    @Test(
        arguments: [
            // The record's context wins and is never mixed with the CloudEvent's.
            (
                [("traceparent", parent)], [("traceparent", other), ("tracestate", "a=b")], parent,
                nil
            ),
            (
                [("traceparent", parent), ("tracestate", "r=1")],
                [("traceparent", other), ("tracestate", "a=b")], parent, "r=1"
            ),
            ([], [("traceparent", other), ("tracestate", "a=b")], other, "a=b"),
            // An invalid one counts as none.
            ([("traceparent", "mine")], [("traceparent", other)], other, nil),
            ([("tracestate", "r=1")], [("traceparent", other)], other, nil),
            ([("traceparent", parent)], [("traceparent", "mine")], parent, nil),
            ([("tracestate", "r=1")], [("tracestate", "a=b")], nil, nil),
            ([("traceparent", "mine")], [("traceparent", "yours")], nil, nil),
        ] as [([(String, String)], [(String, String)], String?, String?)]
    )
    func `the record's context wins over the CloudEvent's`(
        record: [(String, String)],
        cloudEvent: [(String, String)],
        parent: String?,
        state: String?
    ) {
        let expected = [("traceparent", parent), ("tracestate", state)].compactMap { name, text in
            text.map { (name, $0) }
        }
        #expect(Self.taken(record, cloudEvent) == Self.headers(expected))
    }
}
