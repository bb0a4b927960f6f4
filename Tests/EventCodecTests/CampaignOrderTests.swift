import EventCodec
import JSON
import JSONSchema
import Testing
import Vocabulary

@Suite struct CampaignOrderTests {
    private static func until(_ seconds: Int64) -> Timestamp {
        Timestamp(milliseconds: seconds * 1000)
    }

    private static let valid: [(String, CampaignOrder)] = [
        (#"{"state":"running"}"#, CampaignOrder(.running)),
        (#" {"until":null,"per_second":null,"state":"paused"}"#, CampaignOrder(.paused)),
        (#"{"st\u0061te":"cancelled","per_second":7}"#, CampaignOrder(.cancelled, perSecond: 7)),
        (#"{"state":"running","per_second":1e6}"#, CampaignOrder(.running, perSecond: 1_000_000)),
        (#"{"state":"running","per_second":0.001}"#, CampaignOrder(.running, perSecond: 0.001)),
        (
            #"{"state":"running","per_second":2.5,"until":179e7}"#,
            CampaignOrder(.running, perSecond: 2.5, until: until(1_790_000_000))
        ),
        (
            #"{"state":"paused","until":1000000000}"#,
            CampaignOrder(.paused, until: until(1_000_000_000))
        ),
        (
            #"{"state":"paused","per_second":2,"until":4294967295}"#,
            CampaignOrder(.paused, perSecond: 2, until: until(4_294_967_295))
        ),
    ]

    @Test func `an order is read with its defaults, and written as a valid one`() throws {
        for (text, order) in Self.valid {
            #expect(try CampaignOrder(parsing: Array(text.utf8)) == order, "\(text)")
            #expect(try CampaignOrder(parsing: order.value) == order, "\(text)")
        }
        let value = CampaignOrder(.running, perSecond: 500, until: Self.until(1_790_000_000)).value
        let text = #"{"state":"running","per_second":500,"until":1790000000}"#
        #expect(String(decoding: value, as: UTF8.self) == text)
    }

    @Test(
        arguments: [
            ("", "empty"), ("{", ""), ("\u{feff}{}", ""), ("[]", "must be object"),
            ("{}", "'state' is missing"), (#"{"state":7}"#, "/state: "),
            (#"{"state":"stopped"}"#, #"/state: must be one of "running", "paused", "cancelled""#),
            (#"{"state":"paused","state":"paused"}"#, "/state: the name appears twice"),
            (
                #"{"state":"running","per_second":0}"#,
                "/per_second: must be at least 0.001; found 0; to send nothing, pause the campaign"
            ),
            (#"{"state":"running","per_second":1e-400}"#, "; to send nothing, pause the campaign"),
            (#"{"state":"running","per_second":1000001}"#, "/per_second: must be at most 1000000"),
            (#"{"state":"running","per_secnd":5}"#, "per_second"),
            (#"{"state":"paused","until":1790000000000}"#, "looks like milliseconds"),
            (#"{"state":"paused","until":60}"#, "/until: must be at least 1000000000"),
            (#"{"state":"cancelled","until":1790000000}"#, "/until: "),
            (#"{"state":"running","until":1790000000}"#, "'per_second' is missing"),
        ]
    )
    func `the error says what is wrong with an order`(text: String, part: String) {
        do throws(CampaignOrderError) {
            let order = try CampaignOrder(parsing: Array(text.utf8))
            Issue.record("\(order)")
        } catch {
            #expect(error.description.contains(part), "\(error)")
        }
    }

    @Test(
        arguments: [
            ("c", #"{"state":"paused"}"#, nil), ("c", nil, nil), ("", nil, "not a campaign's name"),
            (nil, #"{"state":"paused"}"#, "has no key"), ("a\nb", nil, "not a campaign's name"),
            ("\u{fffd}", "{", ""), ("c", "", "empty"),
        ] as [(String?, String?, String?)]
    )
    func `a record's key is the campaign, and without a value it has no order`(
        key: String?,
        value: String?,
        problem: String?
    ) {
        var record = EventText.record(value.map { Array($0.utf8) })
        record.key = key.map { Array($0.utf8) }
        do throws(CampaignOrderError) {
            let found = try CampaignRecord(record)
            #expect(problem == nil)
            #expect(found.campaign.description == key)
            #expect(found.order == (value == nil ? nil : CampaignOrder(.paused)))
        } catch {
            #expect(problem.map { error.description.contains($0) } == true, "\(error)")
        }
    }

    @Test(arguments: ["valid", "invalid"])
    func `an order is read exactly if its schema admits it`(folder: String) throws {
        for example in try SchemaExample.all(of: .campaignOrderV1, folder) {
            let order = try? CampaignOrder(parsing: example.text)
            #expect((order != nil) == (folder == "valid"), "\(example.name)")
        }
    }
}
