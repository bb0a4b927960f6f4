"""A broker of Apache Kafka, of the version that KAFKA_HOME names, with a listener for each security.

KAFKA_HOME is the folder of a download, or any that has its `libs`.
"""

import contextlib
import dataclasses
import fcntl
import json
import os
import pathlib
import re
import subprocess
import tempfile

from .certificates import openssl
from .kafka import Kafka
from .link import Link
from .ports import reserved_port
from .processes import LEASH, Child, clean_environment
from .tokens import AUDIENCE, ISSUER, Issuer

USER, PASSWORD = "heliograph", "right-password"
# Has no rights but those that a test gives; USER, and clients without a login, have all.
LIMITED = "limited"
USER_OF_SCRAM = f"name={USER},password={PASSWORD}"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
# The name of each listener, and its security protocol. Clients come in by all but the first two.
LISTENERS = {
    "CONTROLLER": "PLAINTEXT",
    "INNER": "PLAINTEXT",
    "PLAIN": "PLAINTEXT",
    "TLS": "SSL",
    "MUTUAL": "SSL",
    "EXPIRED": "SSL",
    "FOREIGN": "SSL",
    "LOGIN": "SASL_PLAINTEXT",
    "TLSLOGIN": "SASL_SSL",
    "SCRAM": "SASL_SSL",
    "TOKEN": "SASL_PLAINTEXT",
    # As REAUTH, with SCRAM; who may log in can be changed.
    "CHANGING": "SASL_PLAINTEXT",
    # It closes the connections of clients that do not log in again every two seconds (KIP-368).
    "REAUTH": "SASL_PLAINTEXT",
    # It advertises an address at which nobody listens.
    "ASTRAY": "PLAINTEXT",
}
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
# A busy machine lets a broker wait for minutes, after which it would give up.
REGISTRATION_TIMEOUT_MS = 600_000
JVM = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRefs = out
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %p %m%n
logger.ready.name = kafka.server.KafkaRaftServer
logger.ready.level = info
"""
# The same, for versions before 4.
LOGGING_BEFORE_4 = """\
log4j.rootLogger=WARN, out
log4j.logger.kafka.server.KafkaRaftServer=INFO
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%p %m%n
"""


def kafka_home():
    """The folder, or None where nobody names one."""
    folder = os.environ.get("KAFKA_HOME")
    return pathlib.Path(folder) if folder else None


def kafka_version():
    """Such as (3, 9, 2)."""
    [name] = (path.stem for path in kafka_home().glob("libs/kafka_2.*.jar"))
    return tuple(int(number) for number in name.rpartition("-")[2].split("."))


class Certificates:
    """An authority, and what it has signed: `name.pem` (key and chain) in its folder."""

    def __init__(self, folder):
        self.folder = folder
        self.authority = folder / "authority.pem"

    def make_authority(self):
        """Makes the folder, too; returns itself."""
        folder = self.folder
        folder.mkdir(parents=True)
        self._new_key("authority.key")
        openssl(
            *("req", "-x509", "-days", 2, "-subj", "/CN=test authority"),
            *("-key", folder / "authority.key", "-out", self.authority),
        )
        (folder / "index.txt").write_text("")
        (folder / "ca.conf").write_text(
            f"[ca]\ndefault_ca = own\n[own]\ndatabase = {folder / 'index.txt'}\n"
            f"new_certs_dir = {folder}\nrand_serial = yes\ndefault_md = sha256\npolicy = any\n"
            f"certificate = {self.authority}\nprivate_key = {folder / 'authority.key'}\n"
            "copy_extensions = copy\nunique_subject = no\n[any]\ncommonName = supplied\n"
        )
        return self

    def _new_key(self, name):
        openssl(
            *("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-out", self.folder / name),
        )

    def sign(self, name, host="IP:127.0.0.1", begins="20200101000000Z", ends="20990101000000Z"):
        """Makes a key and its certificate for the host; returns the file with both."""
        self._new_key(f"{name}.key")
        request, certificate = self.folder / f"{name}.csr", self.folder / f"{name}.crt"
        openssl(
            *("req", "-new", "-subj", f"/CN={name}", "-addext", f"subjectAltName={host}"),
            *("-key", self.folder / f"{name}.key", "-out", request),
        )
        # It keeps a list of what it has signed.
        with _locked(self.folder / "lock"):
            openssl(
                *("ca", "-batch", "-notext", "-config", self.folder / "ca.conf"),
                *("-startdate", begins, "-enddate", ends, "-in", request, "-out", certificate),
            )
        both = self.folder / f"{name}.pem"
        both.write_text((self.folder / f"{name}.key").read_text() + certificate.read_text())
        return both


class Broker:
    """The broker's process, and the folder with what it keeps."""

    def __init__(self, command, data):
        self._command, self._data = command, data
        self.start_again()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._child.__exit__(*exception)

    @property
    def is_running(self):
        return self._child.is_running

    @property
    def pid(self):
        return self._child.pid

    def output(self):
        """What it said."""
        return self._child.output()

    def crash(self):
        self._child.kill()

    def wait_for_end(self, seconds=60):
        """Of itself, as when it cannot write."""
        self._child.wait_for_exit(seconds)

    def stop(self):
        """In order: what it leads and coordinates is handed over first."""
        self._child.terminate(300)

    def send(self, number):
        self._child.send(number)

    def start_again(self):
        self._child = Child(self._command)

    def cut(self, topic, partition, offset):
        """Takes a log's batches from that offset on away, while the broker is down.

        As an unclean leader election does, or a disk that is restored.
        """
        [path] = (self._data / f"{topic}-{partition}").glob("*.log")
        log, place = path.read_bytes(), 0
        while place < len(log) and int.from_bytes(log[place : place + 8], "big") < offset:
            place += 12 + int.from_bytes(log[place + 8 : place + 12], "big")
        os.truncate(path, place)


