"""Key and certificate files in every form that users have: unambiguous ones are read, others are named.

The openssl command makes the files. Each row is one file, or several that belong together, and the
whole line that `heliograph check` prints; None means that they are valid.
"""

import base64
import dataclasses
import re
import subprocess
from datetime import UTC, datetime, timedelta

import pytest

from harness.commands import run_command

CERTIFICATE = "apns.credentials.0.certificate_file"
KEY = "apns.credentials.0.key_file"
PRIVATE_KEY = "apns.credentials.0.private_key_file"
# The key's place in the configuration.
PLACE = re.compile(r" \(\S+/command\.yaml:\d+:\d+\)$")
PASSPHRASE = "apns.credentials.0.passphrase_file"
P8 = "expected the .p8 private key from Apple"
UTF16 = f"is text in UTF-16; {P8}; save it as UTF-8"
SUBJECT = ("-subj", "/UID=com.example.App/CN=Apple Push Services: com.example.App")
LEGACY = ("-provider", "legacy", "-provider", "default")


class Made:
    """Files made by the openssl command, by name."""

    def __init__(self, folder):
        self.folder = folder
        self("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "p8")
        self("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384", "-out", "p384")
        self("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "other")
        self("pkey", "-in", "other", "-outform", "DER", "-out", "other.der")
        self("genpkey", "-algorithm", "RSA", "-out", "rsa")
        self("genpkey", "-algorithm", "ED25519", "-out", "ed25519")
        self("pkey", "-in", "p8", "-traditional", "-out", "sec1")
        self("pkey", "-in", "rsa", "-traditional", "-out", "pkcs1")
        self("pkey", "-in", "p8", "-pubout", "-out", "public")
        self("pkey", "-in", "p8", "-pubout", "-outform", "DER", "-out", "public.der")
        self("pkey", "-in", "p8", "-outform", "DER", "-out", "p8.der")
        self("req", "-new", "-key", "p8", "-subj", "/CN=x", "-out", "request")
        self("req", "-new", "-key", "p8", "-subj", "/CN=x", "-outform", "DER", "-out", "request.der")
        for name in ("rsa", "p8"):
            self.certify(name, f"{name}.pem", 3650)
        self("x509", "-in", "rsa.pem", "-outform", "DER", "-out", "rsa.cer")
        self.encrypt("aes", "pkcs8", "-topk8", "-in", "rsa", "-v2", "aes-256-cbc")
        self.encrypt("md5-des", "pkcs8", "-topk8", "-in", "rsa", "-v1", "PBE-MD5-DES", *LEGACY)
        self.encrypt("rc2", "pkcs8", "-topk8", "-in", "rsa", "-v1", "PBE-SHA1-RC2-40", *LEGACY)
        self.encrypt("des", "rsa", "-in", "rsa", "-des", "-traditional", *LEGACY)
        self.encrypt("des3", "rsa", "-in", "rsa", "-des3", "-traditional")
        self.encrypt("p8.aes", "pkcs8", "-topk8", "-in", "p8", "-v2", "aes-256-cbc")
        self.encrypt("aes.der", "pkcs8", "-topk8", "-in", "rsa", "-outform", "DER")
        pair = ("-inkey", "rsa", "-in", "rsa.pem")
        self.encrypt("p12", "pkcs12", "-export", *pair)
        self.encrypt("legacy.p12", "pkcs12", "-export", "-legacy", *pair)
        self.encrypt("keyless.p12", "pkcs12", "-export", "-nokeys", "-in", "rsa.pem")
        self("crl2pkcs7", "-nocrl", "-certfile", "rsa.pem", "-out", "p7")
        self("crl2pkcs7", "-nocrl", "-certfile", "rsa.pem", "-outform", "DER", "-out", "p7.der")
        self.validity()

    def __call__(self, *arguments):
        subprocess.run(
            ["openssl", *arguments], cwd=self.folder, check=True, capture_output=True, timeout=60
        )

    def encrypt(self, name, *arguments):
        self(*arguments, "-passout", "pass:opensesame", "-out", name)

    def certify(self, key, name, days):
        self("req", "-x509", "-new", "-key", key, *SUBJECT, "-days", str(days), "-out", name)

    def validity(self):
        """Certificates from and until other times than now: only `openssl ca` sets both."""
        (self.folder / "index.txt").write_text("")
        (self.folder / "ca.cnf").write_text(
            "[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\nnew_certs_dir=.\nrand_serial=yes\n"
            "default_md=sha256\npolicy=p\nunique_subject=no\n[p]\ncommonName=supplied\nUID=supplied\n"
        )
        self("req", "-new", "-key", "rsa", *SUBJECT, "-out", "rsa.req")
        nearly_nine_days = datetime.now(UTC) + timedelta(days=8, hours=23)
        times = {
            "soon": ("20200101000000Z", f"{nearly_nine_days:%Y%m%d%H%M%SZ}"),
            "expired": ("20200101000000Z", "20210101000000Z"),
            "early": ("21000101000000Z", "21010101000000Z"),
        }
        for name, (start, end) in times.items():
            self(
                *("ca", "-batch", "-config", "ca.cnf", "-selfsign", "-in", "rsa.req"),
                *("-keyfile", "rsa", "-startdate", start, "-enddate", end, "-notext"),
                *("-out", f"{name}.pem"),
            )

    def __getitem__(self, name):
        return (self.folder / name).read_bytes()

    def text(self, name):
        return self[name].decode()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Made(tmp_path_factory.mktemp("keys"))


@dataclasses.dataclass(frozen=True)
class Row:
    """`files`: bytes by the credential's key, without `_file`; built from the openssl files."""

    name: str
    files: object
    line: str | None = None
    warning: str | None = None


def key(name, content, line=None):
    """A file used as `key_file`."""
    said = None if line is None else f"{KEY}: 'FOLDER/key' {line}"
    return Row(f"key-{name}", lambda made: {"key": content(made)}, said)


def certificate(name, content, line=None, blamed=CERTIFICATE, warning=None):
    """Files of a certificate credential."""
    file = blamed.rsplit(".", 1)[-1].removesuffix("_file")
    said = None if line is None else f"{blamed}: 'FOLDER/{file}' {line}"
    warned = warning and f"warning: {CERTIFICATE}: 'FOLDER/certificate' {warning}"
    return Row(f"certificate-{name}", content, said, warned)


def body(made, name="p8"):
    return "".join(made.text(name).splitlines()[1:-1])


def shortened(pem):
    """A PEM file without its last line of Base64."""
    lines = pem.split(b"\n")
    return b"\n".join(lines[:-3] + lines[-2:])


def mismatched(made):
    """The private half of one key and the public half of another, in PEM."""
    content = base64.encodebytes(made["p8.der"][:-64] + made["other.der"][-64:])
    return b"-----BEGIN EC PRIVATE KEY-----\n" + content + b"-----END EC PRIVATE KEY-----\n"


def one_line(text, end):
    return text.strip().replace("\n", end).encode()


SIGNING_KEYS = [
    key("as-apple-gives-it", lambda m: m["p8"]),
    key("sec1", lambda m: m["sec1"]),
    key("sec1-behind-its-parameters", lambda m: PARAMETERS + m["sec1"]),
    key("windows-lines", lambda m: m["p8"].replace(b"\n", b"\r\n")),
    key("old-mac-lines", lambda m: m["p8"].replace(b"\n", b"\r")),
    key("indented", lambda m: m["p8"].replace(b"\n", b"\n    ")),
    key("tabs-and-blank-lines", lambda m: m["p8"].replace(b"\n", b"\n\n\t")),
    key("one-line-with-spaces", lambda m: one_line(m.text("p8"), " ")),
    key("one-line-without", lambda m: one_line(m.text("p8"), "")),
    key("written-line-ends", lambda m: one_line(m.text("p8"), "\\n")),
    key("written-windows-line-ends", lambda m: one_line(m.text("p8"), "\\r\\n")),
    key("in-quotes", lambda m: b'"' + m["p8"].strip() + b'"\n'),
    key("in-quotes-on-one-line", lambda m: b"'" + one_line(m.text("p8"), "\\n") + b"'"),
    key("byte-order-mark", lambda m: b"\xef\xbb\xbf" + m["p8"]),
    key("words-around-it", lambda m: b"Bag Attributes\n  x: y\n" + m["p8"] + b"\nbye\n"),
    key("beside-its-certificate", lambda m: m["p8.pem"] + m["p8"]),
    key("damaged", mismatched, f"is a damaged private key; {P8}"),
    key("two", lambda m: m["p8"] + m["sec1"], "holds 2 private keys; keep one"),
    key(
        "encrypted",
        lambda m: m["p8.aes"],
        "is an encrypted private key; decrypt it with 'openssl pkey'",
    ),
    key("certificate", lambda m: m["rsa.pem"], f"is a certificate; {P8}"),
    key("certificate-request", lambda m: m["request"], f"is a certificate request; {P8}"),
    key("public-key", lambda m: m["public"], f"is a public key; {P8}"),
    key("pkcs12", lambda m: m["p12"], f"is a PKCS#12 file; {P8}"),
    key("pkcs7", lambda m: m["p7"], f"is a PEM file with 'PKCS7'; {P8}"),
    key(
        "der",
        lambda m: m["p8.der"],
        f"is a private key in DER; {P8}; convert it with 'openssl pkey -inform DER'",
    ),
    key("public-der", lambda m: m["public.der"], f"is a public key in DER; {P8}"),
    key("request-der", lambda m: m["request.der"], f"is a certificate request in DER; {P8}"),
    key("pkcs7-der", lambda m: m["p7.der"], f"is a CMS or PKCS#7 file; {P8}"),
    key(
        "der-cut-short",
        lambda m: m["p8.der"][:100],
        f"is DER cut short (100 of 121 bytes); {P8}",
    ),
    key(
        "base64-alone",
        lambda m: body(m).encode(),
        f"is Base64 without the lines '-----BEGIN ...-----' and '-----END ...-----'; {P8}",
    ),
    key(
        "base64-of-pem",
        lambda m: base64.b64encode(m["p8"]),
        f"is Base64 of a PEM file; {P8}; decode it again",
    ),
    key(
        "base64-of-pkcs12",
        lambda m: base64.encodebytes(m["p12"]),
        f"is Base64 of a PKCS#12 file; {P8}; decode it",
    ),
    key("utf-16", lambda m: m.text("p8").encode("utf-16"), UTF16),
    key("utf-16-without-mark", lambda m: m.text("p8").encode("utf-16-be"), UTF16),
    key("web-page", lambda m: b"<!DOCTYPE html><html></html>", f"is a web page or XML; {P8}"),
    key("json", lambda m: b'{"type": "service_account"}', f"is JSON; {P8}"),
    key("archive", lambda m: b"PK\x03\x04rest", f"is a ZIP archive; {P8}"),
    key("ssh", lambda m: b"ssh-ed25519 AAAAC3Nza me@home", f"is an SSH public key; {P8}"),
    key("white-space", lambda m: b" \n\n", f"is empty; {P8}"),
    key("prose", lambda m: b"AuthKey_ABC123DEFG", f"is not PEM; {P8}"),
    key(
        "four-hyphens",
        lambda m: m["p8"].replace(b"-----", b"----"),
        "is not PEM (its lines 'BEGIN' and 'END' need five hyphens on each side); " + P8,
    ),
    key(
        "without-its-end",
        lambda m: m["p8"].rsplit(b"\n", 2)[0],
        "is cut short: '-----END PRIVATE KEY-----' is missing",
    ),
    key(
        "without-its-begin",
        lambda m: m["p8"].split(b"\n", 1)[1],
        "is cut short: '-----BEGIN PRIVATE KEY-----' is missing",
    ),
    key(
        "without-its-middle-line",
        lambda m: b"\n".join(m["p8"].split(b"\n")[:2] + m["p8"].split(b"\n")[3:]),
        "is cut short: 90 of 138 bytes are there",
    ),
    key(
        "without-its-last-line",
        lambda m: shortened(m["p8"]),
        "is cut short: 96 of 138 bytes are there",
    ),
    key(
        "with-another-end",
        lambda m: m["p8"].replace(b"END PRIVATE", b"END EC PRIVATE"),
        "is damaged: '-----BEGIN PRIVATE KEY-----' ends with '-----END EC PRIVATE KEY-----'",
    ),
    key(
        "with-dots",
        lambda m: m["p8"].replace(body(m)[20:30].encode(), b"..."),
        "is damaged: 'PRIVATE KEY' has a character that is not Base64",
    ),
    key("p-384", lambda m: m["p384"], f"is a key on the curve secp384r1; {P8}"),
    key("rsa", lambda m: m["rsa"], f"is a key for RSA; {P8}"),
    key("ed25519", lambda m: m["ed25519"], f"is a key for ED25519; {P8}"),
]

KEY_IDS = [
    Row("key-id", lambda m: {"key": m["p8"], "key_id": b"ABC123DEFG"}),
    Row(
        "key-id-with-mark-and-blanks",
        lambda m: {"key": m["p8"], "key_id": b"\xef\xbb\xbf ABC123DEFG \r\n"},
    ),
    Row(
        "name-of-the-key-file",
        lambda m: {"key": m["p8"], "key_id": b"AuthKey_ABC123DEFG.p8\n"},
        "apns.credentials.0.key_id_file: 'FOLDER/key_id' holds 'AuthKey_ABC123DEFG.p8'; expected "
        "10 characters of A-Z and 0-9, as Apple shows them",
    ),
    Row(
        "key-in-place-of-its-id",
        lambda m: {"key": m["p8"], "key_id": m["p8"]},
        "apns.credentials.0.key_id_file: 'FOLDER/key_id' holds a text of 240 bytes (not shown); "
        "expected 10 characters of A-Z and 0-9, as Apple shows them",
    ),
]

PARAMETERS = b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
WANTED = "expected a certificate in PEM or PKCS#12"
SESAME = b"opensesame\n"


def with_key(content, private_key="rsa", **more):
    """A certificate's file, its key's, and optionally the passphrase."""
    return lambda made: {"certificate": content(made), "private_key": made[private_key], **more}


CERTIFICATES = [
    certificate("and-its-key", with_key(lambda m: m["rsa.pem"])),
    certificate("and-its-older-key", with_key(lambda m: m["rsa.pem"], "pkcs1")),
    certificate("both-in-one", lambda m: {"certificate": m["rsa.pem"] + m["rsa"]}),
    certificate("key-first", lambda m: {"certificate": m["rsa"] + m["rsa.pem"]}),
    certificate("behind-its-issuer", with_key(lambda m: m["p8.pem"] + m["rsa.pem"])),
    certificate(
        "on-one-line", with_key(lambda m: one_line(m.text("rsa.pem"), "\\n"))
    ),
    *[
        certificate(f"key-by-{name}", with_key(lambda m: m["rsa.pem"], name, passphrase=SESAME))
        for name in ("aes", "des3", "des", "md5-des", "rc2")
    ],
    *[
        certificate(f"{name}", lambda m, name=name: {"certificate": m[name], "passphrase": SESAME})
        for name in ("p12", "legacy.p12")
    ],
    certificate("p12-and-its-key", with_key(lambda m: m["p12"], passphrase=SESAME)),
    certificate("keyless-p12-and-key", with_key(lambda m: m["keyless.p12"], passphrase=SESAME)),
    certificate(
        "passphrase-behind-a-mark",
        with_key(lambda m: m["rsa.pem"], "aes", passphrase=b"\xef\xbb\xbfopensesame\r\n"),
    ),
    certificate(
        "p12-and-another-key",
        with_key(lambda m: m["p12"], "p8", passphrase=SESAME),
        "does not match the certificate",
        PRIVATE_KEY,
    ),
    certificate(
        "and-another-key",
        with_key(lambda m: m["rsa.pem"], "p8"),
        "does not match the certificate",
        PRIVATE_KEY,
    ),
    certificate(
        "another-key-in-one",
        lambda m: {"certificate": m["rsa.pem"] + m["p8"]},
        "holds a private key that does not match its certificate",
    ),
    certificate(
        "encrypted-key-without-passphrase",
        with_key(lambda m: m["rsa.pem"], "aes"),
        "is an encrypted private key; set passphrase_file",
        PRIVATE_KEY,
    ),
    certificate(
        "encrypted-key-in-one-without-passphrase",
        lambda m: {"certificate": m["rsa.pem"] + m["aes"]},
        "holds an encrypted private key; set passphrase_file",
    ),
    certificate(
        "two-keys-in-one",
        lambda m: {"certificate": m["rsa.pem"] + m["rsa"] + m["p8"]},
        "holds 2 private keys; keep one",
    ),
    certificate(
        "key-in-one-cut-short",
        lambda m: {"certificate": m["rsa.pem"] + shortened(m["p8"])},
        "holds a private key that is cut short: 96 of 138 bytes are there",
    ),
    certificate(
        "wrong-passphrase",
        with_key(lambda m: m["rsa.pem"], "aes", passphrase=b"sesame"),
        "does not open the private key",
        PASSPHRASE,
    ),
    certificate(
        "wrong-passphrase-of-an-older-key",
        with_key(lambda m: m["rsa.pem"], "des", passphrase=b"sesame"),
        "does not open the private key (DES-CBC)",
        PASSPHRASE,
    ),
    certificate(
        "p12-without-passphrase",
        lambda m: {"certificate": m["p12"]},
        "is an encrypted PKCS#12 file; set passphrase_file",
    ),
    certificate(
        "p12-with-wrong-passphrase",
        lambda m: {"certificate": m["p12"], "passphrase": b"sesame"},
        "does not open the PKCS#12 file",
        PASSPHRASE,
    ),
    certificate(
        "p12-cut-short",
        lambda m: {"certificate": m["p12"][:200], "passphrase": SESAME},
        f"is DER cut short (200 of LENGTH bytes); {WANTED}",
    ),
    certificate(
        "keyless-p12",
        lambda m: {"certificate": m["keyless.p12"], "passphrase": SESAME},
        "holds no private key; set private_key_file",
    ),
    certificate(
        "alone",
        lambda m: {"certificate": m["rsa.pem"]},
        "holds no private key; set private_key_file",
    ),
    certificate(
        "der",
        with_key(lambda m: m["rsa.cer"]),
        f"is a certificate in DER; {WANTED}; convert it with 'openssl x509 -inform DER'",
    ),
    certificate("key-twice", with_key(lambda m: m["rsa"]), f"is a private key; {WANTED}"),
    certificate(
        "certificate-twice",
        lambda m: {"certificate": m["rsa.pem"], "private_key": m["rsa.pem"]},
        "is a certificate; expected the certificate's private key in PEM",
        PRIVATE_KEY,
    ),
    certificate(
        "key-in-der",
        with_key(lambda m: m["rsa.pem"], "aes.der", passphrase=SESAME),
        "is an encrypted private key in DER; expected the certificate's private key in PEM; "
        "convert it with 'openssl pkey -inform DER'",
        PRIVATE_KEY,
    ),
    certificate(
        "without-its-first-line",
        with_key(lambda m: m["rsa.pem"].split(b"\n", 1)[1]),
        "is cut short: '-----BEGIN CERTIFICATE-----' is missing",
    ),
    certificate(
        "second-damaged",
        with_key(lambda m: m["rsa.pem"] + m["p8.pem"].replace(b"MII", b"MAI", 1)),
        "holds 2 certificates, and number 2 is damaged: bytes follow its end",
    ),
    certificate(
        "expired",
        with_key(lambda m: m["expired.pem"]),
        "expired at 2021-01-01T00:00:00Z; renew it",
    ),
    certificate(
        "not-yet-valid",
        with_key(lambda m: m["early.pem"]),
        "is not valid before 2100-01-01T00:00:00Z; check this machine's clock",
    ),
    certificate("soon-expired", with_key(lambda m: m["soon.pem"]), warning="expires in 8 days, at END"),
]


def settings(folder, files, certificate):
    """A configuration with one credential that uses these files."""
    credential = {"name": "app", "bundle_ids": ["com.example.App"]}
    if not certificate:
        credential |= {"team_id": "DEF123GHIJ", "key_id": "ABC123DEFG"}
    for name, content in files.items():
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o600)
        credential[f"{name}_file"] = str(folder / name)
        credential.pop(name, None)
    return {"apns": {"credentials": [credential]}}


@pytest.mark.parametrize("row", SIGNING_KEYS + KEY_IDS + CERTIFICATES, ids=lambda row: row.name)
def test_a_key_file_is_read_or_its_problem_named(row, made, tmp_path):
    files = row.files(made)
    ended = run_command(tmp_path, settings(tmp_path, files, "certificate" in files), "check")
    said = [line.removeprefix("heliograph: ").replace(str(tmp_path), "FOLDER") for line in ended.err]
    placed = [PLACE.subn("", line) for line in said]
    # The last line of a success has none.
    assert all(count == 1 for _, count in placed[: len(placed) - (ended.code == 0)]), said
    said = [line for line, _ in placed]
    if row.line:
        assert said == [row.line.replace("LENGTH", str(len(made["p12"])))]
        assert ended.code == 1
        return
    warned = said[:-1]
    if row.warning:
        end = made_end(made, "soon.pem")
        assert warned == [row.warning.replace("END", end)]
    else:
        assert warned == []
    assert said[-1] == "configuration, keys and files are valid"
    assert ended.code == 0


def made_end(made, name):
    shown = subprocess.run(
        ["openssl", "x509", "-in", name, "-noout", "-enddate", "-dateopt", "iso_8601"],
        cwd=made.folder,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout
    return shown.strip().removeprefix("notAfter=").replace(" ", "T", 1)


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o644, 0o606], ids=oct)
@pytest.mark.parametrize("is_linked", [False, True], ids=["file", "link"])
def test_a_secret_file_that_others_can_read_is_reported(made, tmp_path, mode, is_linked):
    """A link counts as its target, as in volumes of Kubernetes."""
    files = {"certificate": made["rsa.pem"], "private_key": made["rsa"]}
    wanted = settings(tmp_path, files, True)
    (tmp_path / "certificate").chmod(0o644)
    key = tmp_path / "private_key"
    key.chmod(mode)
    if is_linked:
        (tmp_path / "..data").mkdir()
        key.rename(tmp_path / "..data" / "private_key")
        key.symlink_to("..data/private_key")
    ended = run_command(tmp_path, wanted, "check")
    assert ended.code == 0
    said = f"is readable by every user (mode 0{mode:o}); set mode 0600, or 0640 if root owns it"
    warned = [f"heliograph: warning: {PRIVATE_KEY}: '{key}' {said}"] if mode & 0o006 else []
    assert [PLACE.sub("", line) for line in ended.err[:-1]] == warned


