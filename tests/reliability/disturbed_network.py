"""What stands between the nodes of a soak: datagrams that get lost and repeated, connections that dawdle, and strangers."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from random import Random

from peerproof.spec.errors import MalformedMessage

#: Bytes of the largest datagram.
DATAGRAM = 65_535

#: Datagrams seen under way, of which strangers send damaged copies.
REMEMBERED = 200

#: Connections that a stranger leaves open at a node, at most.
LEFT_OPEN = 20

Address = tuple[str, int]


class Datagrams:
    """
    A network for nodes that send datagrams: each is reached at a socket of this network, which passes on what it gets.

    What comes from a node leaves from the socket that stands for it, so that an address is the same in both directions.
    """

    def __init__(self, random: Random, loss: float, repetition: float) -> None:
        self.sent = self.lost = self.repeated = 0
        self.seen: deque[bytes] = deque(maxlen=REMEMBERED)
        self._random, self._loss, self._repetition = random, loss, repetition
        self._sockets: dict[Address, socket.socket] = {}  # by the address that the node itself listens at

    def place(self, bind: Address) -> Address:
        """Makes the socket at which a node is reached that listens at `bind`."""
        here = socket.socket(type=socket.SOCK_DGRAM)
        here.bind(("127.0.0.1", 0))
        self._sockets[bind] = here
        threading.Thread(target=self._pass_on, args=(here, bind), daemon=True).start()
        address: Address = here.getsockname()
        return address

    def _pass_on(self, here: socket.socket, bind: Address) -> None:
        while True:
            data, sender = here.recvfrom(DATAGRAM)
            through = self._sockets.get(sender)
            if through is None:
                continue  # a node that has just been killed
            self.sent += 1
            self.seen.append(data)
            if self._random.random() < self._loss:
                self.lost += 1
                continue
            through.sendto(data, bind)
            if self._random.random() < self._repetition:
                self.repeated += 1
                through.sendto(data, bind)


class Connections:
    """A network for nodes that are connected: what is sent arrives in pieces, later, and complete; that is what TCP promises."""

    def __init__(self, random: Random, most_delay: float) -> None:
        self.sent = 0
        self.seen: deque[bytes] = deque(maxlen=REMEMBERED)
        self._random, self._most_delay = random, most_delay

    def place(self, bind: Address) -> Address:
        """Makes the socket at which a node is reached that listens at `bind`."""
        here = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, args=(here, bind), daemon=True).start()
        address: Address = here.getsockname()
        return address

    def _accept(self, here: socket.socket, bind: Address) -> None:
        while True:
            near, _ = here.accept()
            try:
                far = socket.create_connection(bind, 5)
            except OSError:
                near.close()  # the node does not run: refused
                continue
            self.sent += 1
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._copy, args=(one, other), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(DATAGRAM):
                self.seen.append(data)
                cut = self._random.randrange(len(data))
                for piece in (data[:cut], data[cut:]):
                    time.sleep(self._random.random() * self._most_delay)
                    target.sendall(piece)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            # One of the two has gone: so does the other.
            for end in (source, target):
                end.close()


class Strangers:
    """
    Peers that send what is no message, and flood.

    A stranger that sends well-formed messages is believed by each of the five protocols, none of which knows who sends. So what
    is sent here is damaged until the decoder of the specification rejects it.
    """

    def __init__(self, random: Random, read: Callable[[bytes], object]) -> None:
        """`read` reads the bytes as a node does, and raises MalformedMessage."""
        self.sent = 0
        self._random, self._read = random, read
        self._open: deque[socket.socket] = deque()
        self._socket = socket.socket(type=socket.SOCK_DGRAM)

    def damaged(self, seen: deque[bytes]) -> bytes:
        """Returns a damaged copy of a message that was under way, or random bytes."""
        while True:
            data = bytearray(self._random.choice(seen) if seen and self._random.random() < 0.8 else os.urandom(64))
            for _ in range(self._random.randint(1, 4)):
                at = self._random.randrange(len(data) + 1)
                match self._random.randrange(3):
                    case 0:
                        data[at:] = b""
                    case 1:
                        data[at:at] = os.urandom(self._random.randint(1, 8))
                    case _:
                        data[at : at + 1] = os.urandom(1)
            if self._is_rejected(bytes(data)):
                return bytes(data)

    def _is_rejected(self, data: bytes) -> bool:
        try:
            self._read(data)
        except MalformedMessage:
            return True
        return False

    def send_datagrams(self, to: Address, seen: deque[bytes], count: int) -> None:
        """Sends malformed datagrams, as fast as it goes."""
        for _ in range(count):
            self._socket.sendto(self.damaged(seen), to)
            self.sent += 1

    def connect(self, to: Address, seen: deque[bytes]) -> None:
        """Opens a connection, sends malformed bytes, and closes it, breaks it off, or leaves it open and silent."""
        try:
            opened = socket.create_connection(to, 5)
            opened.sendall(self.damaged(seen))
        except OSError:
            return  # the node does not run, or has closed its side already
        self.sent += 1
        if self._random.random() < 0.5:
            opened.close()
            return
        self._open.append(opened)
        if len(self._open) > LEFT_OPEN:
            self._open.popleft().close()
