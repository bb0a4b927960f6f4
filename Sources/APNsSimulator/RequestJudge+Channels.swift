import APNsRules
import HTTP2IO
import JSON
import Vocabulary

/// Broadcasts and channel management.
///
/// Apple pages "Sending broadcast push notification requests to APNs", "Sending channel management
/// requests to APNs" and "Handling error responses from APNs".
extension RequestJudge {
    mutating func judgeChannel(
        _ route: ChannelRoute,
        _ head: RequestHead,
        _ bytes: [UInt8],
        _ body: [UInt8],
        _ connection: inout ConnectionFacts,
        _ now: Timestamp
    ) -> ChannelAnswer {
        let method = head[.method].map { String(decoding: bytes[$0], as: UTF8.self) } ?? ""
        guard route.methods.contains(method) else {
            return ChannelAnswer(405, reason: "MethodNotAllowed")
        }
        if head.hasDuplicates { return ChannelAnswer(400, reason: "DuplicateHeaders") }
        if let refusal = credentialRefusal(head, bytes, &connection, now) {
            return ChannelAnswer(refusal.status, reason: refusal.reason.rawValue)
        }
        if let answer = appAnswer(route.bundleID, connection) { return answer }
        if let range = head[.requestID], APNsID(utf8: bytes[range].span) == nil {
            return ChannelAnswer(400, reason: "BadMessageId")
        }
        let app = ChannelStore.App(
            environment: connection.environment,
            bundleID: route.bundleID
        )
        switch route {
        case .broadcast: return broadcast(head, bytes, body, app, now)
        case .allChannels: return list(app)
        case .channels where method == "POST": return create(body, app)
        case .channels:
            switch existingChannel(head, bytes, app) {
            case .failure(let answer): return answer.answer
            case .success(let id):
                return method == "GET" ? read(id, app) : delete(id, app)
            }
        }
    }

    private func appAnswer(_ bundleID: String, _ connection: ConnectionFacts) -> ChannelAnswer? {
        guard Self.isWellFormed(bundleID),
            APNsTopicRule.bundleID(in: APNsTopic(bundleID)) == bundleID
                || bundleIDs.contains(bundleID)
        else { return ChannelAnswer(400, reason: "TopicDisallowed") }
        let allowed = allowedBundleIDs(connection.providerToken?.key, connection)
        let isCovered = connection.certificate.map { $0.topics.contains(bundleID) } ?? true
        guard isCovered, allowed.allSatisfy({ $0.contains(bundleID) }) else {
            return ChannelAnswer(403, reason: "TopicMismatch")
        }
        return scenario.appsWithoutBroadcast.contains(bundleID)
            ? ChannelAnswer(400, reason: "FeatureNotEnabled") : nil
    }

    /// The answer when a channel does not exist.
    private struct Missing: Error {
        var answer: ChannelAnswer
    }

    private func existingChannel(
        _ head: RequestHead,
        _ bytes: [UInt8],
        _ app: ChannelStore.App
    ) -> Result<String, Missing> {
        func missing(_ reason: String) -> Result<String, Missing> {
            .failure(Missing(answer: ChannelAnswer(400, reason: reason)))
        }
        guard let range = head[.channelID] else { return missing("MissingChannelId") }
        let id = String(decoding: bytes[range], as: UTF8.self)
        guard (1...256).contains(range.count), Base64.standard.decode(bytes[range]) != nil
        else { return missing("BadChannelId") }
        guard channels.channel(id, in: app) != nil else { return missing("ChannelNotRegistered") }
        return .success(id)
    }

    // MARK: Broadcasts

    private mutating func broadcast(
        _ head: RequestHead,
        _ bytes: [UInt8],
        _ body: [UInt8],
        _ app: ChannelStore.App,
        _ now: Timestamp
    ) -> ChannelAnswer {
        guard let type = head[.pushType] else {
            return ChannelAnswer(400, reason: "MissingPushType")
        }
        // Apple's documentation uses three spellings.
        guard String(decoding: bytes[type], as: UTF8.self).lowercased() == "liveactivity" else {
            return ChannelAnswer(400, reason: "InvalidPushType")
        }
        let id: String
        switch existingChannel(head, bytes, app) {
        case .failure(let missing): return missing.answer
        case .success(let found): id = found
        }
        guard let priority = head[.priority],
            ["10", "5", "1"].contains(String(decoding: bytes[priority], as: UTF8.self))
        else { return ChannelAnswer(400, reason: "BadPriority") }
        guard let range = head[.expiration], Self.isNumber(bytes, range),
            let expiration = Int64(String(decoding: bytes[range], as: UTF8.self)),
            expiration == 0 || channels.channel(id, in: app)?.isStored == true
        else { return ChannelAnswer(400, reason: "BadExpirationDate") }
        if body.isEmpty { return ChannelAnswer(400, reason: "PayloadEmpty") }
        if body.count > 5120 { return ChannelAnswer(413, reason: "PayloadTooLarge") }
        guard Self.isJSONObject(body) else {
            return ChannelAnswer(400, reason: "BadRequestPayload")
        }
        channels.broadcast(body, expiration: expiration, to: id, in: app, now: now)
        return ChannelAnswer(200, isBroadcast: true)
    }

    // MARK: Channels

    private mutating func create(_ body: [UInt8], _ app: ChannelStore.App) -> ChannelAnswer {
        if body.isEmpty { return ChannelAnswer(400, reason: "PayloadEmpty") }
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue.parse(body)
        } catch {
            return ChannelAnswer(400, reason: "BadRequestPayload")
        }
        guard let members = value.object?.members else {
            return ChannelAnswer(400, reason: "BadRequestPayload")
        }
        let known = ["message-storage-policy", "push-type"]
        guard members.allSatisfy({ known.contains($0.name) }) else {
            return ChannelAnswer(400, reason: "BadRequestParams")
        }
        guard let type = value["push-type"] else {
            return ChannelAnswer(400, reason: "MissingPushType")
        }
        guard type.string?.lowercased() == "liveactivity" else {
            return ChannelAnswer(400, reason: "InvalidPushType")
        }
        guard let policy = value["message-storage-policy"]?.integer, (0...1).contains(policy) else {
            return ChannelAnswer(400, reason: "BadRequestParams")
        }
        let id = channels.create(
            in: app,
            isStored: policy == 1,
            maxChannels: scenario.maxChannels
        )
        guard let id else { return ChannelAnswer(400, reason: "CannotCreateChannelConfig") }
        return ChannelAnswer(201, channelID: id)
    }

    private func read(_ id: String, _ app: ChannelStore.App) -> ChannelAnswer {
        let policy = channels.channel(id, in: app)?.isStored == true ? 1 : 0
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("message-storage-policy")
        writer.integer(policy)
        writer.name("push-type")
        writer.string("LiveActivity")
        writer.endObject()
        return ChannelAnswer(200, channelID: id, content: writer.bytes)
    }

    private mutating func delete(_ id: String, _ app: ChannelStore.App) -> ChannelAnswer {
        _ = channels.delete(id, in: app)
        return ChannelAnswer(204)
    }

    private func list(_ app: ChannelStore.App) -> ChannelAnswer {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("channels")
        writer.beginArray()
        for id in channels.ids(in: app) { writer.string(id) }
        writer.endArray()
        writer.endObject()
        return ChannelAnswer(200, content: writer.bytes)
    }
}
