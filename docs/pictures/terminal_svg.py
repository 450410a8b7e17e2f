#!/usr/bin/env python3
"""terminal_svg.py OUT.svg TITLE COMMAND...: a picture of what COMMAND shows on a terminal.

Runs the command on a pseudo terminal, plays its escape sequences (colours, carriage return, clear
line), and draws what stands there at the end. Used for the pictures in the docs:

    docs/pictures/terminal_svg.py docs/pictures/diagnose.svg \
        'galen diagnose --bundle docs/examples/cublas-ecc' \
        build/bin/galen diagnose --bundle docs/examples/cublas-ecc
"""
import fcntl
import html
import os
import pty
import re
import struct
import sys
import termios

COLUMNS, ROWS = 110, 200
CHARACTER, LINE, MARGIN, BAR = 8.4, 18, 16, 30
INK = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff"}


def run(command):
    """Everything that the command wrote to its terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.environ["TERM"] = "xterm-256color"
        os.environ.pop("NO_COLOR", None)
        os.execvp(command[0], command)
    out = b""
    try:
        while chunk := os.read(terminal, 65536):
            out += chunk
            if b"(Enter to stop)" in out:  # it asks; a picture has no answer
                os.write(terminal, b"\n")
    except OSError:  # the terminal closes with its last process
        pass
    os.waitpid(pid, 0)
    return out.decode("utf-8", "replace")


def screen(text):
    """Lines of (character, style) that stand on the screen at the end."""
    lines, row, style = [[]], 0, frozenset()
    column = 0
    for match in re.finditer(r"\x1b\[([0-9;]*)([A-Za-z])|([\s\S])", text):
        code, verb, character = match.groups()
        if verb == "m":
            for part in (code or "0").split(";"):
                style = frozenset() if part in ("", "0") else style | {part}
        elif verb == "K":
            lines[row] = []
        elif character == "\n":
            row, column = row + 1, 0
            lines.append([])
        elif character == "\r":
            column = 0
        elif character:
            lines[row][column:column + 1] = [(character, style)]
            column += 1
    while lines and not lines[-1]:
        lines.pop()
    return lines


def draw(lines, title):
    width = COLUMNS * CHARACTER + 2 * MARGIN
    height = len(lines) * LINE + 2 * MARGIN + BAR
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="DejaVu Sans Mono, Menlo, monospace" '
        f'font-size="14">',
        f"<title>{html.escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>',
        f'<rect width="100%" height="{BAR}" rx="8" fill="#21262d"/>',
        f'<text x="{MARGIN}" y="20" fill="#8b949e">$ {html.escape(title)}</text>',
    ]
    for number, line in enumerate(lines):
        y = BAR + MARGIN + (number + 0.75) * LINE
        start = 0
        while start < len(line):
            end = start
            while end < len(line) and line[end][1] == line[start][1]:
                end += 1
            style = line[start][1]
            text = "".join(character for character, _ in line[start:end])
            if text.strip():
                ink = next((INK[code] for code in sorted(style) if code in INK), "#e6edf3")
                more = ' font-weight="bold"' if "1" in style else ""
                more += ' opacity="0.6"' if "2" in style else ""
                out.append(f'<text x="{MARGIN + start * CHARACTER:.1f}" y="{y:.1f}" fill="{ink}"{more} '
                           f'textLength="{len(text) * CHARACTER:.1f}" xml:space="preserve">'
                           f"{html.escape(text)}</text>")
            start = end
    out.append("</svg>")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as picture:
        picture.write(draw(screen(run(sys.argv[3:])), sys.argv[2]))
