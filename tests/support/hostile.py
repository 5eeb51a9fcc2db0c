"""Requests as a hostile program or web page would send them to a server of this machine."""

import base64
from collections.abc import Iterator
from typing import NamedTuple

import httpx

EVIL = "http://evil.example"


class Hostile(NamedTuple):
    """A kind of request: its headers, and whether it carries the password, as a browser does that was told it."""

    kind: str
    headers: dict[str, str]
    knows_password: bool = False


def requests(port: int) -> Iterator[Hostile]:
    """Every kind of hostile request to a server at this port."""
    json = {"Content-Type": "application/json"}
    yield Hostile("a program without the password", json)
    yield Hostile("a program with a wrong password", json | basic("tokenlab:guessed"))
    yield Hostile("a malformed password", json | {"Authorization": "Basic ==="})
    yield Hostile("an empty password", json | {"Authorization": "Basic"})
    yield Hostile("a page of another site", json | {"Origin": EVIL, "Sec-Fetch-Site": "cross-site"})
    yield Hostile("a page that sends no preflight", {"Origin": EVIL, "Content-Type": "text/plain"})
    yield Hostile("a page without an origin", {"Origin": "null", "Content-Type": "text/plain"}, True)
    yield Hostile("a form", {"Origin": EVIL, "Content-Type": "application/x-www-form-urlencoded"}, True)
    yield Hostile("another server here", {"Origin": f"http://127.0.0.1:{port + 1}", "Content-Type": "text/plain"}, True)
    rebound = f"rebound.example:{port}"
    yield Hostile("a name that was rebound", json | {"Host": rebound, "Origin": f"http://{rebound}"})
    yield Hostile("a name like an address", json | {"Host": f"10.evil.example:{port}"})
    yield Hostile("no host", json | {"Host": ""})


def basic(secret: str) -> dict[str, str]:
    """The header with which a browser or program gives `USER:PASSWORD`."""
    return {"Authorization": "Basic " + base64.b64encode(secret.encode()).decode()}


def send(method: str, address: str, hostile: Hostile, secret: str, content: str = "") -> httpx.Response:
    """Send a hostile request."""
    headers = hostile.headers | (basic(secret) if hostile.knows_password else {})
    with httpx.Client(trust_env=False, timeout=60) as client:
        return client.request(method, address, headers=headers, content=content)


def preflight(address: str, origin: str) -> httpx.Response:
    """What a browser asks before a page of `origin` may send a request that changes something."""
    headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    headers["Access-Control-Request-Headers"] = "content-type, authorization"
    with httpx.Client(trust_env=False, timeout=60) as client:
        return client.options(address, headers=headers)
