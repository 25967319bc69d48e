"""Tensors and random pushes to them. All follows from a random.Random."""
import floats
from stubs import load


def spec(name, placement, dim, dtype, optimizer, rows=0, start=None, seed=0):
    """`start`: (from, to) of a uniform initializer."""
    stubs = load()
    kv = stubs.kv
    found = kv.MutableTensorSpec(name=name, placement=placement, rows=rows, dim=dim, dtype=dtype,
                                 optimizer=optimizer)
    if placement == kv.PLACEMENT_NODES:
        found.type = "node"
    if start:
        found.initializer.kind = kv.Initializer.UNIFORM
        found.initializer.a, found.initializer.b = start
        found.initializer.seed = seed
    return found


def optimizers():
    """By a name for each."""
    o = load().kv.RowOptimizer
    return {
        "none": o(),
        "sgd": o(kind=o.SGD, learning_rate=0.1),
        "sgd-decay": o(kind=o.SGD, weight_decay=0.03),
        "momentum": o(kind=o.SGD, learning_rate=0.07, momentum=0.9, weight_decay=0.001),
        "adagrad": o(kind=o.ADAGRAD, learning_rate=0.3),
        "adagrad-decay": o(kind=o.ADAGRAD, learning_rate=0.3, epsilon=1e-6, weight_decay=0.01),
        "row-adagrad": o(kind=o.ROW_ADAGRAD, learning_rate=0.2),
        "row-adagrad-decay": o(kind=o.ROW_ADAGRAD, learning_rate=0.2, epsilon=0.01, weight_decay=0.02),
        "adam": o(kind=o.ADAM, learning_rate=0.9),
        "adam-decay": o(kind=o.ADAM, beta1=0.8, beta2=0.95, epsilon=1e-7, weight_decay=0.01),
        "adam-without-moments": o(kind=o.ADAM, beta1=0, beta2=0),
    }


def small_or_large(draw):
    """A float32 number; some are 0 of either sign, or subnormal."""
    kind = draw.randrange(12)
    if kind == 0:
        return draw.choice((0.0, -0.0, 1e-40, -3e-42))
    return floats.f32(draw.gauss(0, 1) * 10 ** draw.choice((-3, 0, 0, 1)))


def any_bits(draw, size):
    """Also of NaN and infinity."""
    return draw.choice((draw.randbytes(size), b"\xff" * size, b"\0\0\x80\x7f" * (size // 4) or b"\0\x7c"))


class Pushes:
    """Random pushes to a part of a tensor."""

    def __init__(self, tensor, part, draw):
        self.tensor, self.part, self.draw = tensor, part, draw
        self.ids = tensor.placement.ids_of(part)

    def some_ids(self, count, among=None):
        """With repeats. `among`: the first so many of the part."""
        ids = self.ids[:among]
        return [self.draw.choice(ids) for _ in range(count)] if ids else []

    def request(self, kind, ids, odd_bits=False):
        """To these ids. `odd_bits`: images and bits may be of any numbers."""
        stubs, tensor, draw = load(), self.tensor, self.draw
        kv, graph = stubs.kv, stubs.graph
        dtype = tensor.spec.dtype or graph.DTYPE_FLOAT32
        if kind not in (kv.PUSH_IMAGE, kv.PUSH_BITS):
            dtype = draw.choice((graph.DTYPE_FLOAT32, graph.DTYPE_FLOAT32, graph.DTYPE_FLOAT16,
                                 graph.DTYPE_BFLOAT16))
        rows = b"".join(self.value(kind, floats.of(dtype), odd_bits) for _ in ids)
        return kv.PushRequest(type=tensor.spec.type, name=tensor.spec.name, part=self.part, kind=kind,
                              ids=ids, dtype=dtype, rows=rows)

    def value(self, kind, dtype, odd_bits):
        kv, tensor, draw = load().kv, self.tensor, self.draw
        row = dtype.encode([small_or_large(draw) for _ in range(tensor.dim)])
        if odd_bits and kind in (kv.PUSH_IMAGE, kv.PUSH_BITS):
            row = any_bits(draw, 4)[:dtype.size] + row[dtype.size:]
        if kind != kv.PUSH_IMAGE:
            return row
        optimizer = tensor.optimizer
        numbers = [abs(x) if i in optimizer.squares else x for i, x in
                   enumerate(small_or_large(draw) for _ in range(optimizer.floats))]
        return row + tensor.state(numbers + [draw.randrange(1000)] * optimizer.counts)
