"""Requests as a hostile program or web page would send them to a server of this machine."""

import base64
from collections.abc import Iterator
from typing import NamedTuple

import httpx

EVIL = "http://evil.example"


class Hostile(NamedTuple):
    """A kind of request: its headers, how it is refused, and whether it carries the password.

    A browser that was told the password sends it with the requests of hostile pages as well.
    """

    kind: str
    headers: dict[str, str]
    status: int
    knows_password: bool = False


def requests(port: int) -> Iterator[Hostile]:
    """Every kind of hostile request to a server at this port."""
    json = {"Content-Type": "application/json"}
    yield Hostile("a program without the password", json, 401)
    yield Hostile("a program with a wrong password", json | basic("tokenlab:guessed"), 401)
    yield Hostile("a malformed password", json | {"Authorization": "Basic ==="}, 401)
    yield Hostile("an empty password", json | {"Authorization": "Basic"}, 401)
    yield Hostile("a page of another site", json | {"Origin": EVIL, "Sec-Fetch-Site": "cross-site"}, 403)
    plain = {"Content-Type": "text/plain"}
    yield Hostile("a page that sends no preflight", plain | {"Origin": EVIL}, 403, True)
    yield Hostile("a page without an origin", plain | {"Origin": "null"}, 403, True)
    yield Hostile("a form", {"Origin": EVIL, "Content-Type": "application/x-www-form-urlencoded"}, 403, True)
    yield Hostile("another server here", plain | {"Origin": f"http://127.0.0.1:{port + 1}"}, 403, True)
    rebound, own = f"rebound.example:{port}", f"http://127.0.0.1:{port}"
    yield Hostile("a name that was rebound", json | {"Host": rebound}, 403, True)
    yield Hostile("a rebound name's page", json | {"Host": rebound, "Origin": f"http://{rebound}"}, 403, True)
    yield Hostile("a wrong name, the right origin", json | {"Host": rebound, "Origin": own}, 403, True)
    yield Hostile("a name like an address", json | {"Host": f"10.evil.example:{port}"}, 403, True)
    yield Hostile("no host", json | {"Host": ""}, 403, True)


def basic(secret: str) -> dict[str, str]:
    """The header with which a browser or program gives `USER:PASSWORD`."""
    return {"Authorization": "Basic " + base64.b64encode(secret.encode()).decode()}


def send(method: str, address: str, hostile: Hostile, secret: str, content: str = "") -> httpx.Response:
    """Send a hostile request."""
    headers = hostile.headers | (basic(secret) if hostile.knows_password else {})
    with httpx.Client(trust_env=False, timeout=60) as client:
        return client.request(method, address, headers=headers, content=content)


def assert_refused(request: Hostile, answer: httpx.Response) -> None:
    """Assert the status; and that the guard refused a wrong host or origin, whatever Prefect would have answered."""
    asks_for_token = "CSRF" in answer.text  # as Prefect does before it asks for the password
    assert answer.status_code == request.status or (request.status == 401 and asks_for_token), (request, answer.text)
    assert request.status == 401 or not asks_for_token, (request, answer.text)


def assert_all_refused(
    address: str, secret: str, content: str = "", methods: tuple[str, ...] = ("GET", "POST")
) -> None:
    """Assert that no hostile request gets or changes anything there."""
    for request in requests(httpx.URL(address).port or 0):
        for method in methods:
            answer = send(method, address, request, secret, content)
            assert_refused(request, answer)
            assert "access-control-allow-origin" not in answer.headers, request
    assert "access-control-allow-origin" not in preflight(address, EVIL).headers


def preflight(address: str, origin: str) -> httpx.Response:
    """What a browser asks before a page of `origin` may send a request that changes something."""
    headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    headers["Access-Control-Request-Headers"] = "content-type, authorization"
    with httpx.Client(trust_env=False, timeout=60) as client:
        return client.options(address, headers=headers)