@dataclasses.dataclass(frozen=True)
class ApacheKafka:
    """A running broker: the tests' own access, its ports by listener, and its certificates."""

    kafka: Kafka
    broker: Broker
    ports: dict
    certificates: Certificates

    def server(self, listener):
        return f"127.0.0.1:{self.ports[listener]}"

    def start_broker_again(self):
        self.broker.start_again()
        self.kafka.wait_for_brokers(1, [self.broker])

    @property
    def issuer(self):
        """Of tokens that the broker takes."""
        return Issuer(self.certificates.folder)

    def tls(self, **more):
        """Properties of a client that trusts the broker's authority."""
        authority = str(self.certificates.authority)
        return {"security.protocol": "ssl", "ssl.ca.location": authority, **more}

    def login(self, **more):
        """Properties of a client with the right name and password, without TLS."""
        return {
            "security.protocol": "sasl_plaintext",
            "sasl.mechanisms": "PLAIN",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
            **more,
        }


def _settings(folder, ports, certificates):
    nowhere = ports["NOWHERE"]
    listeners = {name: f"{name}://127.0.0.1:{ports[name]}" for name in LISTENERS}
    advertised = {**listeners, "ASTRAY": f"ASTRAY://127.0.0.1:{nowhere}"}
    del advertised["CONTROLLER"]
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@127.0.0.1:{ports['CONTROLLER']}",
        "initial.broker.registration.timeout.ms": REGISTRATION_TIMEOUT_MS,
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "INNER",
        "listeners": ",".join(listeners.values()),
        "advertised.listeners": ",".join(advertised.values()),
        "listener.security.protocol.map": ",".join(f"{n}:{p}" for n, p in LISTENERS.items()),
        "log.dirs": folder / "data",
        "num.partitions": 1,
        "offsets.topic.num.partitions": 4,
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.num.partitions": 4,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "group.initial.rebalance.delay.ms": 0,
        "auto.create.topics.enable": "false",
        "log.cleaner.dedupe.buffer.size": 4194304,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:ANONYMOUS;User:{USER}",
        # Whatever its certificate says, it is that user.
        "listener.name.mutual.ssl.principal.mapping.rules": f"RULE:^.*$/{USER}/",
    }
    right = certificates.sign("broker")
    stores = {
        "tls": right,
        "mutual": right,
        "tlslogin": right,
        "scram": right,
        "expired": certificates.sign("expired", ends="20210101000000Z"),
        "foreign": certificates.sign("foreign", host="DNS:kafka.example.com"),
    }
    for name, store in stores.items():
        prefix = f"listener.name.{name}.ssl"
        settings |= {
            f"{prefix}.keystore.type": "PEM",
            f"{prefix}.keystore.location": store,
            f"{prefix}.truststore.type": "PEM",
            f"{prefix}.truststore.location": certificates.authority,
        }
    settings["listener.name.mutual.ssl.client.auth"] = "required"
    settings["listener.name.scram.sasl.enabled.mechanisms"] = ",".join(SCRAM)
    for mechanism in SCRAM:
        settings[f"listener.name.scram.{mechanism.lower()}.sasl.jaas.config"] = SCRAM_MODULE
    for mechanism in SCRAM:
        prefix = f"listener.name.changing.{mechanism.lower()}"
        settings[f"{prefix}.sasl.jaas.config"] = SCRAM_MODULE
        settings[f"{prefix}.connections.max.reauth.ms"] = 2000
    settings["listener.name.changing.sasl.enabled.mechanisms"] = ",".join(SCRAM)
    oauth = "org.apache.kafka.common.security.oauthbearer"
    prefix = "listener.name.token"
    settings |= {
        f"{prefix}.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{prefix}.oauthbearer.sasl.jaas.config": f"{oauth}.OAuthBearerLoginModule required;",
        f"{prefix}.oauthbearer.sasl.server.callback.handler.class": (
            f"{oauth}.OAuthBearerValidatorCallbackHandler"
        ),
        f"{prefix}.oauthbearer.connections.max.reauth.ms": 3_600_000,
        f"{prefix}.sasl.oauthbearer.jwks.endpoint.url": f"file://{certificates.folder}/jwks.json",
        f"{prefix}.sasl.oauthbearer.expected.audience": AUDIENCE,
        f"{prefix}.sasl.oauthbearer.expected.issuer": ISSUER,
    }
    settings["listener.name.reauth.plain.connections.max.reauth.ms"] = 2000
    for name in ("login", "tlslogin", "reauth"):
        prefix = f"listener.name.{name}"
        settings |= {
            f"{prefix}.sasl.enabled.mechanisms": "PLAIN",
            f"{prefix}.plain.sasl.jaas.config": (
                "org.apache.kafka.common.security.plain.PlainLoginModule required "
                f'user_{USER}="{PASSWORD}" user_{LIMITED}="{PASSWORD}";'
            ),
        }
    return settings


