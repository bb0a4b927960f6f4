"""Writes the first inputs of the fuzzer of HTTP requests: one of each form, and of each refusal.

python3 make_request_corpus.py FOLDER
"""

import pathlib
import sys

GET = b"GET /a?b HTTP/1.1\r\nHost: a\r\n"
POST = b"POST /a HTTP/1.1\r\nHost: a\r\n"
END = b"\r\n"

INPUTS = {
    "get": GET + END,
    "old": b"GET / HTTP/1.0\n\n",
    "absolute": b"GET http://a:80/b?c HTTP/1.1\r\nAccept: a;q=1, b\r\nConnection: close\r\n\r\n",
    "star": b"OPTIONS * HTTP/1.1\r\n\r\n",
    "empty-lines": END + b"\n" + GET + END + END + GET + END,
    "body": POST + b"Content-Length: 5\r\n\r\nhello" + GET + END,
    "body-that-waits": POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
    "length-twice": POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "length-list": POST + b"Content-Length: 5, 5\r\n\r\nhello",
    "length-huge": POST + b"Content-Length: 18446744073709551621\r\n\r\n",
    "length-and-coding": POST + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX",
    "chunked": POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "coding-unknown": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
    "coding-odd": POST + b"Transfer-Encoding: xchunked\r\n\r\n",
    "folded": GET + b"A: b\r\n c\r\n\r\n",
    "blank-before-colon": GET + b"A : b\r\n\r\n",
    "bare-carriage-return": GET + b"A: b\rc\r\n\r\n",
    "nul": GET + b"A: b\0c\r\n\r\n",
    "hosts": GET + b"host: b\r\n\r\n",
    "long": GET + b"A: " + b"x" * 8150 + b"\r\n\r\n",
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n",
}

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, octets in INPUTS.items():
    for seed in (b"\x00", b"\x0d"):
        (folder / f"{name}-{seed[0]}").write_bytes(seed + octets)
