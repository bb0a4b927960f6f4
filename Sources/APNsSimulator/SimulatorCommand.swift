package import Vocabulary

/// The commands of the control endpoint.
package enum SimulatorCommand: Sendable {
    /// Starts a scenario; connections stay open.
    case replaceScenario(Scenario)
    /// Applies a fault to every open connection, of one environment or (nil) both.
    case fault(ConnectionFault, APNsEnvironment?)
    /// Returns the state of a device; the token is in lower case.
    case device(String)
    /// Takes a device offline (true), or brings it back.
    case setOffline(String, Bool)
    /// Forgets all devices.
    case forgetDevices
    /// Returns the channels of all apps.
    case channels
}

/// The result of a command.
package enum SimulatorReply: Sendable {
    case done
    /// The number of open connections to which a fault was applied.
    case count(Int)
    /// A JSON document.
    case content([UInt8])
    /// The device is unknown.
    case unknown
    /// Devices are not recorded.
    case notRemembered
    /// The simulator has stopped.
    case stopped
}
