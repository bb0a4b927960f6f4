import HTTP2IO
import Vocabulary

/// The simulator's two listeners.
struct Doors: ~Copyable {
    static let wakeupID: UInt64 = 0
    private static let productionID: UInt64 = 1
    private static let sandboxID: UInt64 = 2

    private let production: Listener?
    private let sandbox: Listener?
    let productionPort: UInt16?
    let sandboxPort: UInt16?

    init(production: SocketAddress?, sandbox: SocketAddress?) throws(SystemError) {
        let productionListener = try Self.open(production)
        let sandboxListener = try Self.open(sandbox)
        productionPort = Self.port(of: productionListener)
        sandboxPort = Self.port(of: sandboxListener)
        self.production = productionListener
        self.sandbox = sandboxListener
    }

    /// The listener behind a readiness; nil when it is a connection's.
    static func environment(of id: UInt64) -> APNsEnvironment? {
        switch id {
        case productionID: .production
        case sandboxID: .sandbox
        default: nil
        }
    }

    func register(in loop: borrowing EventLoop) throws(SystemError) {
        switch production {
        case .some(let listener):
            try loop.register(listener.fileDescriptor, id: Self.productionID, interest: .read)
        case .none: break
        }
        switch sandbox {
        case .some(let listener):
            try loop.register(listener.fileDescriptor, id: Self.sandboxID, interest: .read)
        case .none: break
        }
    }

    /// One waiting connection; nil when there is none, or none can be taken now.
    func accept(_ environment: APNsEnvironment) -> AcceptedSocket? {
        do throws(SystemError) {
            switch environment {
            case .production: return try Self.accept(from: production)
            case .sandbox: return try Self.accept(from: sandbox)
            }
        } catch {
            return nil
        }
    }

    private static func accept(
        from listener: borrowing Listener?
    ) throws(SystemError) -> AcceptedSocket? {
        switch listener {
        case .some(let listener): return try listener.accept()
        case .none: return nil
        }
    }

    private static func open(_ address: SocketAddress?) throws(SystemError) -> Listener? {
        guard let address else { return nil }
        return try Listener(address)
    }

    private static func port(of listener: borrowing Listener?) -> UInt16? {
        switch listener {
        case .some(let listener): listener.address.port
        case .none: nil
        }
    }
}
