import JSON
import Vocabulary

extension SimulatorStatistics {
    /// For the control endpoint.
    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        let numbers = [
            ("connections", connections), ("open_connections", openConnections),
            ("throttled_connections", throttledConnections), ("requests", requests),
            ("accepted", accepted), ("duplicates", duplicates), ("faults", faults),
            ("channel_successes", channelSuccesses), ("max_open_streams", maxOpenStreams),
            ("pings", pings), ("goaways_received", goAwaysReceived),
        ]
        for (name, number) in numbers {
            writer.name(name)
            writer.integer(number)
        }
        let named = Dictionary(uniqueKeysWithValues: refused.map { ($0.key.rawValue, $0.value) })
        for (name, counts) in [("refused", named), ("channel_refusals", channelRefusals)] {
            writer.name(name)
            writer.beginObject()
            for (reason, count) in counts.sorted(by: { $0.key < $1.key }) {
                writer.name(reason)
                writer.integer(count)
            }
            writer.endObject()
        }
        writer.endObject()
        return writer.bytes
    }
}

extension DeviceState {
    /// For the control endpoint.
    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("offline")
        writer.bool(isOffline)
        let stored = stored.sorted { $0.key < $1.key }.map(\.value)
        for (name, list) in [("received", received), ("displayed", displayed), ("stored", stored)] {
            writer.name(name)
            writer.beginArray()
            for notification in list { notification.write(to: &writer) }
            writer.endArray()
        }
        writer.name("lost")
        writer.integer(lostCount)
        writer.endObject()
        return writer.bytes
    }
}

extension DeviceNotification {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("time")
        writer.integer(arrivedAt.milliseconds)
        let texts = [
            ("environment", environment.rawValue), ("topic", topic), ("bundle_id", bundleID),
            ("push_type", pushType.rawValue), ("apns-id", apnsID), ("collapse_id", collapseID),
            ("payload", String(decoding: payload, as: UTF8.self)),
        ]
        for (name, text) in texts {
            writer.name(name)
            writer.string(text)
        }
        writer.name("priority")
        writer.integer(priority)
        writer.name("expiration")
        if let expiration { writer.integer(expiration) } else { writer.null() }
        writer.endObject()
    }
}

extension ChannelStore {
    /// For the control endpoint.
    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginArray()
        for (environment, bundleID, id, channel) in all() {
            writer.beginObject()
            for (name, text) in [
                ("environment", environment.rawValue), ("bundle_id", bundleID), ("id", id),
            ] {
                writer.name(name)
                writer.string(text)
            }
            writer.name("message_storage_policy")
            writer.integer(channel.isStored ? 1 : 0)
            writer.name("broadcasts")
            writer.integer(channel.broadcasts)
            writer.name("newest")
            writer.string(channel.newest.map { String(decoding: $0.payload, as: UTF8.self) })
            writer.endObject()
        }
        writer.endArray()
        return writer.bytes
    }
}
