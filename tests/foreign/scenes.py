"""What the tests of a foreign client share: servers, comparisons, and the scenes that are short in one class
and long in another.
"""
import os
import random

import stubs
from client import Pusher, told
from cluster import Cluster, differences, wanted_images, wanted_rows
from exactly_once import Scene
from harness.cora_in_two import CoraInTwoTest
from steps import Plan, Ranks
from workload import Pushes, optimizers, spec

PARTS = 2


class ForeignBase(CoraInTwoTest):
    AT_ONCE = 2

    @classmethod
    def setUpClass(cls):
        cls.stubs = stubs.load()
        cls.kv, cls.dtypes = cls.stubs.kv, cls.stubs.graph
        cls.seed = int(os.environ.get("HALOGRAPH_FOREIGN_SEED", "1"))
        print(f"HALOGRAPH_FOREIGN_SEED={cls.seed}", flush=True)
        super().setUpClass()

    def serve(self, *options):
        cluster = Cluster(self.box, self.graph, PARTS, *options)
        self.addCleanup(cluster.close)
        return cluster

    def pushers(self, cluster, name="pusher", registered=None):
        return [Pusher(cluster.connections[part], part, random.Random(f"{self.seed}/{name}/{part}"),
                       registered=registered)
                for part in range(cluster.parts)]

    def assert_rows(self, cluster, tensor, why=""):
        for part in range(cluster.parts):
            self.assertEqual([], differences(wanted_rows(tensor, part), cluster.rows(tensor, part)),
                             f"{why}: {tensor.spec.name} in part {part}")

    def assert_images(self, cluster, tensor, snapshot, max_bytes=0):
        for part in range(cluster.parts):
            found, steps = cluster.images(part, snapshot, tensor, max_bytes)
            self.assertEqual([], differences(wanted_images(tensor, part), found),
                             f"{tensor.spec.name} in part {part} of snapshot {snapshot}")
            yield steps

    def assert_refused(self, code, call, *mentioned, reason=""):
        import grpc
        with self.assertRaises(grpc.RpcError) as caught:
            call()
        self.assertEqual(getattr(grpc.StatusCode, code), caught.exception.code(),
                         caught.exception.details())
        for word in mentioned:
            self.assertIn(word, caught.exception.details())
        self.assertEqual(reason, told(caught.exception, "halograph-reason", ""))

    # ---- exactly once ------------------------------------------------------------------------

    def push_while_servers_are_killed(self, seed, clients, count, kills, *options):
        cluster = self.serve(*options)
        scene = Scene(cluster, seed, clients, count, kills)
        scene.run()
        scene.check(self)
        for what in ("repeated", "cancelled"):  # else nothing of it was tried
            self.assertGreater(sum(getattr(pusher, what) for pusher, _ in scene.pushers), 0, what)

    # ---- synchronous steps -------------------------------------------------------------------

    def step_tensors(self, cluster, seed):
        kv, some = self.kv, optimizers()
        return [cluster.create(one) for one in (
            spec("nodes", kv.PLACEMENT_NODES, 7, self.dtypes.DTYPE_FLOAT32, some["adagrad-decay"],
                 start=(-1, 1), seed=seed),
            spec("table", kv.PLACEMENT_HASH, 18, self.dtypes.DTYPE_BFLOAT16, some["row-adagrad"],
                 rows=83, start=(0, 1), seed=seed + 1),
            spec("range", kv.PLACEMENT_RANGE, 3, self.dtypes.DTYPE_FLOAT32, some["adam"], rows=9))]

    def train_while_servers_are_killed(self, seed, runs):
        """`runs`: (world size, steps, how many of them a server is killed in). Between two runs a step
        is left to which one rank did not push."""
        cluster = self.serve()
        tensors = self.step_tensors(cluster, seed)
        draw = random.Random(f"{seed}/kills")
        first, left = 0, None
        for world_size, steps, kills in runs:
            plan = Plan(tensors, PARTS, seed, draw.randrange(2**64), world_size, first, first + steps - 1)
            held = sorted(draw.sample(range(first, first + steps), kills))
            ranks = Ranks(cluster, plan, held).start()
            for step in held:
                ranks.gate.others_have_pushed(step)
                for part in draw.choice(((0,), (1,), (0, 1))):
                    if draw.random() < 0.5:  # what waits for the late rank is in a checkpoint then
                        cluster.snapshot(part, f"step-{step}")
                    cluster.kill_and_restart(part)
                ranks.gate.let_go(step)
            ranks.join()
            plan.carry_on()
            for tensor in tensors:
                self.assert_rows(cluster, tensor, f"after step {plan.last}")
            if left is not None:  # the run before is over, also for a rank that comes late
                for pusher in self.pushers(cluster, f"late/{plan.run}"):
                    self.assert_refused("FAILED_PRECONDITION", lambda: self.push_step(
                        pusher, left, plan.last + 1, left.world_size - 1))
            left, first = self.leave_a_step(cluster, plan), first + steps
            if draw.random() < 0.5:
                cluster.kill_and_restart(draw.randrange(PARTS))
        for part in range(PARTS):
            _, states = cluster.state_of(part)
            self.assertEqual({first - 1}, {state.step for state in states.values()})

    def leave_a_step(self, cluster, plan):
        """All ranks but the last one push the step that follows the run: it is never applied."""
        for rank in range(plan.world_size - 1):
            for pusher in self.pushers(cluster, f"left/{plan.run}/{rank}"):
                self.push_step(pusher, plan, plan.last + 1, rank)
        for tensor in plan.tensors:
            self.assert_rows(cluster, tensor, "without a step that is not complete")
        return plan

    @staticmethod
    def push_step(pusher, plan, step, rank):
        for tensor in plan.tensors:
            for chunk in plan.chunks(tensor, pusher.part, step, rank):
                pusher.push(chunk)

    # ---- optimizers --------------------------------------------------------------------------

    def compare_optimizers(self, seed, rounds):
        """Several pushes at a time, in the order of their LSNs."""
        cluster = self.serve()
        draw, tensors = random.Random(f"{seed}/optimizers"), []
        names = {"f32": self.dtypes.DTYPE_FLOAT32, "f16": self.dtypes.DTYPE_FLOAT16,
                 "bf16": self.dtypes.DTYPE_BFLOAT16}
        for name, optimizer in optimizers().items():
            for dtype, number in names.items():
                tensors.append(cluster.create(spec(
                    f"{name}-{dtype}", self.kv.PLACEMENT_HASH, draw.choice((1, 5, 16, 19, 37)), number,
                    optimizer, rows=24, start=(-2, 2), seed=draw.randrange(2**64))))
        for pusher in self.pushers(cluster):
            requests = []
            for tensor in tensors:
                pushes = Pushes(tensor, pusher.part, draw)
                kind = (self.kv.PUSH_GRADIENT if tensor.optimizer.update else self.kv.PUSH_ADD)
                requests += [pushes.request(kind, pushes.some_ids(12, among=6)) for _ in range(rounds)]
            draw.shuffle(requests)
            for sent in sorted(pusher.push_all(requests).done, key=lambda sent: sent.lsn):
                cluster.tensors[sent.request.name].apply([sent.request])
        for part in range(PARTS):
            cluster.snapshot(part, "end")
        for tensor in tensors:
            self.assert_rows(cluster, tensor)
            list(self.assert_images(cluster, tensor, "end"))
