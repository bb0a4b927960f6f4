import APNsRules
import Vocabulary

/// The warning about a `bundle_id` that is already a topic, for people who write events.
///
/// The service does not give it: an app's bundle ID may end like this.
enum TopicSuffix {
    /// Empty if the push type adds no suffix, or if the bundle ID does not end with it.
    static func warnings(
        about destination: Event.Destination,
        _ pushType: PushType
    ) -> [Violation] {
        let suffix = APNsTopicRule.suffix(for: pushType)
        guard case .bundleID(let bundleID) = destination, !suffix.isEmpty,
            bundleID.hasSuffix(suffix)
        else { return [] }
        let violation = Violation(
            instanceLocation: "/bundle_id",
            keywordLocation: "apns-topic",
            message: "ends with \(suffix), which is added for push_type \(pushType.rawValue);"
                + " leave it out, or use 'topic'"
        )
        return [violation]
    }
}

extension Event {
    /// The warnings of the decoder and of `TopicSuffix`.
    var allWarnings: [Violation] {
        // A broadcast's path has the bundle ID as it is.
        isBroadcast ? warnings : warnings + TopicSuffix.warnings(about: destination, pushType)
    }
}

extension FanOut.Common {
    /// The warnings of the decoder and of `TopicSuffix`.
    var allWarnings: [Violation] {
        warnings + TopicSuffix.warnings(about: destination, pushType)
    }
}
