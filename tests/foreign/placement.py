"""Which part owns which row, and how rows begin: enum Placement and message Initializer in kv.proto.
"""
import math

from floats import f32
from stubs import load

WORD = 2**64 - 1


def key(k, n):
    x = (k + 0x9e3779b97f4a7c15 * (n + 1)) & WORD
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & WORD
    x = (x ^ x >> 27) * 0x94d049bb133111eb & WORD
    return x ^ x >> 31


def hash_place(number, rows):
    """The place of an id of PLACEMENT_HASH."""
    bits = (rows - 1).bit_length()
    low_bits = bits // 2
    x = number
    while True:
        high, low = x >> low_bits, x & (1 << low_bits) - 1
        for r in range(6):
            if r % 2 == 0:
                high ^= (key(r, low) >> 32) % (1 << bits - low_bits)
            else:
                low ^= (key(r, high) >> 32) % (1 << low_bits)
        x = high << low_bits | low
        if x < rows:
            return x


class Placement:
    """Of a tensor in a graph: `boundaries` of its node type or relation, and how many parts there are.
    `original_ids`: of all its nodes; nothing: ids are the original ones."""

    def __init__(self, spec, parts, boundaries=None, original_ids=None):
        kinds = load().kv
        if boundaries is None:
            boundaries = [spec.rows * p // parts for p in range(parts + 1)]
        self.boundaries, self.rows = boundaries, boundaries[-1]
        hashed = spec.placement == kinds.PLACEMENT_HASH
        self.places = [hash_place(i, self.rows) if hashed else i for i in range(self.rows)]
        self.ids = [0] * self.rows
        for i, place in enumerate(self.places):
            self.ids[place] = i
        self.original_ids = original_ids or range(self.rows)

    def owner(self, number):
        place = self.places[number]
        return next(p for p in range(len(self.boundaries) - 1) if place < self.boundaries[p + 1])

    def ids_of(self, part):
        """By place: row r of the part is entry r."""
        return self.ids[self.boundaries[part]:self.boundaries[part + 1]]


def initial_row(spec, rows, original_id):
    """Float32 numbers."""
    start, kinds = spec.initializer, load().kv.Initializer
    if start.kind in (kinds.ZEROS, kinds.CONSTANT):
        return [f32(start.a)] * spec.dim
    if start.kind == kinds.UNIFORM:
        least, width = start.a, start.b - start.a
    else:
        assert start.kind == kinds.XAVIER, "NORMAL is not for others to compute"
        limit = math.sqrt(6 / (rows + spec.dim))
        least, width = -limit, 2 * limit
    of_row = key(start.seed, original_id)
    return [f32(least + width * ((key(of_row, column) >> 11) / 2**53)) for column in range(spec.dim)]
