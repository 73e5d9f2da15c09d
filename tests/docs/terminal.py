"""A terminal of 80 columns: what a command has left on its screen when it ends, repainted lines as they were last."""

import os
import pty
import signal
import struct
import subprocess
import termios
from collections.abc import Mapping
from fcntl import ioctl
from pathlib import Path

import pyte

COLUMNS, LINES = 80, 40
SCROLLED_LINES = 1000
"""Of the screen on which is drawn: nothing that scrolls out of a person's is lost."""
INTERRUPT = b"\x03"


def _of_the_terminal() -> None:
    """Ctrl-C is the terminal's, and ends a command though what started the tests ignores it, as jobs of scripts do."""
    ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def screen(command: str, folder: Path, environment: Mapping[str, str], interrupt_at: str = "") -> str:
    """Run a command as `sh` does; its screen. Ctrl-C is pressed once `interrupt_at` is on it."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    usual = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        ["sh", "-c", f"exec {command}" if ">" not in command and "|" not in command else command],
        cwd=folder,
        env={**usual, "TERM": "xterm-256color", **environment},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=_of_the_terminal,
    )
    os.close(theirs)
    drawn = pyte.Screen(COLUMNS, SCROLLED_LINES)
    stream = pyte.ByteStream(drawn)
    pending = interrupt_at
    try:
        while block := os.read(ours, 65_536):
            stream.feed(block)
            if pending and any(pending in line for line in drawn.display):
                os.write(ours, INTERRUPT)
                pending = ""
    except OSError:  # the terminal's other end is closed
        pass
    finally:
        os.close(ours)
    process.wait()
    return "\n".join(line.rstrip() for line in drawn.display).strip("\n")
