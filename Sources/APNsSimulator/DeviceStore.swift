import APNsRules
package import Vocabulary

/// A notification as a device would receive it.
package struct DeviceNotification: Hashable, Sendable {
    package var arrivedAt: Timestamp
    package var environment: APNsEnvironment
    package var topic: String
    package var pushType: PushType
    package var apnsID: String?
    package var collapseID: String?
    package var priority: Int
    /// In epoch seconds; with 0 it is never stored, nil means 30 days.
    package var expiration: Int64?
    package var payload: [UInt8]

    init(
        _ head: RequestHead,
        _ bytes: [UInt8],
        _ body: [UInt8],
        _ connection: ConnectionFacts,
        _ now: Timestamp
    ) {
        func text(_ name: RequestHead.Name) -> String? {
            head[name].map { String(decoding: bytes[$0], as: UTF8.self) }
        }
        arrivedAt = now
        environment = connection.environment
        topic = text(.topic) ?? String(decoding: connection.approvedTopic, as: UTF8.self)
        pushType = PushType(head, bytes) ?? .alert
        apnsID = text(.apnsID)
        collapseID = text(.collapseID)
        priority = text(.priority).flatMap { Int($0) } ?? 10
        expiration = text(.expiration).flatMap { Int64($0) }
        payload = body
    }

    /// The bundle ID of the app that receives it.
    package var bundleID: String {
        APNsTopicRule.bundleID(in: APNsTopic(topic), for: pushType) ?? topic
    }

    /// Whether APNs still stores it for an unreachable device.
    func isStored(at now: Timestamp) -> Bool {
        let limit = arrivedAt.seconds + 30 * 86400
        guard let expiration else { return now.seconds < limit }
        return expiration > 0 && now.seconds < min(limit, expiration)
    }
}

/// The notifications that one device has received, and those that APNs stores for it.
package struct DeviceState: Hashable, Sendable {
    package internal(set) var isOffline: Bool
    /// Oldest first; at most `DeviceStore.maxReceived`.
    package internal(set) var received: [DeviceNotification] = []
    /// The notifications on its screen: for each collapse ID, only the newest.
    package var displayed: [DeviceNotification] {
        var list: [DeviceNotification] = []
        for notification in received {
            if let collapseID = notification.collapseID {
                list.removeAll {
                    $0.collapseID == collapseID && $0.bundleID == notification.bundleID
                }
            }
            list.append(notification)
        }
        return list
    }
    /// One stored notification per bundle ID ("Sending notification requests to APNs").
    package internal(set) var stored: [String: DeviceNotification] = [:]
    /// Notifications that will never be received: replaced while stored, or expired.
    package internal(set) var lostCount = 0
}

/// Devices and their notifications, up to a maximum number of devices.
package struct DeviceStore: Hashable, Sendable {
    package static let maxReceived = 1000
    private let maxDevices: Int
    private var devices: [[UInt8]: DeviceState] = [:]

    package init(maxDevices: Int) {
        self.maxDevices = maxDevices
    }

    /// The state for a token in lower case.
    package func state(of token: [UInt8]) -> DeviceState? { devices[token] }

    mutating func arrive(
        _ notification: DeviceNotification,
        for token: [UInt8],
        isOffline: Bool,
        now: Timestamp
    ) {
        guard devices[token] != nil || devices.count < maxDevices else { return }
        var state = devices.removeValue(forKey: token) ?? DeviceState(isOffline: isOffline)
        if !state.isOffline {
            state.receive(notification)
        } else if notification.isStored(at: now) {
            let former = state.stored.updateValue(notification, forKey: notification.bundleID)
            if former != nil { state.lostCount += 1 }
        } else {
            state.lostCount += 1
        }
        devices[token] = state
    }

    /// Takes the device offline, or brings it back online.
    ///
    /// A device that is back receives the notifications stored for it. `loses` is called for each
    /// one that has not expired; if it returns true, the notification is lost.
    package mutating func setOffline(
        _ token: [UInt8],
        _ isOffline: Bool,
        now: Timestamp,
        loses: () -> Bool = { false }
    ) {
        guard devices[token] != nil || devices.count < maxDevices else { return }
        var state = devices.removeValue(forKey: token) ?? DeviceState(isOffline: isOffline)
        state.isOffline = isOffline
        if !isOffline {
            for (_, notification) in state.stored.sorted(by: { $0.key < $1.key }) {
                if notification.isStored(at: now), !loses() {
                    state.receive(notification)
                } else {
                    state.lostCount += 1
                }
            }
            state.stored.removeAll()
        }
        devices[token] = state
    }

    package mutating func forget() {
        devices.removeAll()
    }
}

extension DeviceState {
    fileprivate mutating func receive(_ notification: DeviceNotification) {
        if received.count >= DeviceStore.maxReceived { received.removeFirst() }
        received.append(notification)
    }
}
