public import Vocabulary

/// How a bundle ID and a push type form an APNs topic ("Sending notification requests to APNs").
public enum APNsTopicRule {
    /// The suffix that a push type adds to the bundle ID.
    ///
    /// Empty for `mdm`: its topic is not a bundle ID but the UID attribute in the subject of the
    /// MDM push certificate (`com.apple.mgmt.External.…`), and must be given in full.
    public static func suffix(for pushType: PushType) -> String {
        switch pushType {
        case .alert, .background, .mdm: ""
        case .location: ".location-query"
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }

    public static func topic(bundleID: String, pushType: PushType) -> APNsTopic {
        let suffix = suffix(for: pushType)
        return APNsTopic(suffix.isEmpty ? bundleID : bundleID + suffix)
    }

    public static func topic(of destination: Event.Destination, pushType: PushType) -> APNsTopic {
        switch destination {
        case .bundleID(let bundleID): topic(bundleID: bundleID, pushType: pushType)
        case .topic(let topic): topic
        }
    }

    /// How an event's request names the app.
    ///
    /// By `apns-topic`, or in a broadcast's path, which contains the bundle ID without any suffix.
    public static func topic(of event: Event) -> APNsTopic {
        switch event.destination {
        case .bundleID(let bundleID):
            event.isBroadcast
                ? APNsTopic(bundleID) : topic(bundleID: bundleID, pushType: event.pushType)
        case .topic(let topic): topic
        }
    }

    /// The bundle ID in a topic of this push type; nil if the topic lacks the type's suffix.
    public static func bundleID(in topic: APNsTopic, for pushType: PushType) -> String? {
        stripping(suffix(for: pushType), from: topic.name)
    }

    /// The bundle ID in a topic of unknown type: the part before the first matching suffix.
    ///
    /// The topic itself if none matches. Prefer the method with a push type: a bundle ID may itself
    /// end with a suffix (`com.example.voip`).
    public static func bundleID(in topic: APNsTopic) -> String {
        for suffix in suffixes {
            if let bundleID = stripping(suffix, from: topic.name) { return bundleID }
        }
        return topic.name
    }

    private static let suffixes = PushType.allCases.map(suffix(for:)).filter { !$0.isEmpty }

    private static func stripping(_ suffix: String, from name: String) -> String? {
        guard name.utf8.count > suffix.utf8.count, name.hasSuffix(suffix) else { return nil }
        return String(name.dropLast(suffix.count))
    }
}
