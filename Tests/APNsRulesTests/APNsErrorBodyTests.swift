import APNsRules
import Testing
import Vocabulary

@Suite struct APNsErrorBodyTests {
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)
    private static let day: Int64 = 24 * 60 * 60 * 1000

    static let readable: [(String, String?)] = [
        (#"{"reason":"BadTopic"}"#, "BadTopic"),
        (#"{"reason":"Unregistered","timestamp":1454402113000}"#, "Unregistered"),
        (#" { "timestamp" : 12 , "reason" : "ExpiredToken" } "#, "ExpiredToken"),
        ("{\r\n\t\"reason\":\"Shutdown\"\n}\n", "Shutdown"),
        (#"{"a":[{"b":"]}"},[]],"reason":"BadPath","c":{"d":{}},"e":-1.5e3}"#, "BadPath"),
        (#"{"reason":"Bad\u0054op\u0069c"}"#, "BadTopic"),
        (#"{"reason":"\ud83d\ude00\"\\\/\b\f\n\r\t"}"#, "😀\"\\/\u{8}\u{c}\n\r\t"),
        (#"{"reason":"Shutdown","x":null,"y":true,"timestamp":"soon"}"#, "Shutdown"),
        (#"{"reason":null,"timestamp":5}"#, nil),
        ("{}", nil),
    ]

    @Test(arguments: readable)
    func `members in any order and unknown members are accepted`(body: String, reason: String?) {
        #expect(APNsErrorBody(parsing: body.utf8).reason?.text == reason)
    }

    @Test(arguments: [
        // From 2009 to tomorrow, in milliseconds.
        ("1230768000000", 1_230_768_000_000), ("1454402113000", 1_454_402_113_000),
        ("\(now.milliseconds)", now.milliseconds),
        // A time later than tomorrow is not plausible.
        ("\(now.milliseconds + 1)", now.milliseconds),
        ("\(now.milliseconds + day)", now.milliseconds),
    ])
    func `a plausible time is used, and a future time counts as now`(
        text: String,
        milliseconds: Int64
    ) {
        let body = APNsErrorBody(parsing: "{\"timestamp\": \(text) }".utf8)
        #expect(body.inactiveSince(now: Self.now) == .at(Timestamp(milliseconds: milliseconds)))
    }

    @Test(arguments: [
        "0", "-5", "1230767999999", "\(now.milliseconds + day + 1)", "1767225600",
        "1767225600000000", "\(Int64.max)", "\(Int64.min)", "99999999999999999999",
        "1.7672256e12", "1767225600000.0", #""1767225600000""#, #""soon""#, "true", "{}", "[]",
    ])
    func `any other time is ignored and counted`(text: String) {
        let body = APNsErrorBody(
            parsing: #"{"timestamp":1454402113000,"timestamp":\#(text),"reason":"Shutdown"}"#.utf8
        )
        #expect(body.inactiveSince(now: Self.now) == .implausible)
        #expect(body.reason == .apns(.shutdown))
    }

    @Test(arguments: ["{}", #"{"timestamp":null}"#, #"{"timestamp":5,"timestamp":null}"#, "[]"])
    func `null counts as no time`(body: String) {
        #expect(APNsErrorBody(parsing: body.utf8).inactiveSince(now: Self.now) == .untold)
    }

    @Test(arguments: [
        "", " ", "<html><body>503 Service Unavailable</body></html>", "null", "[]", "\"reason\"",
        #"{"reason":"BadTopic""#, #"{"reason":"BadTopic}"#, #"{"reason":"BadTopic"} x"#,
        #"{"reason":"BadTopic",}"#, #"{"reason" "BadTopic"}"#, #"{reason:"BadTopic"}"#,
        #"{"reason":"\u12"}"#, #"{"reason":"\ud83d"}"#, #"{"reason":"\ud83dA"}"#,
        #"{"reason":"\q"}"#, "{\"reason\":\"a\u{1}b\"}", #"{"reason":nope}"#, #"{"a":[[[[}"#, "{",
        "{\"",
    ])
    func `any other body is ignored`(body: String) {
        #expect(APNsErrorBody(parsing: body.utf8) == APNsErrorBody(parsing: []))
    }

    @Test func `a body that is not UTF-8 is ignored`() {
        let body = Array(#"{"reason":""#.utf8) + [0xFF, 0xFE] + Array(#""}"#.utf8)
        #expect(APNsErrorBody(parsing: body) == APNsErrorBody(parsing: []))
    }

    @Test(arguments: [0, 1])
    func `a body is read up to the size limit`(excess: Int) {
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
    func `mutated bodies never trap and never yield bytes that were not in the body`(seed: UInt64) {
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
