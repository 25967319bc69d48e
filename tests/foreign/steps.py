"""Synchronous training by several ranks, each a thread with clients of its own. After every step each
rank pulls what it pushed to, and finds what the reference has after that step.
"""
import collections
import concurrent.futures
import random
import threading

from client import Progress, Pusher, Trouble
from cluster import differences
from harness import programs
from stubs import load
from workload import Pushes

TOUCHED = 25  # rows of a part


class Plan:
    """What every rank pushes at each step of a run: known to all, since it follows from the seed."""

    def __init__(self, tensors, parts, seed, run, world_size, first, last):
        self.tensors, self.parts, self.seed, self.run = tensors, parts, seed, run
        self.world_size, self.first, self.last = world_size, first, last
        self.kept, self.lock = {}, threading.Lock()

    def chunks(self, tensor, part, step, rank):
        """The pushes of one rank, by chunk."""
        kv = load().kv
        key = f"{self.seed}/{self.run}/{tensor.spec.name}/{part}/{step}"
        kind = random.Random(key).choice([kv.PUSH_GRADIENT] * 4 + [kv.PUSH_ADD, kv.PUSH_ASSIGN])
        draw = random.Random(f"{key}/{rank}")
        pushes, count, found = Pushes(tensor, part, draw), draw.choice((1, 1, 2, 3)), []
        for chunk in range(count):
            request = pushes.request(kind, pushes.some_ids(draw.choice((0, 3, 9)), among=TOUCHED))
            request.step.CopyFrom(kv.SyncStep(
                step=step, rank=rank, world_size=self.world_size, run=self.run, chunk=chunk,
                chunks=draw.choice((0, 1)) if count == 1 else count))
            found.append(request)
        return found

    def after(self, tensor, part, step):
        """The reference of this tensor and part after a step; what it began with has no step."""
        with self.lock:
            key = tensor.spec.name, part
            states = self.kept.setdefault(key, [tensor.copy()])
            while len(states) <= step - self.first + 1:
                now = states[-1].copy()
                at = self.first + len(states) - 1
                now.apply([chunk for rank in range(self.world_size)
                           for chunk in self.chunks(tensor, part, at, rank)])
                states.append(now)
            return states[step - self.first + 1]

    def carry_on(self, step=None):
        """The tensors themselves are what they are after a step of this run; not given: the last."""
        step = self.last if step is None else step
        for tensor in self.tensors:
            for part in range(self.parts):
                after = self.after(tensor, part, step)
                for number in tensor.placement.ids_of(part):
                    tensor.images.pop(number, None)
                    if number in after.images:
                        tensor.images[number] = after.images[number]


class Gate:
    """At each step one rank is late: it pushes when all others have, and `let_go` says so, if the step
    is one of those that are `held`."""

    def __init__(self, world_size, held=()):
        self.world_size, self.held = world_size, set(held)
        self.changed = threading.Condition()
        self.pushed = collections.Counter()
        self.failed = None

    def _wait(self, done, what):
        with self.changed:
            if not self.changed.wait_for(lambda: self.failed or done(), programs.PATIENCE):
                raise TimeoutError(what)
            if self.failed:
                raise AssertionError("another rank failed") from self.failed

    def fail(self, error):
        """Nobody waits any more."""
        with self.changed:
            self.failed = self.failed or error
            self.changed.notify_all()

    def others_have_pushed(self, step):
        self._wait(lambda: self.pushed[step] >= self.world_size - 1, f"the other ranks at step {step}")

    def enter(self, step, rank):
        if self.is_late(step, rank):
            self._wait(lambda: self.pushed[step] >= self.world_size - 1 and step not in self.held,
                       f"rank {rank} at step {step}")

    def is_late(self, step, rank):
        return step % self.world_size == rank

    def note(self, step):
        with self.changed:
            self.pushed[step] += 1
            self.changed.notify_all()

    def let_go(self, step):
        with self.changed:
            self.held.discard(step)
            self.changed.notify_all()


class Ranks:
    """The threads of a run."""

    def __init__(self, cluster, plan, held=(), trouble=Trouble(cancel=0.1, twice=0.1, again=0.1)):
        self.cluster, self.plan, self.trouble = cluster, plan, trouble
        self.gate, self.progress = Gate(plan.world_size, held), Progress()

    def start(self):
        self.pool = concurrent.futures.ThreadPoolExecutor(self.plan.world_size)
        self.working = [self.pool.submit(self.work, rank) for rank in range(self.plan.world_size)]
        return self

    def join(self):
        """Raises what a rank raised first."""
        self.pool.shutdown()
        if self.gate.failed:
            raise AssertionError("a rank failed") from self.gate.failed

    def pushers(self, rank):
        return [Pusher(self.cluster.connections[part], part,
                       random.Random(f"{self.plan.seed}/{self.plan.run}/{rank}/{part}"), self.trouble,
                       self.progress) for part in range(self.plan.parts)]

    def work(self, rank):
        try:
            self.train(rank)
        except BaseException as error:
            self.gate.fail(error)
            raise

    def train(self, rank):
        pushers = self.pushers(rank)
        for step in range(self.plan.first, self.plan.last + 1):
            self.gate.enter(step, rank)
            lsns = self.push(pushers, step, rank)
            self.gate.note(step)
            for tensor in self.plan.tensors:
                for part, pusher in enumerate(pushers):
                    self.compare(tensor, part, step, lsns[tensor.spec.name, part])
        for pusher in pushers:
            pusher.settle()

    def push(self, pushers, step, rank):
        """The largest LSN by tensor and part."""
        lsns = {}
        for part, pusher in enumerate(pushers):
            for tensor in self.plan.tensors:
                chunks = self.plan.chunks(tensor, part, step, rank)
                pusher.draw.shuffle(chunks)
                # The first push of a run is answered before the next one is sent.
                pusher.push_all(chunks, in_flight=1 if step == self.plan.first else 8)
                lsns[tensor.spec.name, part] = max(sent.lsn for sent in pusher.done[-len(chunks):])
        return lsns

    def compare(self, tensor, part, step, lsn):
        """The step after it lacks this rank's push, so no row shows it yet."""
        ids = tensor.placement.ids_of(part)[:TOUCHED]
        found = self.cluster.rows(tensor, part, lsn, ids)
        wanted = self.plan.after(tensor, part, step)
        wrong = differences({number: wanted.row(number) for number in ids}, found)
        if wrong:
            raise AssertionError(f"{tensor.spec.name} in part {part} after step {step}: {wrong}")
