/// How strict the simulator is where APNs' behavior is undocumented or inconvenient.
package struct Strictness: Hashable, Sendable {
    /// The scope in which the time between two provider tokens is measured.
    package enum TokenUpdateScope: String, Hashable, Sendable, CaseIterable {
        case off, connection
        /// Of a team, over all connections.
        case key
        case team
    }

    /// One step of judging a request.
    package enum Check: String, Hashable, Sendable, CaseIterable {
        case path
        case method
        case duplicateHeaders = "duplicate_headers"
        case credential
        /// The push type too, without which no topic can be judged.
        case topic
        case priority
        case expiration
        case collapseID = "collapse_id"
        case messageID = "message_id"
        case deviceToken = "device_token"
        case payload
    }

    /// A request without `apns-push-type` is `InvalidPushType`; APNs mostly lets it pass.
    package var requiresPushType = false
    /// The first provider token fixes the connection's team, key and topics.
    package var bindsConnections = true
    /// Within this scope provider tokens are issued 20 minutes apart.
    package var tokenUpdates = TokenUpdateScope.key
    /// `iat` may be a string of digits, as some senders write it.
    package var takesTextIssueTimes = false
    /// A provider token with members next to `alg`, `kid`, `iss` and `iat` is invalid.
    package var refusesExtraTokenMembers = false
    /// How far ahead of the simulator's clock `iat` may lie, in seconds.
    package var maxFutureSeconds: Int64 = 3600
    /// Device tokens have 64 digits and no other number.
    package var requires64Digits = false
    /// A payload that is not a JSON object is `PayloadEmpty`; APNs' own answer is not known.
    package var requiresJSONPayload = false
    /// A bad certificate gets 403 instead of GOAWAY or a broken connection.
    package var answersBadCertificates = false
    /// An answer 410 says no time.
    package var omitsTimestamps = false
    /// Made `apns-id`s are in lower case, as Apple documents and APNs does not do.
    package var makesLowercaseIDs = false
    /// `apns-unique-id` comes in production too.
    package var alwaysSendsUniqueIDs = false
    /// A stream over the limit ends the connection with GOAWAY instead of its own RST_STREAM.
    package var endsConnectionsOverLimit = false
    /// Each check once; the first that fails is the answer.
    package var checkOrder = Check.allCases

    package init() {}
}
