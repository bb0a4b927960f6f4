import HTTP2IO
import HTTP2Peer
import SystemIO
import Vocabulary

/// One of the simulator's four listeners.
struct Door: Hashable {
    var environment: APNsEnvironment
    /// Whether the listener is for channel management, not for notifications.
    var isForChannels: Bool

    /// In the order of their event IDs.
    static let all = [
        Door(environment: .production, isForChannels: false),
        Door(environment: .sandbox, isForChannels: false),
        Door(environment: .production, isForChannels: true),
        Door(environment: .sandbox, isForChannels: true),
    ]
}

/// The ports that a simulator listens on; nil: not requested.
package struct SimulatorPorts: Hashable, Sendable {
    package internal(set) var production: UInt16?
    package internal(set) var sandbox: UInt16?
    package internal(set) var productionChannels: UInt16?
    package internal(set) var sandboxChannels: UInt16?
}

/// The simulator's listeners.
final class Doors {
    static let wakeupID: UInt64 = 0
    private let listeners: [ListenerBox?]

    init(_ configuration: SimulatorConfiguration) throws(SimulatorError) {
        var listeners: [ListenerBox?] = []
        for address in [
            configuration.production, configuration.sandbox, configuration.productionChannels,
            configuration.sandboxChannels,
        ] {
            guard let address else {
                listeners.append(nil)
                continue
            }
            do throws(SystemError) {
                listeners.append(try ListenerBox(address))
            } catch {
                throw .address(address, error)
            }
        }
        self.listeners = listeners
    }

    var ports: SimulatorPorts {
        let ports = listeners.map { $0?.listener.address.port }
        return SimulatorPorts(
            production: ports[0],
            sandbox: ports[1],
            productionChannels: ports[2],
            sandboxChannels: ports[3]
        )
    }

    /// The listener with this event ID; nil if the ID belongs to a connection.
    static func door(of id: UInt64) -> Door? {
        (1...UInt64(Door.all.count)).contains(id) ? Door.all[Int(id) - 1] : nil
    }

    func register(in loop: borrowing EventLoop) throws(SystemError) {
        for (index, box) in listeners.enumerated() {
            guard let box else { continue }
            let id = UInt64(index + 1)
            try loop.register(box.listener.fileDescriptor, id: id, interest: .read)
        }
    }

    /// Accepts a waiting connection; nil if there is none or none can be accepted now.
    func accept(_ door: Door) -> AcceptedSocket? {
        guard let index = Door.all.firstIndex(of: door), let box = listeners[index] else {
            return nil
        }
        do throws(SystemError) {
            return try box.listener.accept()
        } catch {
            return nil
        }
    }
}

/// A class, so that an array can hold a noncopyable listener.
private final class ListenerBox {
    let listener: Listener

    init(_ address: SocketAddress) throws(SystemError) {
        listener = try Listener(address)
    }
}
