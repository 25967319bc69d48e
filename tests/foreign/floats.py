"""Numbers of 32 and 16 bits, in Python's float64. What +, -, *, / and the square root give for float32
numbers is the same whether it is rounded to float32 at once, or to float64 before (53 bits are at least
2 * 24 + 2).
"""
import math
import struct

from stubs import load

ONE = struct.Struct("<f")


def f32(x):
    """The nearest float32."""
    try:
        return ONE.unpack(ONE.pack(x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def unpacked(data, size, letter):
    return list(struct.unpack(f"<{len(data) // size}{letter}", data))


class Float32:
    size = 4

    @staticmethod
    def decode(data):
        return unpacked(data, 4, "f")

    @staticmethod
    def encode(numbers):
        return struct.pack(f"<{len(numbers)}f", *numbers)


class Float16:
    size = 2

    @staticmethod
    def decode(data):
        return unpacked(data, 2, "e")

    @staticmethod
    def encode(numbers):
        """Of float32 numbers."""
        return b"".join(map(Float16.one, numbers))

    @staticmethod
    def one(x):
        try:
            return struct.pack("<e", x)
        except OverflowError:
            return struct.pack("<e", math.copysign(math.inf, x))


class BFloat16:
    """The upper half of a float32."""
    size = 2

    @staticmethod
    def decode(data):
        return [ONE.unpack(b"\0\0" + data[at:at + 2])[0] for at in range(0, len(data), 2)]

    @staticmethod
    def encode(numbers):
        return b"".join(map(BFloat16.one, numbers))

    @staticmethod
    def one(x):
        (bits,) = struct.unpack("<I", ONE.pack(x))
        if math.isnan(x):
            return struct.pack("<H", bits >> 16 | 0x40)
        return struct.pack("<H", (bits + 0x7fff + (bits >> 16 & 1)) >> 16)


def of(dtype):
    """By number: DType of the messages. One that is not given is float32."""
    graph = load().graph
    return {graph.DTYPE_UNSPECIFIED: Float32, graph.DTYPE_FLOAT32: Float32, graph.DTYPE_FLOAT16: Float16,
            graph.DTYPE_BFLOAT16: BFloat16}[dtype]
