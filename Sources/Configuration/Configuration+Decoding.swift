package import EventCodec
package import JSON

extension Configuration {
    /// The limits on records that are read as events.
    package var eventLimits: JSONLimits { JSONLimits(maxByteCount: limits.eventBytes) }

    package var payloadPolicy: PayloadPolicy { schemas.payload.policy }
}

extension Configuration.PayloadChecks {
    package var policy: PayloadPolicy {
        switch self {
        case .warn: .warn
        case .strict: .strict
        case .off: .off
        }
    }
}
