import APNsRules
import HTTP2IO
import JSON
import Log
import Vocabulary

/// The result of a channel request.
package struct ChannelReport {
    struct Target: Hashable {
        var bundleID: String
        var environment: APNsEnvironment
        var credential: String
    }

    package enum Ending: Hashable, Sendable {
        case done
        case refused
        /// There is no answer, but APNs may have carried out the request.
        case unknown
    }

    enum Result: Hashable {
        case created(ChannelID)
        case read(storage: Int64?, pushType: String?)
        case deleted
        case listed([String])
        case refused(status: Int, Reason?)
        /// The status reports success, but other required parts of the answer are missing.
        case unreadable(status: Int)
        case lost(cause: String, advice: [String], isCertainlyUnprocessed: Bool)
    }

    let target: Target
    let request: ChannelRequest
    let result: Result
    /// The ID that Apple asks for to trace a request.
    let requestID: String?
    /// The problem with this machine's clock, if any.
    let clockTrouble: String?

    init(target: Target, request: ChannelRequest, answer: DirectExchange.Answer) {
        self.target = target
        self.request = request
        requestID = answer.response.text(of: "apns-request-id")
        result = Result(answer.response, to: request)
        clockTrouble = answer.clockTrouble
    }

    init(target: Target, request: ChannelRequest, lost: LostAnswer) {
        self.target = target
        self.request = request
        requestID = nil
        clockTrouble = nil
        result = .lost(
            cause: lost.cause,
            advice: lost.advice,
            isCertainlyUnprocessed: lost.isCertainlyUnprocessed
        )
    }

    package var ending: Ending {
        switch result {
        case .created, .read, .deleted, .listed: .done
        case .refused: .refused
        case .unreadable: .unknown
        case .lost(_, _, let isCertainlyUnprocessed): isCertainlyUnprocessed ? .refused : .unknown
        }
    }

    /// The result, for standard output; nil if there is none.
    package var text: String? {
        switch result {
        case .created(let channel): channel.base64
        case .read(let storage, let pushType):
            "storage \(Self.word(storage)), push type \(pushType?.printable ?? "unknown")"
        case .listed(let channels):
            channels.isEmpty ? nil : channels.map(\.printable).joined(separator: "\n")
        case .deleted, .refused, .unreadable, .lost: nil
        }
    }

    /// What happened, as lines for standard error.
    package var remarks: String {
        ([clockTrouble].compactMap(\.self) + happening).joined(separator: "\n")
    }

    private var happening: [String] {
        let place =
            "\(target.bundleID), \(target.environment.rawValue), credential \(target.credential)"
        switch result {
        case .created: return ["created a channel of \(place)"]
        case .read: return ["a channel of \(place)"]
        case .deleted:
            return ["deleted the channel of \(place); a stored broadcast may still reach devices"]
        case .listed(let channels):
            let count = channels.count
            return [count == 1 ? "1 channel of \(place)" : "\(count) channels of \(place)"]
        case .refused(let status, let reason):
            let meaning = AnswerMeaning(status: status, reason: reason, kind: .broadcast)
            return ["\(place): \(meaning.heading)"] + meaning.advice
        case .unreadable(let status):
            let text = "status \(status), but the answer is not what Apple documents"
            return ["\(place): \(text)", advice]
        case .lost(let cause, let reasons, let isCertainlyUnprocessed):
            let next =
                isCertainlyUnprocessed ? "APNs did not act on it; try again." : advice
            return ["\(place): \(cause)"] + reasons + [next]
        }
    }

    /// The advice after a lost answer: all requests but `create` can safely be repeated.
    private var advice: String {
        switch request {
        case .create:
            "The channel may exist; list the channels before you try again."
        case .delete: "The channel may be deleted; deleting it again is safe."
        case .read, .list: "Try again; reading changes nothing."
        }
    }

    private static func word(_ storage: Int64?) -> String {
        guard let storage, let known = ChannelStorage(rawValue: Int(storage)) else {
            return storage.map { "\($0)" } ?? "unknown"
        }
        return known.word
    }
}

extension ChannelReport.Result {
    fileprivate init(_ response: HTTP2Response, to request: ChannelRequest) {
        let status = response.status
        let reason = APNsErrorBody(parsing: response.body).reason
        guard AnswerMeaning(status: status, reason: reason, kind: .broadcast).isAccepted else {
            self = .refused(status: status, reason)
            return
        }
        let limits = JSONLimits(maxByteCount: max(response.body.count, 1))
        let body =
            response.isBodyTruncated ? nil : try? JSONValue.parse(response.body, limits: limits)
        switch request {
        case .create:
            let channel = response.text(of: "apns-channel-id").flatMap(ChannelID.init)
            self = channel.map(Self.created) ?? .unreadable(status: status)
        case .read:
            let storage = body?["message-storage-policy"]?.integer
            self =
                body?.object == nil
                ? .unreadable(status: status)
                : .read(storage: storage, pushType: body?["push-type"]?.string)
        case .list:
            let channels = body?["channels"]?.array?.compactMap(\.string)
            self = channels.map(Self.listed) ?? .unreadable(status: status)
        case .delete: self = .deleted
        }
    }
}

extension ChannelReport {
    /// The whole report as a JSON object on one line.
    package var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        for (name, value) in [
            ("bundle_id", target.bundleID), ("environment", target.environment.rawValue),
            ("credential", target.credential),
        ] {
            writer.name(name)
            writer.string(value)
        }
        if let requestID {
            writer.name("request_id")
            writer.string(requestID)
        }
        writeResult(&writer)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func writeResult(_ writer: inout JSONWriter) {
        if let channel = request.channel { Self.write("channel_id", channel.base64, &writer) }
        switch result {
        case .created(let channel): Self.write("channel_id", channel.base64, &writer)
        case .read(let storage, let pushType):
            Self.write("storage_policy", Self.word(storage), &writer)
            Self.write("push_type", pushType, &writer)
        case .listed(let channels):
            writer.name("channels")
            writer.beginArray()
            for channel in channels { writer.string(channel) }
            writer.endArray()
        case .deleted: break
        case .refused(let status, let reason):
            Self.write("error", reason?.text ?? "status \(status)", &writer)
            writer.name("status")
            writer.integer(status)
        case .unreadable(let status):
            Self.write("error", "unreadable answer", &writer)
            writer.name("status")
            writer.integer(status)
        case .lost(let cause, _, let isCertainlyUnprocessed):
            Self.write("error", cause, &writer)
            writer.name("may_be_done")
            writer.bool(!isCertainlyUnprocessed)
        }
    }

    private static func write(_ name: String, _ text: String?, _ writer: inout JSONWriter) {
        writer.name(name)
        writer.string(text)
    }
}
