"""Just enough HTTP/2 and protobuf to call a server without gRPC: for clients that do not behave as
gRPC's do, such as ones that never read."""
import select
import socket
import struct

from harness.programs import PATIENCE

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
INITIAL_WINDOW_SIZE = 4
LARGEST_WINDOW = (1 << 31) - 1
FIRST_WINDOW = (1 << 16) - 1


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def hpack(pairs):
    """Literal fields that enter no table."""
    block = b""
    for name, value in pairs:
        assert len(name) < 127 and len(value) < 127
        block += b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
    return block


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def text(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def pull_request(node_type, name, ids):
    packed = b"".join(struct.pack("<Q", i) for i in ids)
    return text(2, node_type.encode()) + text(3, name.encode()) + text(4, packed)


def number(field, value):
    return varint(field << 3) + varint(value)


def add_request(name, part, row, value, client, step=None):
    """A push of a client of its own that adds a float32 to a row; `step`: (step, rank, world size)."""
    in_step = text(8, b"".join(number(i + 1, it) for i, it in enumerate(step))) if step else b""
    return (text(3, name.encode()) + number(4, part) + number(5, 1) +
            varint(6 << 3 | 1) + struct.pack("<Q", client) + number(7, 1) + in_step +
            text(9, struct.pack("<Q", row)) + number(10, 1) + text(11, struct.pack("<f", value)))


def call_fields(method, **other):
    """What a call of one of our methods begins with, with these fields besides, or in place of its own."""
    return list({":method": "POST", ":scheme": "http", ":path": "/halograph.v1." + method, ":authority": "test",
                 "content-type": "application/grpc", "te": "trailers", **other}.items())


def begun_call(stream, fields):
    return frame(HEADERS, END_HEADERS, stream, hpack(fields))


def whole_call(stream, fields, message=b""):
    out = begun_call(stream, fields)
    body = struct.pack(">BI", 0, len(message)) + message
    for at in range(0, len(body), 16384):
        last = at + 16384 >= len(body)
        out += frame(DATA, END_STREAM if last else 0, stream, body[at:at + 16384])
    return out


class Connection:
    """One connection; calls have odd stream numbers, in order."""

    def __init__(self, address, large_windows=False, source="127.0.0.1", secure=lambda plain: plain):
        host, port = address.rsplit(":", 1)
        self.socket = secure(socket.create_connection((host, int(port)), PATIENCE, (source, 0)))
        self.stream = -1
        self.room = FIRST_WINDOW  # what the connection may send
        self.rest = b""
        settings = struct.pack(">HI", INITIAL_WINDOW_SIZE, LARGEST_WINDOW) if large_windows else b""
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))
        if large_windows:
            more = struct.pack(">I", LARGEST_WINDOW - FIRST_WINDOW)
            self.socket.sendall(frame(WINDOW_UPDATE, 0, 0, more))

    def close(self):
        self.socket.close()

    def call_bytes(self, method, message):
        """A whole call as bytes to send."""
        self.stream += 2
        return whole_call(self.stream, call_fields(method), message)

    def send_unfinished(self, method, size, rested):
        """A call whose message of `size` bytes lacks its last one, as far as the server takes it:
        until it gives no room for a fifth of a second and `rested()` says that it did nothing since
        the call before, so that it was not only slow. Returns the bytes sent."""
        self.stream += 2
        self.socket.sendall(begun_call(self.stream, call_fields(method)))
        left = struct.pack(">BI", 0, size) + b"\0" * (size - 1)
        room, sent = FIRST_WINDOW, 0
        while left:
            piece = left[:max(0, min(16384, room, self.room))]
            if piece:
                self.socket.sendall(frame(DATA, 0, self.stream, piece))
                left = left[len(piece):]
                room, self.room, sent = room - len(piece), self.room - len(piece), sent + len(piece)
                continue
            if len(self.rest) < 9:
                rested()
                if not select.select([self.socket], [], [], 0.2)[0]:
                    if rested():
                        break
                    continue
            kind, flags, stream, payload = self.read_frame()
            if kind == WINDOW_UPDATE and stream in (0, self.stream):
                more = int.from_bytes(payload, "big")
                room, self.room = room + more * (stream != 0), self.room + more * (stream == 0)
            elif kind in (SETTINGS, PING) and not flags & ACK:
                self.socket.sendall(frame(kind, ACK, 0, payload if kind == PING else b""))
        return sent

    def read_frame(self):
        while len(self.rest) < 9 or len(self.rest) < 9 + int.from_bytes(self.rest[:3], "big"):
            more = self.socket.recv(1 << 16)
            if not more:
                raise ConnectionError("the server closed the connection")
            self.rest += more
        length, kind, flags = int.from_bytes(self.rest[:3], "big"), self.rest[3], self.rest[4]
        stream = int.from_bytes(self.rest[5:9], "big") & LARGEST_WINDOW
        payload, self.rest = self.rest[9:9 + length], self.rest[9 + length:]
        return kind, flags, stream, payload

    def call(self, method, message):
        """The reply's message; None if the call was refused. `socket.timeout` after PATIENCE."""
        self.socket.sendall(self.call_bytes(method, message))
        data = b""
        while True:
            kind, flags, stream, payload = self.read_frame()
            if kind == SETTINGS and not flags & ACK:
                self.socket.sendall(frame(SETTINGS, ACK, 0))
            if stream != self.stream:
                continue
            if kind == RST_STREAM:
                return None
            if kind == DATA:
                data += payload
                if payload:
                    window = struct.pack(">I", len(payload))
                    self.socket.sendall(frame(WINDOW_UPDATE, 0, 0, window) +
                                        frame(WINDOW_UPDATE, 0, stream, window))
            if flags & END_STREAM:
                return data[5:] if data else None
