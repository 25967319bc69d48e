"""Reads event files as TensorBoard has them: records with checksums, each a message."""
import struct


def crc32c(data):
    rest = 0xFFFFFFFF
    for byte in data:
        rest ^= byte
        for _ in range(8):
            rest = rest >> 1 ^ (0x82F63B78 if rest & 1 else 0)
    return rest ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """What stands in the records; every byte of the file belongs to one."""
    while data:
        length, crc = data[:8], struct.unpack("<I", data[8:12])[0]
        assert crc == masked(length), "checksum of a length"
        size = struct.unpack("<Q", length)[0]
        record, crc = data[12:12 + size], struct.unpack("<I", data[12 + size:16 + size])[0]
        assert len(record) == size and crc == masked(record), "checksum of a record"
        yield record
        data = data[16 + size:]


def fields(message):
    """(number, value) of each field of a message."""
    at = 0

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(message):
        key = varint()
        number, kind = key >> 3, key & 7
        if kind == 0:
            yield number, varint()
            continue
        size = {1: 8, 5: 4}.get(kind) or varint()
        value, at = message[at:at + size], at + size
        yield number, struct.unpack({1: "<d", 5: "<f"}[kind], value)[0] if kind != 2 else value


def read(path):
    """[(wall time, step, {tag: value})] of the events with scalars; the first event is the version."""
    first, *rest = [dict(fields(record)) for record in records(path.read_bytes())]
    assert first[3] == b"brain.Event:2", first
    events = []
    for event in rest:
        values = [dict(fields(value)) for number, value in fields(event[5]) if number == 1]
        events.append((event[1], event[2], {value[1].decode(): value[2] for value in values}))
    return events