def _formatted(folder, settings, jvm=JVM):
    """Writes the settings down and formats the broker's folder; returns the command to run it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "server.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    (folder / "log4j2.properties").write_text(LOGGING)
    (folder / "log4j.properties").write_text(LOGGING_BEFORE_4)
    words = ["format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(path)]
    for mechanism in SCRAM:
        words += ["--add-scram", f"{mechanism}=[{USER_OF_SCRAM}]"]
    _java("kafka.tools.StorageTool", *words)
    # Of other URLs Kafka takes no keys.
    keys = settings.get("listener.name.token.sasl.oauthbearer.jwks.endpoint.url", "")
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys}"
    logging = (
        f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}",
        f"-Dlog4j.configuration=file:{folder / 'log4j.properties'}",
    )
    # A broker that is killed leaves the libraries that it has unpacked.
    unpacked = f"-Djava.io.tmpdir={folder}"
    return ["java", *jvm, allowed, unpacked, *logging, "-cp", _classes(), "kafka.Kafka", str(path)]


def _classes():
    return f"{kafka_home()}/libs/*"


def _java(tool, *words):
    """Runs one of Kafka's own tools; what it prints."""
    command = [*LEASH, "java", *JVM, "-cp", _classes(), tool, *words]
    ended = subprocess.run(command, capture_output=True, text=True, env=clean_environment())
    assert ended.returncode == 0, f"{tool}: {ended.stdout}{ended.stderr}"
    return ended.stdout


@contextlib.contextmanager
def _locked(path):
    """Alone among all processes that name the file."""
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _one_start_at_a_time():
    """A JVM that starts takes a core for seconds: several keep each other from any answer."""
    return _locked(pathlib.Path(os.environ["TMPDIR"]) / "apache-kafka.lock")


@dataclasses.dataclass(frozen=True)
class ApacheCluster:
    """Running brokers, by their numbers."""

    kafka: Kafka
    brokers: dict
    # Those between clients and brokers, if there are any.
    links: dict

    def controller(self):
        """The number of the broker that is the active controller."""
        words = ["--bootstrap-server", self.kafka.bootstrap_servers, "describe", "--status"]
        told = _java("org.apache.kafka.tools.MetadataQuorumCommand", *words)
        [number] = re.findall(r"^LeaderId:\s+(\d+)$", told, re.M)
        return int(number)

    def reassign(self, topic, brokers):
        """Has these brokers, and no others, hold all partitions of the topic."""
        partitions = [
            {"topic": topic, "partition": partition, "replicas": brokers}
            for partition in self.kafka.partitions(topic)
        ]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"version": 1, "partitions": partitions}, file)
            file.flush()
            words = ["--bootstrap-server", self.kafka.bootstrap_servers, "--execute"]
            tool = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
            _java(tool, *words, "--reassignment-json-file", file.name)

    def wait_until_whole(self):
        """Until all brokers have registered, and each partition has all its replicas in sync."""
        self.kafka.wait_for_brokers(len(self.brokers), self.brokers.values())
        self.kafka.wait_until_in_sync()


