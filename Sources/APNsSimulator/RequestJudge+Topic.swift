import APNsRules
import HTTP2IO
import Vocabulary

/// Checks topic and push type.
extension RequestJudge {
    func topicRefusal(
        _ head: RequestHead,
        _ bytes: [UInt8],
        _ connection: inout ConnectionFacts
    ) -> Refusal? {
        guard let pushType = PushType(head, bytes) else { return Refusal(400, .invalidPushType) }
        if head[.pushType] == nil, strictness.requiresPushType {
            return Refusal(400, .invalidPushType)
        }
        guard let range = head[.topic] else {
            // The certificate's topic is the default only if it has exactly one.
            guard let topics = connection.certificate?.topics, topics.count == 1 else {
                return Refusal(400, .missingTopic)
            }
            connection.approvedTopic = Array(topics[0].utf8)
            connection.approvedPushType = pushType
            return nil
        }
        let key = connection.providerToken?.key
        let isApproved =
            connection.approvedPushType == pushType && connection.approvedKey == key
            && bytes.equals(range, connection.approvedTopic)
        if isApproved { return nil }
        let topic = APNsTopic(String(decoding: bytes[range], as: UTF8.self))
        if let refusal = refusal(topic, pushType, key, connection) { return refusal }
        connection.approvedTopic = Array(bytes[range])
        connection.approvedPushType = pushType
        connection.approvedKey = key
        return nil
    }

    private func refusal(
        _ topic: APNsTopic,
        _ pushType: PushType,
        _ key: Int?,
        _ connection: ConnectionFacts
    ) -> Refusal? {
        guard Self.isWellFormed(topic.name) else { return Refusal(400, .badTopic) }
        guard let bundleID = APNsTopicRule.bundleID(in: topic, for: pushType) else {
            return Refusal(400, .invalidPushType)
        }
        // APNs answers this way and does not mention the credential.
        if connection.certificate != nil, pushType.needsProviderToken {
            return Refusal(400, .deviceTokenNotForTopic)
        }
        let hasForeignSuffix =
            pushType != .mdm && APNsTopicRule.suffix(for: pushType).isEmpty
            && APNsTopicRule.bundleID(in: topic) != topic.name
            && !bundleIDs.contains(topic.name)
        let candidates = [bundleID, APNsTopicRule.bundleID(in: topic)]
        for allowed in allowedBundleIDs(key, connection)
        where candidates.allSatisfy({ !allowed.contains($0) }) {
            return Refusal(400, .topicDisallowed)
        }
        if let certificate = connection.certificate, !certificate.topics.contains(topic.name) {
            return Refusal(400, .topicDisallowed)
        }
        return hasForeignSuffix ? Refusal(400, .invalidPushType) : nil
    }

    /// The bundle IDs allowed for the key and the team, as far as they are limited.
    func allowedBundleIDs(_ key: Int?, _ connection: ConnectionFacts) -> [Set<String>] {
        guard let key else { return [] }
        let ofTeam =
            strictness.bindsConnections
            ? connection.teamBundleIDs : scenario.teams[providerTokens.key(key).teamID]
        return [providerTokens.key(key).bundleIDs, ofTeam].compactMap(\.self)
    }

    /// Whether the topic has only letters, digits, hyphens, underscores and periods, like bundle
    /// IDs.
    static func isWellFormed(_ topic: String) -> Bool {
        !topic.isEmpty
            && topic.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                    UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
