"""Experiments 1 to 5 and 16: processes and brokers that crash, restart, join and leave."""

import signal
import time

from harness.deadlines import eventually

from .lab import (
    CRASH_BOUND,
    IN_FLIGHT,
    SESSION_SECONDS,
    SLOW,
    experiment,
    stopwatch,
)


def seconds_to_next_push(simulator, service, seconds=60):
    before = len(simulator.requests())
    with stopwatch() as passed:
        eventually(
            lambda: len(simulator.requests()) > before,
            seconds,
            lambda: f"a push\n{service.child.output()}",
        )
        return passed()


@experiment(1, "SIGKILL in mid-burst")
def sigkill(lab):
    bench, simulator = lab.bench(lab.faulty_broker()), lab.simulator(SLOW)
    settings = bench.slow(simulator)
    kills = lab.size(1, 10)
    service = bench.start(settings).wait_until_ready()
    for _ in range(kills):
        done = bench.kafka.count(bench.topics.results)
        bench.write(2500)
        bench.wait_for_outcomes(done + lab.random.randint(300, 1200), service=service)
        service.child.kill()
        # Otherwise a busy machine may have nothing left to push.
        bench.write(1)
        service = bench.start(settings)
        lab.recovered(seconds_to_next_push(simulator, service), SESSION_SECONDS + 5)
    bench.settle(service)
    lab.account(bench, [simulator], kills * CRASH_BOUND)
    lab.note(f"{kills} kills")


@experiment(2, "SIGTERM under load, and with a silent broker")
def sigterm(lab):
    times = lab.size(3, 20)
    bench, simulator = lab.bench(lab.persistent_broker()), lab.simulator(SLOW)
    settings, slowest = bench.slow(simulator), 0.0
    for _ in range(times):
        service = bench.start(settings).wait_until_ready()
        done = bench.kafka.count(bench.topics.results)
        bench.write(600)
        bench.wait_for_outcomes(done + lab.random.randint(20, 300), service=service)
        with stopwatch() as passed:
            service.drain()
        slowest = max(slowest, passed())
    bench.settle(bench.start(settings).wait_until_ready())
    lab.account(bench, [simulator], 0)
    lab.note(f"{times} times, exit 0 within {slowest:.1f} s")
    sigterm_while_the_broker_is_silent(lab)


def sigterm_while_the_broker_is_silent(lab):
    bench, simulator = lab.bench(lab.faulty_broker()), lab.simulator(SLOW)
    settings = bench.slow(simulator)
    service = bench.start(settings).wait_until_ready()
    bench.write(2500)
    bench.wait_for_share(0.2, service)
    bench.kafka.child.send(signal.SIGSTOP)
    with stopwatch() as passed:
        code = service.child.terminate(120)
    bench.kafka.child.send(signal.SIGCONT)
    assert code == 0, f"exit code {code}: {service.child.output()}"
    service.assert_no_crash()
    lab.wish(passed() <= 25, "exit within 25 s while the broker is silent")
    lab.note(f"silent broker: exit {code} after {passed():.1f} s")
    bench.settle(bench.start(settings))
    lab.account(bench, [simulator], CRASH_BOUND)


@experiment(3, "broker down")
def broker_down(lab):
    bench, simulator = lab.bench(lab.faulty_broker()), lab.simulator(SLOW)
    service = bench.start(bench.slow(simulator)).wait_until_ready()
    outages = lab.size((2, 9), (3, 20, 120))
    for seconds in outages:
        done = bench.kafka.count(bench.topics.results)
        bench.write(1500)
        bench.wait_for_outcomes(done + 300, service=service)
        bench.kafka.cause("down 1")
        time.sleep(seconds)
        bench.kafka.cause("up 1")
        with stopwatch() as passed:
            bench.wait_until_settled(90, service)
        lab.recovered(passed())
    service.drain()
    # A session that ended is started again by the same process, which continues from memory.
    lab.account(bench, [simulator], len(outages) * IN_FLIGHT)
    lab.note(f"outages of {', '.join(map(str, outages))} s; recovery: until everything is committed")


