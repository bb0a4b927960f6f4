import CRdkafka
import Synchronization

/// The broker addresses (host and port) to which any client of this process has connected.
///
/// Shared by the process, because clients come and go, and the knowledge outlives them.
enum WorkingAddresses {
    /// Brokers whose addresses change with each restart must not fill the memory.
    private static let limit = 1000
    private static let known = Mutex<Set<String>>([])

    static func contains(_ address: String) -> Bool {
        known.withLock { $0.contains(address) }
    }

    /// Observes the connections of the instance that is created with this configuration.
    static func listen(to conf: OpaquePointer?) {
        // The library accepts this interceptor only from within the `on_new` interceptor.
        unsafe rd_kafka_conf_interceptor_add_on_new(
            conf,
            "addresses",
            { instance, _, _, _, _ in
                unsafe rd_kafka_interceptor_add_on_broker_state_change(
                    instance,
                    "addresses",
                    { _, _, _, host, port, state, _ in
                        guard let host = unsafe host, let state = unsafe state,
                            unsafe String(cString: state) == "UP"
                        else { return RD_KAFKA_RESP_ERR_NO_ERROR }
                        WorkingAddresses.note("\(unsafe String(cString: host)):\(port)")
                        return RD_KAFKA_RESP_ERR_NO_ERROR
                    },
                    nil
                )
            },
            nil
        )
    }

    private static func note(_ address: String) {
        known.withLock { known in
            if known.count < limit { known.insert(address) }
        }
    }
}
