import Delivery
import Vocabulary

extension World {
    mutating func happened(_ happening: Happening) {
        switch happening {
        case .turn(let id): turnDue(id)
        case .eventAppended: eventAppended()
        case .episodeBegan(let index): episode(index, begins: true)
        case .episodeEnded(let index): episode(index, begins: false)
        case .faultsEnded: faultsEnded()
        case .connectEnded, .requestEnds, .goAwaySent, .streamLimitChanged, .pingAnswered,
            .connectionEnded:
            peerHappened(happening)
        case .produced(let request): produceReached(request)
        case .deliveryReported(let id, let producer, let tag, let answer):
            deliveryReported(id, producer: producer, tag, answer)
        case .producerFailed: producerFailed()
        case .offsetsFetched(let id, let generation): offsetsFetched(id, generation)
        case .commitReached(let place): commitReached(place)
        case .commitEnded(let place, let isAnswered): commitEnded(place, isAnswered: isAnswered)
        case .transactionalCallMade(let id, let number, let call):
            transactionalCallReached(id, number, call)
        case .transactionalCallEnded(let id, let number, let failure):
            transactionalCallAnswered(id, number, failure)
        case .transactionTimedOut(let place): transactionTimedOut(place)
        case .groupRebalanced: rebalance()
        case .tokenStatusRead(let id, let end): tokenStatusRead(id, upTo: end)
        case .logCut: logIsCut()
        case .logFound(let id, let generation, let partition):
            logFound(id, generation, partition)
        case .schemaAnswered(let id, let schema, let succeeds):
            schemaAnswered(id, schema, succeeds: succeeds)
        case .heartbeatMissed(let id): heartbeatMissed(id)
        case .memberDied: memberDies()
        case .memberRestarted: memberRestarts()
        case .memberFenced: memberIsFenced()
        case .memberStalled: memberStalls()
        case .groupGrew: groupGrows()
        case .groupShrank: groupShrinks()
        case .clockJumped: clockJumps()
        case .campaignOrdered: campaignOrdered()
        case .ordersRead(let id): ordersRead(id)
        case .tallyProduced(let request): tallyReached(request)
        case .tallyReported(let request): tallyReported(request)
        }
    }

    // MARK: Episodes

    private mutating func episode(_ index: Int, begins: Bool) {
        let step = begins ? 1 : -1
        switch plan.episodes[index].kind {
        case .connectionsRefused(let environment):
            apns.refusing[environment, default: 0] += step
            if begins { breakConnections(to: environment) }
            note(.episodeConnectionsRefused, if: begins)
        case .serverErrors(let environment):
            apns.failing[environment, default: 0] += step
            note(.episodeServerErrors, if: begins)
        case .silence(let environment):
            apns.silent[environment, default: 0] += step
            note(.episodeSilence, if: begins)
        case .streamsRefused(let environment):
            apns.refusingStreams[environment, default: 0] += step
            note(.episodeStreamsRefused, if: begins)
        case .streamsReset(let environment):
            apns.resetting[environment, default: 0] += step
            note(.episodeStreamsReset, if: begins)
        case .slowAnswers(let environment):
            apns.slow[environment, default: 0] += step
            note(.episodeSlowAnswers, if: begins)
        case .credentialRevoked(let credential):
            apns.revoked[credential] += step
            note(.episodeCredentialRevoked, if: begins)
        case .tokensCondemned(let environment):
            apns.condemning[environment, default: 0] += step
            note(.episodeTokensCondemned, if: begins)
        case .kafkaDown:
            isKafkaDown += step
            note(.episodeKafkaDown, if: begins)
            if isKafkaDown == 0 { for member in members { wake(member) } }
        case .registryDown:
            isRegistryDown += step
            note(.episodeRegistryDown, if: begins)
        case .slowProduce:
            isProduceSlow += step
            note(.episodeSlowProduce, if: begins)
        case .topicsRefuse(let records):
            if begins {
                refusingTopics.append(records)
            } else if let place = refusingTopics.firstIndex(of: records) {
                refusingTopics.remove(at: place)
            }
            note(.episodeTopicsRefuse, if: begins)
        }
    }

    private mutating func note(_ fact: Coverage.Fact, if condition: Bool) {
        if condition { coverage.note(fact) }
    }

    private mutating func faultsEnded() {
        areFaultsOn = false
        clockError = .zero
        clockJumpedAt = now
        ordersEnd()
    }

    private mutating func clockJumps() {
        again(plan.intervals.clockJump, .clockJumped)
        guard areFaultsOn else { return }
        coverage.note(.clockJumped)
        clockError = .seconds(dice[.faults].number(-120...120))
        clockJumpedAt = now
    }
}
