"""What a gradient does to a row, as message RowOptimizer in kv.proto has it. Rows, gradients and state
are lists of float32 numbers; `state` ends with the number of updates where the optimizer counts them.
"""
import math

from floats import f32
from stubs import load

MOST_UPDATES = 2**32 - 1


def setting(optimizer, name, default):
    return getattr(optimizer, name) if optimizer.HasField(name) else default


class Optimizer:
    """Settings are rounded to float32, beside those that ADAM needs as they were sent."""

    def __init__(self, message, dim):
        self.dim = dim
        self.sent_rate = setting(message, "learning_rate", 0.01)
        self.rate = f32(self.sent_rate)
        self.decay = f32(message.weight_decay)
        self.momentum = f32(message.momentum)
        self.epsilon = f32(setting(message, "epsilon", 1e-10))
        self.sent_betas = setting(message, "beta1", 0.9), setting(message, "beta2", 0.999)
        self.betas = [f32(beta) for beta in self.sent_betas]
        self.rests = [f32(1 - beta) for beta in self.sent_betas]
        kinds = load().kv.RowOptimizer
        self.update, self.floats, self.squares, self.counts = {
            kinds.NONE: (None, 0, range(0), False),
            kinds.SGD: ((self.with_momentum, dim, range(0), False) if self.momentum else
                        (self.sgd, 0, range(0), False)),
            kinds.ADAGRAD: (self.adagrad, dim, range(dim), False),
            kinds.ROW_ADAGRAD: (self.row_adagrad, 1, range(1), False),
            kinds.ADAM: (self.adam, 2 * dim, range(dim, 2 * dim), True)}[message.kind]

    def decayed(self, g, w):
        return [f32(x + f32(self.decay * y)) for x, y in zip(g, w)]

    def apply(self, g, w, state):
        """The row after it; `state` is changed where it stands."""
        return self.update(self.decayed(g, w), w, state)

    def sgd(self, g, w, _):
        return [f32(y - f32(self.rate * x)) for x, y in zip(g, w)]

    def with_momentum(self, g, w, m):
        m[:] = [f32(f32(self.momentum * old) + x) for x, old in zip(g, m)]
        return self.sgd(m, w, None)

    def adagrad(self, g, w, s):
        s[:] = [f32(old + f32(x * x)) for x, old in zip(g, s)]
        return [f32(y - f32(f32(self.rate * x) / f32(f32(math.sqrt(sum_)) + self.epsilon)))
                for x, y, sum_ in zip(g, w, s)]

    def row_adagrad(self, g, w, s):
        s[0] = f32(s[0] + f32(self.sum_of_squares(g) / self.dim))
        rate = f32(self.rate / f32(f32(math.sqrt(s[0])) + self.epsilon))
        return [f32(y - f32(rate * x)) for x, y in zip(g, w)]

    @staticmethod
    def sum_of_squares(g):
        sums = [0.0] * 16
        for column, x in enumerate(g):
            sums[column % 16] = f32(sums[column % 16] + f32(x * x))
        for half in (8, 4, 2, 1):
            for i in range(half):
                sums[i] = f32(sums[i] + sums[i + half])
        return sums[0]

    def adam(self, g, w, state):
        t = state[-1] = min(state[-1] + 1, MOST_UPDATES)
        dim = self.dim
        m = [f32(f32(self.betas[0] * old) + f32(self.rests[0] * x)) for x, old in zip(g, state)]
        v = [f32(f32(self.betas[1] * old) + f32(f32(self.rests[1] * x) * x))
             for x, old in zip(g, state[dim:])]
        state[:2 * dim] = m + v
        rate = f32(self.sent_rate / (1 - whole_power(self.sent_betas[0], t)))
        scale = f32(1 / math.sqrt(1 - whole_power(self.sent_betas[1], t)))
        return [f32(y - f32(f32(rate * a) / f32(f32(f32(math.sqrt(b)) * scale) + self.epsilon)))
                for y, a, b in zip(w, m, v)]


def whole_power(base, exponent):
    power = 1.0
    while exponent:
        if exponent & 1:
            power *= base
        base *= base
        exponent >>= 1
    return power
