# SPDX-License-Identifier: GPL-3.0-or-later
"""Joins standard input and output with a socket: `dpaudit run` starts it, and behind the socket a trainer answers that
lives in another process (a notebook, say). A script by itself: it must start fast, so it imports almost nothing."""

import os
import socket
import sys
import threading

_TRY_ELSEWHERE = 75  # not a failure of the training: the other process is gone


def main(path: str) -> None:
    link, done = socket.socket(socket.AF_UNIX), threading.Event()
    try:
        link.connect(path)
    except OSError:
        sys.exit(_TRY_ELSEWHERE)

    def forward() -> None:
        try:
            for line in sys.stdin.buffer:
                link.sendall(line)
            done.set()
            link.shutdown(socket.SHUT_WR)
        except OSError:
            os._exit(_TRY_ELSEWHERE)

    threading.Thread(target=forward, daemon=True).start()
    with link.makefile("rb") as answers:
        for answer in answers:
            sys.stdout.buffer.write(answer)
            sys.stdout.buffer.flush()
    if not done.is_set():
        os._exit(_TRY_ELSEWHERE)


if __name__ == "__main__":
    main(sys.argv[1])
