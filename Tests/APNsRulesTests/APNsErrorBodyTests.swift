import APNsRules
import Testing
import Vocabulary

@Suite struct APNsErrorBodyTests {
    static let readable: [(String, String?, Int64?)] = [
        (#"{"reason":"BadTopic"}"#, "BadTopic", nil),
        (
            #"{"reason":"Unregistered","timestamp":1454402113000}"#, "Unregistered",
            1_454_402_113_000
        ),
        (#" { "timestamp" : 12 , "reason" : "ExpiredToken" } "#, "ExpiredToken", 12),
        ("{\r\n\t\"reason\":\"Shutdown\"\n}\n", "Shutdown", nil),
        (#"{"a":[{"b":"]}"},[]],"reason":"BadPath","c":{"d":{}},"e":-1.5e3}"#, "BadPath", nil),
        (#"{"reason":"Bad\u0054op\u0069c"}"#, "BadTopic", nil),
        (#"{"reason":"\ud83d\ude00\"\\\/\b\f\n\r\t"}"#, "😀\"\\/\u{8}\u{c}\n\r\t", nil),
        (#"{"reason":"Shutdown","x":null,"y":true,"timestamp":"soon"}"#, "Shutdown", nil),
        (#"{"reason":null,"timestamp":5}"#, nil, 5),
        (#"{"reason":"Unregistered","timestamp":1e3}"#, "Unregistered", nil),
        (#"{"reason":"Unregistered","timestamp":99999999999999999999}"#, "Unregistered", nil),
        ("{}", nil, nil),
    ]

    @Test(arguments: readable)
    func `an object is read in any order, with extra members`(
        body: String,
        reason: String?,
        timestamp: Int64?
    ) {
        let parsed = APNsErrorBody(parsing: body.utf8)
        #expect(parsed.reason?.text == reason)
        #expect(parsed.timestamp?.milliseconds == timestamp)
    }

    @Test(arguments: [
        "", " ", "<html><body>503 Service Unavailable</body></html>", "null", "[]", "\"reason\"",
        #"{"reason":"BadTopic""#, #"{"reason":"BadTopic}"#, #"{"reason":"BadTopic"} x"#,
        #"{"reason":"BadTopic",}"#, #"{"reason" "BadTopic"}"#, #"{reason:"BadTopic"}"#,
        #"{"reason":"\u12"}"#, #"{"reason":"\ud83d"}"#, #"{"reason":"\ud83dA"}"#,
        #"{"reason":"\q"}"#, "{\"reason\":\"a\u{1}b\"}", #"{"reason":nope}"#, #"{"a":[[[[}"#, "{",
        "{\"",
    ])
    func `anything else says nothing`(body: String) {
        #expect(APNsErrorBody(parsing: body.utf8) == APNsErrorBody())
    }

    @Test func `bytes that are no UTF-8 say nothing`() {
        let body = Array(#"{"reason":""#.utf8) + [0xFF, 0xFE] + Array(#""}"#.utf8)
        #expect(APNsErrorBody(parsing: body) == APNsErrorBody())
    }

    @Test(arguments: [0, 1])
    func `a body is read up to the limit and not past it`(excess: Int) {
        let body = #"{"reason":"BadTopic"}"#
        let padding = APNsErrorBody.maxByteCount - body.utf8.count + excess
        let parsed = APNsErrorBody(parsing: (body + String(repeating: " ", count: padding)).utf8)
        #expect((parsed.reason == .apns(.badTopic)) == (excess == 0))
    }

    @Test func `an unknown reason is cut to 64 characters`() {
        let body = "{\"reason\":\"\(String(repeating: "x", count: 1000))\"}"
        #expect(APNsErrorBody(parsing: body.utf8).reason?.text.count == 64)
    }

    @Test(arguments: UInt64(1)...8)
    func `mutated bodies neither trap nor invent a reason's bytes`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let corpus = Self.readable.map { Array($0.0.utf8) }
        for _ in 0..<4000 {
            var body = corpus.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 1...4, using: &random) where !body.isEmpty {
                let place = Int.random(in: 0..<body.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: body[place] = UInt8.random(in: 0...255, using: &random)
                case 1: body.remove(at: place)
                case 2: body.insert(body[place], at: place)
                default: body.removeLast(body.count - place)
                }
            }
            if let text = APNsErrorBody(parsing: body).reason?.text {
                #expect(text.utf8.count <= body.count)
            }
        }
    }
}
