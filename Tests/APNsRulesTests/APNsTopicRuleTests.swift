import APNsRules
import Testing
import Vocabulary

@Suite struct APNsTopicRuleTests {
    static let topics: [(PushType, String)] = [
        (.alert, "com.example.app"),
        (.background, "com.example.app"),
        (.location, "com.example.app.location-query"),
        (.voip, "com.example.app.voip"),
        (.complication, "com.example.app.complication"),
        (.fileprovider, "com.example.app.pushkit.fileprovider"),
        (.mdm, "com.example.app"),
        (.liveactivity, "com.example.app.push-type.liveactivity"),
        (.pushtotalk, "com.example.app.voip-ptt"),
        (.widgets, "com.example.app.push-type.widgets"),
        (.controls, "com.example.app.push-type.controls"),
    ]

    @Test func `the table has every push type`() {
        #expect(Set(Self.topics.map(\.0)) == Set(PushType.allCases))
    }

    @Test(arguments: topics)
    func `a push type's suffix is added and removed`(type: PushType, name: String) {
        let topic = APNsTopicRule.topic(bundleID: "com.example.app", pushType: type)
        #expect(topic.name == name)
        #expect(APNsTopicRule.bundleID(in: topic, for: type) == "com.example.app")
        #expect(APNsTopicRule.bundleID(in: topic) == "com.example.app")
    }

    @Test func `an explicit topic is not changed`() {
        let topic = APNsTopic("com.example.app")
        #expect(APNsTopicRule.topic(of: .topic(topic), pushType: .voip) == topic)
        #expect(APNsTopicRule.bundleID(in: topic, for: .voip) == nil)
        #expect(APNsTopicRule.bundleID(in: APNsTopic(".voip"), for: .voip) == nil)
    }

    @Test func `a bundle ID that ends like a suffix is unchanged if the push type has no suffix`() {
        let topic = APNsTopic("com.example.voip")
        #expect(APNsTopicRule.bundleID(in: topic, for: .alert) == "com.example.voip")
        #expect(APNsTopicRule.bundleID(in: topic) == "com.example")
    }
}
