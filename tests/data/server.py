"""A real HTTP server on loopback that misbehaves on request."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FaultyServer(ThreadingHTTPServer):
    """Serves `files` by name with byte ranges; `faults[name]` is a list of answers that come before a good one.

    A fault is a function of the handler and the content that answers in its own way.
    """

    daemon_threads = True

    def __init__(self, ranges: bool = True) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list[Callable]] = {}
        self.requests: list[tuple[str, str | None]] = []
        self.ranges = ranges
        self.lock = threading.Lock()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        """A client that hangs up is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def do_GET(self):
        name = self.path.lstrip("/")
        with self.server.lock:
            self.server.requests.append((name, self.headers.get("Range")))
            pending = self.server.faults.get(name, [])
            fault = pending.pop(0) if pending else None
        content = self.server.files.get(name)
        if fault is not None:
            fault(self, content)
        elif content is None:
            self.send_error(404)
        else:
            good(self, content)

    def log_message(self, *arguments):
        pass


def good(handler: BaseHTTPRequestHandler, content: bytes, cut: int | None = None) -> None:
    """The file, from where the client asks; with `cut` the connection ends after that many bytes."""
    first = 0
    asked = handler.headers.get("Range")
    if asked and handler.server.ranges:
        first = int(asked.removeprefix("bytes=").removesuffix("-"))
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
    else:
        handler.send_response(200)
    handler.send_header("Content-Length", str(len(content) - first))
    handler.end_headers()
    handler.wfile.write(content[first:cut])


def status(code: int) -> Callable:
    return lambda handler, content: handler.send_error(code)


def cut_at(share: float) -> Callable:
    return lambda handler, content: good(handler, content, int(len(content) * share))


def page(handler: BaseHTTPRequestHandler, content: bytes | None) -> None:
    body = b"<html>Please sign in</html>"
    handler.send_response(200)
    handler.send_header("Content-Type", "text/html")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def endless(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    """No length announced, and more than the file."""
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(content + b"more" * 1000)


def unannounced_page(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    """No length announced, and another file of fewer bytes."""
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(b"<html>Please sign in</html>")


def corrupted(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    """The right number of wrong bytes."""
    good(handler, bytes([content[0] ^ 1]) + content[1:])


def hang_up(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    handler.connection.close()


def wrong_place(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    """A range that was not asked for."""
    handler.send_response(206)
    handler.send_header("Content-Range", f"bytes 3-{len(content) - 1}/{len(content)}")
    handler.send_header("Content-Length", str(len(content) - 3))
    handler.end_headers()
    handler.wfile.write(content[3:])


def odd_length(text: str) -> Callable:
    """The right file under a length that is no number."""

    def answer(handler: BaseHTTPRequestHandler, content: bytes) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", text)
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def labelled_as_packed(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    """The right file, with its packing told as an encoding that a client would take off."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.send_header("Content-Encoding", "gzip")
    handler.end_headers()
    handler.wfile.write(content)


def sent_to(address: str) -> Callable:
    def answer(handler: BaseHTTPRequestHandler, content: bytes) -> None:
        handler.send_response(302)
        handler.send_header("Location", address)
        handler.end_headers()

    return answer
