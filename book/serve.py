"""Serve the built book on this machine alone: ``python book/serve.py [PORT]``. Without a port, the first free one from 8000 on."""

import errno
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HTML = Path(__file__).resolve().parents[1] / "_build" / "html"
FIRST, TRIES = 8000, 20


def serving(ports):
    """A server on the first of the ports that is free."""
    for port in ports:
        try:
            return ThreadingHTTPServer(("127.0.0.1", port), partial(SimpleHTTPRequestHandler, directory=str(HTML)))
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            if len(ports) > 1:
                print(f"Port {port} is taken.", flush=True)
    raise SystemExit(f"port: expected a free one, got {ports[0]}; choose another: make serve PORT=9000")


def main(arguments):
    if arguments and not (arguments[0].isdigit() and 0 < int(arguments[0]) < 65536):
        raise SystemExit(f"port: expected a number from 1 to 65535, got {arguments[0]!r}; choose one: make serve PORT=9000")
    ports = [int(arguments[0])] if arguments else range(FIRST, FIRST + TRIES)
    with serving(ports) as server:
        print(f"Reading at http://localhost:{server.server_port} (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main(sys.argv[1:])
