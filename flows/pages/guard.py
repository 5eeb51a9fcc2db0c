"""Lets only the user's own requests through to a page on this machine.

Other users of the machine can reach a server on loopback, and so can every web page that the user opens: by requests to
http://127.0.0.1, or by a name of its own that it makes the browser look up again and find here ("rebinding"). So a
request must name this server as its host, must not come from another server's page, and must carry the password.
"""

import base64
import binascii
import hmac

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flows.prefect_environment import HOST

_HEADERS = {
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
}


class Guard:
    """An application behind a password. Browsers ask for it once (HTTP's basic authentication)."""

    def __init__(self, application: ASGIApp, secret: str | None = None, headers: dict[str, str] | None = None) -> None:
        """secret: `USER:PASSWORD`; None where the application asks for it. headers: further ones of every answer."""
        self._application = application
        self._secret = secret
        self._headers = _HEADERS | (headers or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        refusal = self._refuse(Headers(scope=scope), scope["server"][1])
        if scope["type"] == "websocket" and refusal is not None:
            await send({"type": "websocket.close", "code": 1008})  # HTTP 403, before it is accepted
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message.get("headers", [])}
                own = [(name.lower().encode(), value.encode()) for name, value in self._headers.items()]
                message["headers"] = [*message.get("headers", []), *(pair for pair in own if pair[0] not in given)]
            await send(message)

        await (refusal or self._application)(scope, receive, send_with_headers)

    def _refuse(self, headers: Headers, port: int) -> Response | None:
        """The answer to a request that must not reach the application."""
        hosts = {f"{name}:{port}" for name in (HOST, "localhost")}
        if headers.getlist("host") == [] or not hosts.issuperset(headers.getlist("host")):
            return PlainTextResponse("This server answers to http://127.0.0.1 alone.", 403)
        if any(origin.removeprefix("http://") not in hosts for origin in headers.getlist("origin")):
            return PlainTextResponse("Pages of other servers get nothing here.", 403)
        if self._secret is not None and not self._knows_secret(self._secret, headers.get("authorization", "")):
            challenge = {"WWW-Authenticate": f'Basic realm="tokenlab {port}", charset="UTF-8"'}
            return PlainTextResponse("User and password are in the file .env of the project.", 401, challenge)
        return None

    @staticmethod
    def _knows_secret(secret: str, authorization: str) -> bool:
        scheme, _, credentials = authorization.partition(" ")
        try:
            given = base64.b64decode(credentials, validate=True)
        except (binascii.Error, ValueError):
            return False
        return scheme.lower() == "basic" and hmac.compare_digest(given, secret.encode())
