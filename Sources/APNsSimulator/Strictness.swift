/// How strict the simulator is where APNs' behavior is undocumented or inconvenient.
package struct Strictness: Hashable, Sendable {
    /// The scope within which the time between two provider tokens is measured.
    package enum TokenUpdateScope: String, Hashable, Sendable, CaseIterable {
        case off, connection
        /// The key of a team, across all connections.
        case key
        case team
    }

    /// One step of judging a request.
    package enum Check: String, Hashable, Sendable, CaseIterable {
        case path
        case method
        case duplicateHeaders = "duplicate_headers"
        case credential
        /// Includes the push type, without which no topic can be checked.
        case topic
        case priority
        case expiration
        case collapseID = "collapse_id"
        case messageID = "message_id"
        case deviceToken = "device_token"
        case payload
    }

    /// Whether a missing `apns-push-type` is `InvalidPushType`; APNs mostly accepts it.
    package var requiresPushType = false
    /// Whether the first provider token binds the connection to its team, key and topics.
    package var bindsConnections = true
    /// The scope within which provider tokens must be issued at least 20 minutes apart.
    package var tokenUpdates = TokenUpdateScope.key
    /// Whether `iat` may be a string of digits, which some senders write.
    package var takesTextIssueTimes = false
    /// Whether members other than `alg`, `kid`, `iss` and `iat` make a provider token invalid.
    package var refusesExtraTokenMembers = false
    /// How far `iat` may be ahead of the simulator's clock, in seconds.
    package var maxFutureSeconds: Int64 = 3600
    /// Whether device tokens must have exactly 64 digits.
    package var requires64Digits = false
    /// Whether a payload that is no JSON object is `PayloadEmpty`; what APNs answers is not known.
    package var requiresJSONPayload = false
    /// Whether a bad certificate gets 403 instead of GOAWAY or a broken connection.
    package var answersBadCertificates = false
    /// Whether answers with 410 omit the timestamp.
    package var omitsTimestamps = false
    /// Whether generated `apns-id`s are in lower case, as Apple documents but APNs does not do.
    package var makesLowercaseIDs = false
    /// Whether `apns-unique-id` is also sent in production.
    package var alwaysSendsUniqueIDs = false
    /// Whether a stream over the limit ends the connection with GOAWAY, not only with RST_STREAM.
    package var endsConnectionsOverLimit = false
    /// Each check once; the first that fails determines the answer.
    package var checkOrder = Check.allCases

    package init() {}
}
