"""A token endpoint (OpenID Connect): clients get a signed token for id and secret, brokers the key to verify it."""

from __future__ import annotations

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

ISSUER = "https://tokens.example.com"
AUDIENCE = "kafka"


class TokenEndpoint(ThreadingHTTPServer):
    """`/token` and `/jwks`; a context manager."""

    daemon_threads = True

    def __init__(self, clients: dict[str, str]) -> None:
        """`clients`: id and secret."""
        super().__init__(("127.0.0.1", 0), _Answers)
        self.clients = clients
        self.asked: list[dict[str, str]] = []
        self._key = rsa.generate_private_key(65537, 2048)
        address = f"http://127.0.0.1:{self.server_port}"
        self.token_url, self.jwks_url = f"{address}/token", f"{address}/jwks"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def token(self, subject: str, lasts_s: int = 3600) -> str:
        """A signed token."""
        now = int(time.time())
        claims = {"sub": subject, "iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + lasts_s}
        head = {"alg": "RS256", "typ": "JWT", "kid": "1"}
        signed = f"{_encoded(json.dumps(head).encode())}.{_encoded(json.dumps(claims).encode())}"
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_encoded(signature)}"

    def keys(self) -> dict[str, Any]:
        numbers = self._key.public_key().public_numbers()
        own = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1"}
        return {"keys": [{**own, "n": _encoded(_bytes(numbers.n)), "e": _encoded(_bytes(numbers.e))}]}


class _Answers(BaseHTTPRequestHandler):
    server: TokenEndpoint

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
        pass

    def do_GET(self) -> None:
        self._answer(200, self.server.keys())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = {key: values[0] for key, values in parse_qs(body).items()}
        login = base64.b64decode(self.headers.get("Authorization", "").removeprefix("Basic ")).decode()
        client, _, secret = login.partition(":")
        self.server.asked.append({"client": client, **form})
        if self.server.clients.get(client) == secret:
            self._answer(200, {"access_token": self.server.token(client), "token_type": "bearer"})
        else:
            self._answer(401, {"error": "invalid_client"})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _bytes(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")
