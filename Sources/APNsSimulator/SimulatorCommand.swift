package import Vocabulary

/// The commands of the control endpoint.
package enum SimulatorCommand: Sendable {
    /// Restarts a scenario; connections stay.
    case replaceScenario(Scenario)
    /// Something befalls every open connection, of one environment or of both.
    case fault(ConnectionFault, APNsEnvironment?)
    /// Reports what a device has; the token in lower case.
    case device(String)
    /// Takes a device off the net, or brings it back.
    case setOffline(String, Bool)
    /// Forgets every device.
    case forgetDevices
    /// Reports the channels of all apps.
    case channels
}

/// The result of a command.
package enum SimulatorReply: Sendable {
    case done
    /// Open connections that a fault has befallen.
    case count(Int)
    /// JSON.
    case content([UInt8])
    /// There is no such device.
    case unknown
    /// Devices are not remembered.
    case notRemembered
    /// The simulator has stopped.
    case stopped
}
