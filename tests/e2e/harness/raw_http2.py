"""Just enough HTTP/2 and protobuf to call a server without gRPC: for clients that do not behave as
gRPC's do, such as ones that never read."""
import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, WINDOW_UPDATE = 0, 1, 3, 4, 8
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


class Connection:
    """One connection; calls have odd stream numbers, in order."""

    def __init__(self, address, timeout, large_windows=False):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout)
        self.stream = -1
        self.rest = b""
        settings = struct.pack(">HI", INITIAL_WINDOW_SIZE, LARGEST_WINDOW) if large_windows else b""
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, settings))
        if large_windows:
            more = struct.pack(">I", LARGEST_WINDOW - FIRST_WINDOW)
            self.socket.sendall(frame(WINDOW_UPDATE, 0, 0, more))

    def close(self):
        self.socket.close()

    def call_bytes(self, method, message, ends=True):
        """A whole call as bytes to send; without its end if not `ends`."""
        self.stream += 2
        headers = hpack([(":method", "POST"), (":scheme", "http"), (":path", "/halograph.v1." + method),
                         (":authority", "test"), ("content-type", "application/grpc"),
                         ("te", "trailers")])
        out = frame(HEADERS, END_HEADERS, self.stream, headers)
        body = struct.pack(">BI", 0, len(message)) + message
        for at in range(0, len(body), 16384):
            last = ends and at + 16384 >= len(body)
            out += frame(DATA, END_STREAM if last else 0, self.stream, body[at:at + 16384])
        return out

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
        """The reply's message; None if the call was refused. `socket.timeout` after the timeout."""
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
