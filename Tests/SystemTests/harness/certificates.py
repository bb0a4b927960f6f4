"""Provider certificates as Apple issues them, made with the openssl command."""

import subprocess
from datetime import timedelta

from .events import APP


def request(app):
    """The extensions that Apple writes into a provider certificate.

    The subject's user ID, the markers of both environments, and the list of topics with their
    kinds.
    """
    return f"""
[req]
distinguished_name = name
x509_extensions = extensions
prompt = no
[name]
UID = {app}
CN = Apple Push Services: {app}
[extensions]
extendedKeyUsage = clientAuth
1.2.840.113635.100.6.3.1 = DER:05:00
1.2.840.113635.100.6.3.2 = DER:05:00
1.2.840.113635.100.6.3.6 = ASN1:SEQUENCE:topics
[topics]
topic1 = UTF8:{app}
kinds1 = SEQUENCE:app
topic2 = UTF8:{app}.voip
kinds2 = SEQUENCE:voip
[app]
kind = UTF8:app
[voip]
kind = UTF8:voip
"""


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def write_certificate(folder, app=APP, days=2, expired=False, start=None):
    """Writes certificate.pem and key.pem; `start` is when validity begins, by default now."""
    folder.mkdir()
    (folder / "request.conf").write_text(request(app))
    openssl(
        *("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"),
        *("-out", folder / "key.pem"),
    )
    subject = ("-config", folder / "request.conf", "-key", folder / "key.pem")
    if not expired and start is None:
        openssl(
            *("req", "-x509", "-days", days, *subject),
            *("-out", folder / "certificate.pem"),
        )
        return
    begins, ends = ("20200101000000Z", "20210101000000Z")
    if start is not None:
        begins, ends = (f"{moment:%Y%m%d%H%M%SZ}" for moment in (start, start + timedelta(days)))
    # `req -x509` cannot set another time, so a single-use CA signs.
    openssl("req", "-new", *subject, "-out", folder / "request.pem")
    (folder / "index.txt").write_text("")
    (folder / "ca.conf").write_text(
        "[ca]\ndefault_ca = own\n[own]\n"
        f"database = {folder / 'index.txt'}\nnew_certs_dir = {folder}\nrand_serial = yes\n"
        "default_md = sha256\npolicy = any\n[any]\nUID = optional\ncommonName = optional\n"
        + request(app)
    )
    openssl(
        *("ca", "-batch", "-selfsign", "-config", folder / "ca.conf", "-notext"),
        *("-extensions", "extensions", "-keyfile", folder / "key.pem"),
        *("-startdate", begins, "-enddate", ends),
        *("-in", folder / "request.pem", "-out", folder / "certificate.pem"),
    )
