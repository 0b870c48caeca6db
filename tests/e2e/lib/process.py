# SPDX-License-Identifier: BSD-3-Clause
"""A child process whose output is collected line by line, waited for with a bounded time, and ended by its pid."""
import ctypes
import os
import re
import signal
import subprocess
import threading
import time

TAIL_LINES = 40


class Failure(Exception):
    """A check that did not hold; its text is for people."""


def die_with_parent():
    """In the child: the kernel ends it when the harness ends, however that happens."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Process:
    def __init__(self, name, command, environment=None, stdin=subprocess.DEVNULL, echo=None):
        self.name = name
        self.command = [str(part) for part in command]
        self.lines = []
        self.echo = echo  # called with each line
        self.grown = threading.Condition()
        self.closed = False
        self.popen = subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
            self.command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
            preexec_fn=die_with_parent, start_new_session=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.popen.stdout:
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            if self.echo:
                self.echo(text)
            with self.grown:
                self.lines.append(text)
                self.grown.notify_all()
        with self.grown:
            self.closed = True
            self.grown.notify_all()

    @property
    def pid(self):
        return self.popen.pid

    def type(self, text):
        """One line on its standard input (started with stdin=PIPE)."""
        self.popen.stdin.write(text.encode() + b"\n")
        self.popen.stdin.flush()

    def running(self):
        return self.popen.poll() is None

    def wait_line(self, pattern, timeout=30, start=0):
        """The match of the first line from number `start` on; a Failure if the process ends or time is up first."""
        expression = re.compile(pattern)
        deadline = time.monotonic() + timeout
        at = start
        with self.grown:
            while True:
                while at < len(self.lines):
                    match = expression.search(self.lines[at])
                    at += 1
                    if match:
                        return match
                if self.closed:
                    raise Failure(f"{self.name} ended without saying '{pattern}'\n{self.tail()}")
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Failure(f"{self.name} did not say '{pattern}' within {timeout} s\n{self.tail()}")
                self.grown.wait(left)

    def find(self, pattern):
        """The last line's match, or None."""
        expression = re.compile(pattern)
        with self.grown:
            for line in reversed(self.lines):
                match = expression.search(line)
                if match:
                    return match
        return None

    def text(self):
        with self.grown:
            return "\n".join(self.lines)

    def tail(self):
        command = " ".join(self.command)
        return f"  command: {command}\n  exit code: {self.popen.poll()}\n" + "\n".join(
            f"  {self.name}| {line}" for line in self.lines[-TAIL_LINES:])

    def signal(self, number):
        if self.running():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                pass

    def wait(self, timeout=30):
        """The exit code; a Failure when it does not end by itself."""
        try:
            code = self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name} did not end within {timeout} s\n{self.tail()}") from None
        self.reader.join(5)
        return code

    def expect_exit(self, code=0, timeout=60):
        got = self.wait(timeout)
        if got != code:
            raise Failure(f"{self.name} ended with {got}, expected {code}\n{self.tail()}")
        return self

    def interrupt(self, timeout=30):
        """SIGINT and a clean end: what an operator's Ctrl-C does."""
        self.signal(signal.SIGINT)
        return self.wait(timeout)

    def kill(self):
        """kill -9, at once."""
        self.signal(signal.SIGKILL)
        self.popen.wait(10)
        self.reader.join(5)

    def end(self):
        """Whatever its state: gone afterwards."""
        if self.running():
            self.signal(signal.SIGTERM)
            try:
                self.popen.wait(3)
            except subprocess.TimeoutExpired:
                self.signal(signal.SIGKILL)
                self.popen.wait(10)
        self.reader.join(2)
