import CRdkafka
import Synchronization

/// The brokers' addresses, host and port, that any client of this process has been connected to.
///
/// Of the process, because clients come and go, and what one has learned is true for the next.
enum WorkingAddresses {
    /// Brokers whose addresses change with each restart must not fill the memory.
    private static let limit = 1000
    private static let known = Mutex<Set<String>>([])

    static func contains(_ address: String) -> Bool {
        known.withLock { $0.contains(address) }
    }

    /// Hears of the connections of the instance that is made with these properties.
    static func listen(to conf: OpaquePointer?) {
        // The library takes this interceptor in the one for new instances only.
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
