"""Clients that push to all parts at once while servers are killed and answers are lost. What the
reference holds is what it applied of each push once, in the order of LSNs.
"""
import concurrent.futures
import random

from client import Progress, Pusher, Trouble
from cluster import differences, wanted_images, wanted_rows
from stubs import load
from workload import Pushes, optimizers, spec

TOUCHED = 30  # rows of a part, so that pushes meet


def make_tensors(cluster, seed):
    """And the kinds of pushes that each of them gets."""
    stubs = load()
    kv, graph, some = stubs.kv, stubs.graph, optimizers()
    # A NaN that is computed with is another NaN, of which nothing is said: such rows are only set.
    plain = [kv.PUSH_GRADIENT] * 4 + [kv.PUSH_ADD, kv.PUSH_ASSIGN, kv.PUSH_IMAGE, kv.PUSH_BITS]
    made = [
        (spec("adam", kv.PLACEMENT_HASH, 5, graph.DTYPE_FLOAT32, some["adam-decay"], rows=97), plain),
        (spec("halves", kv.PLACEMENT_NODES, 19, graph.DTYPE_FLOAT16, some["row-adagrad"],
              start=(-1, 1), seed=seed), plain),
        (spec("sums", kv.PLACEMENT_RANGE, 3, graph.DTYPE_BFLOAT16, some["none"], rows=61,
              start=(0, 2), seed=seed + 1), [kv.PUSH_ADD] * 3 + [kv.PUSH_ASSIGN]),
        (spec("bits", kv.PLACEMENT_HASH, 2, graph.DTYPE_FLOAT32, some["momentum"], rows=40),
         [kv.PUSH_ASSIGN, kv.PUSH_BITS, kv.PUSH_IMAGE])]
    return [(cluster.create(tensor), kinds) for tensor, kinds in made]


def random_pushes(tensors, part, draw, count):
    found = []
    for _ in range(count):
        tensor, kinds = draw.choice(tensors)
        pushes = Pushes(tensor, part, draw)
        ids = pushes.some_ids(draw.choice((0, 1, 2, 5, 12)), among=TOUCHED)
        found.append(pushes.request(draw.choice(kinds), ids, odd_bits=tensor.spec.name == "bits"))
    return found


class Scene:
    """`clients` a part push `count` times each, and servers are killed `kills` times meanwhile."""

    def __init__(self, cluster, seed, clients, count, kills):
        self.cluster, self.seed, self.kills = cluster, seed, kills
        self.draw = random.Random(f"{seed}/main")
        self.tensors = make_tensors(cluster, seed)
        self.progress = Progress()
        self.total = clients * count * cluster.parts
        self.pushers = []
        for part in range(cluster.parts):
            for client in range(clients):
                draw = random.Random(f"{seed}/{part}/{client}")
                pusher = Pusher(cluster.connections[part], part, draw,
                                Trouble(cancel=0.15, twice=0.1, again=0.1), self.progress)
                self.pushers.append((pusher, random_pushes(self.tensors, part, draw, count)))
        self.snapshots = []  # (part, name, LSN)

    def work(self, pusher, requests):
        try:
            pusher.push_all(requests)
            pusher.settle()
        except BaseException as error:
            self.progress.fail(error)
            raise

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(len(self.pushers)) as pool:
            working = [pool.submit(self.work, *one) for one in self.pushers]
            for kill in range(self.kills):
                self.progress.wait_for(int(self.total * (kill + self.draw.random()) / (self.kills + 1)))
                self.cluster.kill_and_restart(self.draw.randrange(self.cluster.parts),
                                              early=self.draw.random() < 0.3)
                if self.draw.random() < 0.5:
                    self.take_snapshot(self.draw.randrange(self.cluster.parts), f"kill-{kill}")
            for one in working:
                one.result()

    def take_snapshot(self, part, name):
        self.snapshots.append((part, name, self.cluster.snapshot(part, name).lsn))

    def check(self, test):
        for part in range(self.cluster.parts):
            self.take_snapshot(part, "end")
            self.check_part(test, part)

    def check_part(self, test, part):
        pushed = sorted((sent for pusher, _ in self.pushers if pusher.part == part
                         for sent in pusher.done), key=lambda sent: sent.lsn)
        lsns = [sent.lsn for sent in pushed]
        test.assertEqual(self.total // self.cluster.parts, len(lsns))
        test.assertEqual(len(lsns), len(set(lsns)), "two pushes have one LSN")
        for tensor, _ in self.tensors:
            self.check_tensor(test, part, tensor,
                              [sent for sent in pushed if sent.request.name == tensor.spec.name])

    def check_tensor(self, test, part, tensor, pushed):
        name = tensor.spec.name
        _, states = self.cluster.state_of(part)
        test.assertEqual((len(pushed), sum(len(sent.request.ids) for sent in pushed)),
                         (states[name].pushes, states[name].pushed_rows), f"{name}: pushes applied")
        moments = sorted((lsn, of_part, snapshot) for of_part, snapshot, lsn in self.snapshots
                         if of_part == part)
        applied = 0
        for lsn, _, snapshot in moments:
            while applied < len(pushed) and pushed[applied].lsn <= lsn:
                tensor.apply([pushed[applied].request])
                applied += 1
            images, _ = self.cluster.images(part, snapshot, tensor, max_bytes=1000)
            test.assertEqual([], differences(wanted_images(tensor, part), images),
                             f"{name} in snapshot {snapshot} of part {part}")
        test.assertEqual(len(pushed), applied, f"{name}: pushes behind the last snapshot")
        found = self.cluster.rows(tensor, part, pushed[-1].lsn if pushed else 0)
        test.assertEqual([], differences(wanted_rows(tensor, part), found), f"{name} in part {part}")
