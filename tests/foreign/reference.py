"""A tensor as kv.proto says it should be: rows and optimizer state after pushes, in bytes."""
import struct

import floats
from optimizers import Optimizer
from placement import initial_row
from stubs import load


class Tensor:
    """Of one part or of all: it does not look who owns a row."""

    def __init__(self, spec, placement):
        self.spec, self.placement = spec, placement
        self.dim, self.dtype = spec.dim, floats.of(spec.dtype)
        self.optimizer = Optimizer(spec.optimizer, spec.dim)
        self.row_bytes = self.dim * self.dtype.size
        self.state_bytes = 4 * self.optimizer.floats + 4 * self.optimizer.counts
        self.images = {}  # of the rows that somebody pushed

    def copy(self):
        other = Tensor(self.spec, self.placement)
        other.images = dict(self.images)
        return other

    def image(self, number):
        """Row and optimizer state."""
        found = self.images.get(number)
        if found is None:
            row = initial_row(self.spec, self.placement.rows, self.placement.original_ids[number])
            found = self.dtype.encode(row) + bytes(self.state_bytes)
        return found

    def row(self, number):
        return self.image(number)[:self.row_bytes]

    def values_bytes(self, kind, dtype):
        """Of one row of a push."""
        if kind == load().kv.PUSH_IMAGE:
            return self.row_bytes + self.state_bytes
        return self.dim * floats.of(dtype).size

    def apply(self, requests):
        """One push, or those of a step, by rank and chunk: of one kind."""
        kind, found = requests[0].kind, {}
        for request in requests:
            size = self.values_bytes(kind, request.dtype)
            for position, number in enumerate(request.ids):
                value = request.rows[position * size:(position + 1) * size]
                found.setdefault(number, []).append((floats.of(request.dtype), value))
        for number, values in found.items():
            self.images[number] = self.after(kind, self.image(number), values)

    def after(self, kind, image, values):
        kv = load().kv
        row, state = image[:self.row_bytes], image[self.row_bytes:]
        dtype, last = values[-1]
        if kind == kv.PUSH_IMAGE:
            return last
        if kind == kv.PUSH_BITS:
            return last + state
        if kind == kv.PUSH_ASSIGN:
            return self.dtype.encode(dtype.decode(last)) + state
        g = self.sum(values)
        w = self.dtype.decode(row)
        if kind == kv.PUSH_ADD:
            return self.dtype.encode([floats.f32(x + y) for x, y in zip(w, g)]) + state
        numbers = self.numbers(state)
        return self.dtype.encode(self.optimizer.apply(g, w, numbers)) + self.state(numbers)

    @staticmethod
    def sum(values):
        total = None
        for dtype, value in values:
            value = dtype.decode(value)
            total = value if total is None else [floats.f32(x + y) for x, y in zip(total, value)]
        return total

    def numbers(self, state):
        return list(struct.unpack(f"<{self.optimizer.floats}f{'I' * self.optimizer.counts}", state))

    def state(self, numbers):
        return struct.pack(f"<{self.optimizer.floats}f{'I' * self.optimizer.counts}", *numbers)