@experiment(4, "producer fails permanently")
def producer_fatal(lab):
    # A round's events are under way for eight seconds, so that the fault meets some.
    bench, simulator = lab.bench(lab.faulty_broker()), lab.simulator({"latency_ms": 400})
    service = bench.start(bench.slow(simulator)).wait_until_ready()
    times = lab.size(2, 20)
    said = "producer failed; creating a new one"
    for number in range(1, times + 1):
        # All at once, so that only the service produces when the fault comes. librdkafka does not
        # treat the fault as fatal if it hits the only request in flight; then another one is
        # injected.
        bench.write(4000)
        bench.wait_for_share((number - 0.9) / number, service)
        with stopwatch() as passed:

            def is_replaced():
                if len(service.log_lines(said)) >= number:
                    return True
                bench.kafka.cause("fail produce 45")
                return False

            eventually(is_replaced, 60, "a new producer", interval=0.5)
            lab.recovered(passed(), 1)
        bench.wait_until_settled(60, service)
    service.drain()
    found, _ = lab.account(bench, [simulator], 0)
    again = len(found) - len(bench.written)
    assert again <= times * IN_FLIGHT, f"{again} outcomes were repeated"
    lab.note(f"{times} producers; {again} outcomes written twice")


@experiment(5, "rebalance storm")
def rebalance_storm(lab):
    bench, simulator = lab.bench(lab.faulty_broker()), lab.simulator(SLOW)
    settings = bench.slow(simulator)
    members = [bench.start(settings) for _ in range(lab.size(2, 3))]
    for member in members:
        member.wait_until_ready(60)
    changes = lab.size(2, 12)
    for number in range(changes):
        bench.write(1000)
        bench.wait_for_share(0.3)
        leaving = members.pop(0)
        members.append(bench.start(settings))
        if number % 2:
            leaving.child.kill()
        else:
            leaving.drain()
        with stopwatch() as passed:
            members[-1].wait_until_ready(60)
            lab.recovered(passed(), 15)
    bench.wait_until_settled(180, members[-1])
    for member in members:
        member.drain()
    # The mock cluster refuses every commit from a join until all members have joined. Events sent
    # meanwhile are sent again, once for each of the two rebalances of a change. The total depends
    # on how long the rebalances take, so the bound is per event.
    _, pushes = lab.account(bench, [simulator], None, per_event=1 + 2 * changes)
    most = max(pushes.values())
    lab.wish(most <= 4, "at most 4 pushes of one event")
    lab.note(f"{changes} changes, at most {most} pushes of one event; this broker refuses commits")


@experiment(16, "soak with random faults")
def soak(lab):
    kafka, simulator = lab.faulty_broker(), lab.simulator({"latency_ms": 20})
    link, url = lab.link(simulator)
    done = []
    # The mock cluster keeps little of a topic, so each round has its own topics.
    for _ in range(lab.size(1, 20)):
        soak_once(lab, kafka, simulator, link, url, done)
    lab.note(f"{len(done)} faults, the first: {', '.join(done[:12])}")


def soak_once(lab, kafka, simulator, link, url, done):
    bench = lab.bench(kafka)
    settings = bench.slow(simulator, url, apns={"request_timeout": "2s"}, retry={"attempts": 50})
    service = bench.start(settings).wait_until_ready()
    end, before = time.monotonic() + 25, len(done)
    while time.monotonic() < end:
        bench.write(300)
        bench.wait_for_share(0.8, service, 90)
        fault = lab.random.choice(("cut", "silence", "broker", "producer", "sigterm", "sigkill"))
        done.append(fault)
        if fault in ("sigterm", "sigkill"):
            service.child.kill() if fault == "sigkill" else service.drain()
            service = bench.start(settings).wait_until_ready(60)
        else:
            disturb(fault, kafka, link)
    bench.settle(service)
    lab.account(bench, [simulator], (len(done) - before) * CRASH_BOUND)


def disturb(fault, kafka, link):
    if fault == "cut":
        link.cut()
    elif fault == "silence":
        link.become("silent")
        time.sleep(1)
        link.become("open", cutting=True)
    elif fault == "broker":
        kafka.cause("down 1")
        time.sleep(1)
        kafka.cause("up 1")
    else:
        kafka.cause("fail produce 45")
