import Vocabulary

/// How the loop runs the commands of the control endpoint.
extension SimulatorLoop {
    func obeyCommands() {
        for waiting in shared.takeCommands() {
            waiting.reply(obey(waiting.command))
        }
    }

    private func obey(_ command: SimulatorCommand) -> SimulatorReply {
        switch command {
        case .replaceScenario(let scenario):
            return begin(scenario)
        case .fault(let fault, let environment):
            return befall(fault, environment)
        case .device(let token):
            guard let devices = judge.devices else { return .notRemembered }
            guard let state = devices.state(of: Array(token.utf8)) else { return .unknown }
            return .content(state.json)
        case .setOffline(let token, let isOffline):
            guard judge.devices != nil else { return .notRemembered }
            judge.setOffline(Array(token.utf8), isOffline, now: now)
            return .done
        case .forgetDevices:
            judge.devices?.forget()
            return .done
        case .channels: return .content(judge.channels.json)
        }
    }

    private func begin(_ scenario: Scenario) -> SimulatorReply {
        judge = judge.beginning(scenario, configuration.strictness)
        settings = scenario.settings ?? configuration.settings
        writer.adopt(judge.strictness)
        nextIdleLook = nil
        return .done
    }

    private func befall(
        _ fault: ConnectionFault,
        _ environment: APNsEnvironment?
    ) -> SimulatorReply {
        let all = connections.values.sorted { $0.id < $1.id }
        var count = 0
        for connection in all
        where environment == nil || connection.door.environment == environment {
            connection.suffer(fault)
            touch(connection)
            count += 1
        }
        return .count(count)
    }
}
