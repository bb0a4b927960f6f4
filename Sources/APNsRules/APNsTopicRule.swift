public import Vocabulary

/// How a bundle ID and a push type make a topic ("Sending notification requests to APNs").
public enum APNsTopicRule {
    /// What the push type appends to the bundle ID.
    ///
    /// Nothing for `mdm`: its topic is not a bundle ID at all but the UID attribute of the MDM push
    /// certificate's subject (`com.apple.mgmt.External.…`), and is given whole.
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

    /// What an event's request names the app by: `apns-topic`, or a broadcast's path, which has the
    /// bundle ID without any suffix.
    public static func topic(of event: Event) -> APNsTopic {
        switch event.destination {
        case .bundleID(let bundleID):
            event.isBroadcast
                ? APNsTopic(bundleID) : topic(bundleID: bundleID, pushType: event.pushType)
        case .topic(let topic): topic
        }
    }

    /// The bundle ID in a topic of that push type; nil when the topic lacks the type's suffix.
    public static func bundleID(in topic: APNsTopic, for pushType: PushType) -> String? {
        stripping(suffix(for: pushType), from: topic.name)
    }

    /// The bundle ID in a topic of unknown type: what is before the first suffix that fits.
    ///
    /// The topic itself when none fits. An app whose bundle ID ends like a suffix
    /// (`com.example.voip`) is why the push type should be asked first.
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
