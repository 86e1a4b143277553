# SPDX-License-Identifier: GPL-3.0-or-later
"""Joins standard input and output with a socket: `dpaudit run` starts it, and behind the socket a trainer answers that
lives in another process (a notebook, say). A script by itself: it must start fast, so it imports almost nothing."""

import socket
import sys
import threading


def main(path: str) -> None:
    link = socket.socket(socket.AF_UNIX)
    link.connect(path)

    def forward() -> None:
        for line in sys.stdin.buffer:
            link.sendall(line)
        link.shutdown(socket.SHUT_WR)

    threading.Thread(target=forward, daemon=True).start()
    with link.makefile("rb") as answers:
        for answer in answers:
            sys.stdout.buffer.write(answer)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
