"""A real HTTP server on the loopback that misbehaves on demand.

A trick is a status ("500"), "to ADDRESS" (a redirect), or one of: truncate, stall, slow, wrong, encoded, no ranges,
short range (1000 bytes of what was asked), unlabelled (no ETag) and weak (an ETag that does not vouch for every byte).
"""

import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Web:
    """What the server holds, which trick it plays on each coming request of a path, and what it saw."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.tricks: dict[str, list[str]] = {}
        self.requests: list[tuple[str, str | None, int]] = []  # path, Range, status
        self.sent = 0
        self.over = threading.Event()
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                web.answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path, asked = request.path, request.headers.get("Range")
        tricks = self.tricks.get(path)
        trick = tricks.pop(0) if tricks else ""
        data = self.files.get(path)
        status, headers = 200, dict[str, str]()
        if trick.startswith("to "):
            status, headers["Location"] = 302, trick[3:]
        elif trick.isdigit() or data is None:
            status = int(trick or 404)
        if status != 200 or data is None:
            self.requests.append((path, asked, status))
            self.respond(request, status, {**headers, "Content-Length": "0"}, b"")
            return
        if trick == "wrong":
            data = data[::-1]
        if "unlabelled" not in trick:
            etag = f'"{hashlib.sha256(data).hexdigest()[:8]}"'
            headers["ETag"] = f"W/{etag}" if "weak" in trick else etag
        if trick == "encoded":
            headers["Content-Encoding"] = "gzip"
        start, end = 0, len(data)
        if asked and trick != "no ranges":
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(data):
                self.requests.append((path, asked, 416))
                self.respond(request, 416, {"Content-Range": f"bytes */{len(data)}", "Content-Length": "0"}, b"")
                return
            status = 206
            if trick == "short range":
                end = start + 1000
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(data)}"
        self.requests.append((path, asked, status))
        body = data[start:end]
        headers["Content-Length"] = str(len(body))
        if "truncate" in trick or trick == "stall":
            body = body[: len(body) // 2]
        self.respond(request, status, headers, body, slowly=trick == "slow")
        if trick == "stall":
            self.over.wait(300)

    def respond(
        self, request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes, slowly: bool = False
    ) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        try:
            for piece in (body[: len(body) // 2], body[len(body) // 2 :]):
                self.sent += len(piece)  # before the client has it, and may look
                request.wfile.write(piece)
                if slowly:
                    time.sleep(0.2)
            request.wfile.flush()
        except ConnectionError:
            pass  # the client went away