@contextlib.contextmanager
def running_apache_cluster(folder, count=3, has_links=False, link=Link):
    """Brokers that hold all topics together, without TLS and logins; ends them afterwards.

    Services reach them through links, if there are to be any; brokers reach each other, and tests
    reach them, without.
    """
    numbers = range(1, count + 1)
    with contextlib.ExitStack() as stack:
        ports = {n: [stack.enter_context(reserved_port()) for _ in range(3)] for n in numbers}
        voters = ",".join(f"{n}@127.0.0.1:{ports[n][0]}" for n in numbers)
        servers = ",".join(f"127.0.0.1:{ports[n][1]}" for n in numbers)
        links = {n: stack.enter_context(contextlib.closing(link(ports[n][2]))) for n in numbers}
        outer = ",".join(f"127.0.0.1:{link.port}" for link in links.values())
        with _one_start_at_a_time():
            commands = {
                n: _formatted(
                    folder / f"{n}",
                    _plain(folder / f"{n}", n, [*ports[n], links[n].port], voters, count),
                )
                for n in numbers
            }
            brokers = {
                n: stack.enter_context(Broker(command, folder / f"{n}" / "data"))
                for n, command in commands.items()
            }
            kafka = Kafka(
                servers,
                outer if has_links else None,
                is_real=True,
                replication=count,
            )
            stack.enter_context(contextlib.closing(kafka))
            kafka.wait_for_brokers(count, brokers.values())
        yield ApacheCluster(kafka, brokers, links)


def _plain(folder, number, ports, voters, count):
    """`ports`: of each listener, and of the link to the last."""
    names = ("CONTROLLER", "PLAIN", "LINKED")
    return {
        "process.roles": "broker,controller",
        "node.id": number,
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAIN",
        "listeners": ",".join(f"{n}://127.0.0.1:{p}" for n, p in zip(names, ports)),
        "advertised.listeners": f"PLAIN://127.0.0.1:{ports[1]},LINKED://127.0.0.1:{ports[3]}",
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
        "log.dirs": folder / "data",
        "min.insync.replicas": 2,
        "initial.broker.registration.timeout.ms": REGISTRATION_TIMEOUT_MS,
        "offsets.topic.num.partitions": 4,
        "offsets.topic.replication.factor": count,
        "transaction.state.log.num.partitions": 4,
        "transaction.state.log.replication.factor": count,
        "transaction.state.log.min.isr": 2,
        "group.initial.rebalance.delay.ms": 0,
        "auto.create.topics.enable": "false",
        "log.cleaner.dedupe.buffer.size": 4194304,
    }


@contextlib.contextmanager
def running_plain_broker(folder, jvm):
    """One broker without TLS and logins, whose JVM has these options; ends it afterwards."""
    with contextlib.ExitStack() as stack:
        ports = [stack.enter_context(reserved_port()) for _ in range(3)]
        settings = _plain(folder, 1, [*ports, ports[2]], f"1@127.0.0.1:{ports[0]}", 1)
        settings["min.insync.replicas"] = 1
        command = _formatted(folder, settings, jvm)
        broker = stack.enter_context(Broker(command, folder / "data"))
        kafka = Kafka(f"127.0.0.1:{ports[1]}", is_real=True)
        stack.enter_context(contextlib.closing(kafka))
        kafka.wait_for_brokers(1, [broker])
        yield kafka


@contextlib.contextmanager
def running_apache_kafka(folder, **more):
    """Formats and starts a broker, with more settings; ends it, and the tests' client, afterwards.

    A setting's dots are underscores.
    """
    with _one_start_at_a_time(), contextlib.ExitStack() as stack:
        broker, ports = stack.enter_context(_started(folder, more))
        apache = stack.enter_context(_reached(folder, ports, broker))
        kept = stack.pop_all()
    with kept:
        yield apache


@contextlib.contextmanager
def shared_apache_kafka(folder):
    """Starts a broker that other processes reach with what is yielded; ends it afterwards."""
    with _started(folder, {}) as (broker, ports):
        yield json.dumps({"folder": str(folder), "ports": ports})
        if not broker.is_running:
            print(f"the broker that all workers share ended: {broker.output()}")


@contextlib.contextmanager
def reached_apache_kafka(shared):
    """The broker that another process has started; nobody here can crash it."""
    with _reached(**json.loads(shared), broker=None) as apache:
        yield apache


@contextlib.contextmanager
def _started(folder, more):
    """A broker's process and its ports by listener; it may not answer yet."""
    folder = pathlib.Path(folder)
    certificates = Certificates(folder / "certificates").make_authority()
    Issuer(certificates.folder).make_key()
    with contextlib.ExitStack() as stack:
        ports = {name: stack.enter_context(reserved_port()) for name in [*LISTENERS, "NOWHERE"]}
        settings = _settings(folder, ports, certificates)
        settings |= {name.replace("_", "."): value for name, value in more.items()}
        yield stack.enter_context(Broker(_formatted(folder, settings), folder / "data")), ports


@contextlib.contextmanager
def _reached(folder, ports, broker):
    kafka = Kafka(f"127.0.0.1:{ports['PLAIN']}", is_real=True)
    with contextlib.closing(kafka):
        kafka.wait_for_brokers(1, [broker] if broker else [])
        certificates = Certificates(pathlib.Path(folder) / "certificates")
        yield ApacheKafka(kafka, broker, ports, certificates)