def test_every_secret_file_is_checked(made, tmp_path):
    """No other file is: certificates and identifiers are public."""
    files = {"key": made["p8"], "key_id": b"ABC123DEFG"}
    wanted = settings(tmp_path, files, False)

    def file(name, content=b"0123456789abcdef0123456789abcdef"):
        (tmp_path / name).write_bytes(content)
        return str(tmp_path / name)

    rsa, certificate_of_rsa = file("rsa", made["rsa"]), file("rsa.pem", made["rsa.pem"])
    wanted["apns"] |= {"proxy": "http://u@localhost:1", "proxy_password_file": file("proxy")}
    wanted["admin"] = {"bearer_token_file": file("admin")}
    wanted["admin"] |= {"certificate_file": certificate_of_rsa, "private_key_file": rsa}
    wanted["log"] = {"fingerprint_key_file": file("fingerprints")}
    wanted["schema_registry"] = {
        "url": "https://localhost:1",
        "bearer_token_file": file("registry"),
        "ca_file": certificate_of_rsa,
    }
    wanted["kafka"] = {
        "properties": {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "u",
            "sasl.password_file": file("kafka"),
            "ssl.key.location": rsa,
            "ssl.certificate.location": certificate_of_rsa,
        }
    }
    for path in tmp_path.iterdir():
        path.chmod(0o644)
    ended = run_command(tmp_path, wanted, "check")
    assert ended.code == 0, ended.output
    assert [line.split(": ")[2] for line in ended.err[:-1]] == [
        KEY,
        "apns.proxy_password_file",
        "admin.bearer_token_file",
        "admin.private_key_file",
        "log.fingerprint_key_file",
        "schema_registry.bearer_token_file",
        "kafka.properties.ssl.key.location",
        "kafka.properties.sasl.password_file",
    ]
