#!/usr/bin/env python3
"""A client that has no code of ours: what proto/halograph/v1 says is enough to push exactly once, to train
in synchronous steps, and to compute every bit of rows and optimizer state.

What servers hold is compared with a reference that follows the comments of kv.proto. HALOGRAPH_FOREIGN_SEED
is the seed of what is drawn, which is printed.
"""
import random

import stubs

stubs.run_where_grpc_is()

# pylint: disable=wrong-import-position
from client import TOO_OLD
from cluster import differences
from harness import programs
from placement import hash_place
from scenes import PARTS, ForeignBase
from steps import Plan, Ranks
from workload import optimizers, small_or_large, spec


class ForeignClientTest(ForeignBase):
    def test_pushes_are_applied_once_though_servers_are_killed_and_answers_are_lost(self):
        self.push_while_servers_are_killed(self.seed, clients=3, count=60, kills=4)

    def test_what_is_refused_changes_nothing_and_the_client_goes_on(self):
        cluster = self.serve()
        kv, graph = self.kv, self.dtypes
        tensor = cluster.create(spec("rows", kv.PLACEMENT_RANGE, 1, graph.DTYPE_FLOAT32,
                                     optimizers()["none"], rows=8))

        def add(ids, values, **other):
            return kv.PushRequest(**{"name": "rows", "kind": kv.PUSH_ADD, "ids": ids, **other,
                                     "dtype": graph.DTYPE_FLOAT32, "rows": tensor.dtype.encode(values)})
        for registered in (False, True):
            (pusher, _) = self.pushers(cluster, registered=registered)
            tensor.apply([add([0, 1], [1.5, 2.5])])
            pusher.push(add([0, 1], [1.5, 2.5]))
            for code, request in (
                    ("NOT_FOUND", add([0], [1], name="none")), ("OUT_OF_RANGE", add([0, 4], [1, 1])),
                    ("OUT_OF_RANGE", add([0, 8], [1, 1])), ("INVALID_ARGUMENT", add([0, 1], [1, 1, 1])),
                    ("INVALID_ARGUMENT", add([0, 1], [1, float("nan")])),
                    ("INVALID_ARGUMENT", add([0, 1], [1, float("-inf")])),
                    ("INVALID_ARGUMENT", add([0], [1], kind=kv.PUSH_GRADIENT))):
                self.assert_refused(code, lambda: pusher.push(request))
                pusher.give_up()
            for _ in range(65):  # number 1 is one of the newest no more
                tensor.apply([add([2], [0.25])])
                pusher.push(add([2], [0.25]))
            last = pusher.sequence
            old, other, far, unknown = (
                add([2], [7], part=0, client=client, sequence=number, registered=registered)
                for client, number in ((pusher.client, 1), (pusher.client, last),
                                       (pusher.client, last + 65), (pusher.client ^ 1, 70)))
            for code, request, reason in (
                    ("FAILED_PRECONDITION", old, TOO_OLD), ("FAILED_PRECONDITION", other, ""),
                    ("RESOURCE_EXHAUSTED", far, ""), ("FAILED_PRECONDITION", unknown, TOO_OLD)):
                self.assert_refused(code, lambda: pusher.connection.push(request.SerializeToString()),
                                    reason=reason)
        self.assert_rows(cluster, tensor)

    def test_steps_are_whole_and_in_order_though_servers_are_killed_within_them(self):
        self.train_while_servers_are_killed(self.seed, [(2, 4, 3), (3, 3, 2)])

    def test_optimizers_give_the_bits_of_their_formulas(self):
        self.compare_optimizers(self.seed, rounds=4)

    def test_a_snapshot_of_a_step_is_restored_and_goes_to_another_tensor(self):
        cluster = self.serve()
        tensors = self.step_tensors(cluster, self.seed)
        first = Plan(tensors, PARTS, self.seed, 11, 2, 0, 5)
        ranks = Ranks(cluster, first, held=[2]).start()
        ranks.gate.others_have_pushed(2)
        asked = [cluster.connections[part].kv.SnapshotTensors.future(
            self.kv.SnapshotTensorsRequest(name="three", step=3), timeout=programs.PATIENCE)
            for part in range(PARTS)]
        ranks.gate.let_go(2)
        for one in asked:
            self.assertEqual(3, one.result().snapshots[0].step)
        ranks.join()
        for part in range(PARTS):
            cluster.kill_and_restart(part)
        first.carry_on(step=3)
        for tensor in tensors:
            for steps in self.assert_images(cluster, tensor, "three", max_bytes=500):
                self.assertEqual({3}, set(steps))
        cluster.restore("three")
        for tensor in tensors:
            self.assert_rows(cluster, tensor, "restored")
        for pusher in self.pushers(cluster, "of the run before"):
            self.assert_refused("FAILED_PRECONDITION", lambda: self.push_step(pusher, first, 4, 0))

        second = Plan(tensors, PARTS, self.seed, 12, 3, 4, 5)
        Ranks(cluster, second).start().join()
        second.carry_on()
        for part in range(PARTS):
            cluster.snapshot(part, "five")
        for tensor in tensors:
            list(self.assert_images(cluster, tensor, "five"))
            self.assert_rows(cluster, tensor, "after the second run")
        self.import_snapshot(cluster, cluster.tensors["table"], "five")

    def import_snapshot(self, cluster, source, snapshot):
        """Its images go to a tensor of another placement, and a gradient does the same to both."""
        kv = self.kv
        copy = kv.MutableTensorSpec()
        copy.CopyFrom(source.spec)
        copy.name, copy.placement = "copy", kv.PLACEMENT_RANGE
        target, pushers = cluster.create(copy), self.pushers(cluster, "import")
        for part in range(PARTS):
            for number, image in cluster.images(part, snapshot, source)[0].items():
                pushers[target.placement.owner(number)].push(kv.PushRequest(
                    name="copy", kind=kv.PUSH_IMAGE, ids=[number], dtype=copy.dtype, rows=image))
        draw = random.Random(f"{self.seed}/gradient")
        for number in range(copy.rows):
            g = [small_or_large(draw) for _ in range(copy.dim)]
            for tensor in (source, target):
                pushers[tensor.placement.owner(number)].push(kv.PushRequest(
                    name=tensor.spec.name, kind=kv.PUSH_GRADIENT, ids=[number],
                    dtype=self.dtypes.DTYPE_BFLOAT16, rows=tensor.dtype.encode(g)))
        found = [{number: row for part in range(PARTS) for number, row in
                  cluster.rows(tensor, part).items()} for tensor in (source, target)]
        self.assertEqual([], differences(*found))

    def test_owners_and_first_values_follow_from_the_id(self):
        cluster = self.serve()
        kv = self.kv
        for rows in (1, 2, 3, 97, 1024, 1025):
            self.assertEqual(list(range(rows)), sorted(hash_place(i, rows) for i in range(rows)))
            hashed = spec(f"hash-{rows}", kv.PLACEMENT_HASH, 3, self.dtypes.DTYPE_FLOAT16, None, rows)
            hashed.initializer.kind, hashed.initializer.seed = kv.Initializer.XAVIER, 2**63 + rows
            ranged = spec(f"range-{rows}", kv.PLACEMENT_RANGE, 2, self.dtypes.DTYPE_FLOAT32, None, rows,
                          start=(-3, 1e-3), seed=rows)
            for one in (hashed, ranged):
                tensor = cluster.create(one)
                self.assert_rows(cluster, tensor)
                self.assert_owners(cluster, tensor)
        nodes = spec("nodes", kv.PLACEMENT_NODES, 2, self.dtypes.DTYPE_BFLOAT16, None, start=(1, 2), seed=7)
        self.assert_rows(cluster, cluster.create(nodes))

    def assert_owners(self, cluster, tensor):
        for part in range(PARTS):
            _, states = cluster.state_of(part)
            state = states[tensor.spec.name]
            self.assertEqual(tensor.placement.boundaries[part:part + 2], [state.first_id, state.end_id])
            for number in tensor.placement.ids_of(1 - part)[:3]:
                self.assert_refused("OUT_OF_RANGE", lambda: cluster.rows(tensor, part, ids=[number]))
                self.assertEqual(1 - part, tensor.placement.owner(number))

    def test_sums_beyond_float16_are_infinite_and_bits_are_kept(self):
        cluster = self.serve()
        kv, graph = self.kv, self.dtypes
        (pusher, _) = self.pushers(cluster)
        for name, dtype in (("f16", graph.DTYPE_FLOAT16), ("bf16", graph.DTYPE_BFLOAT16)):
            tensor = cluster.create(spec(name, kv.PLACEMENT_RANGE, 4, dtype, None, rows=8))
            values = tensor.dtype.encode([65504.0, -65504.0, 1e-8, -0.0])
            odd = bytes.fromhex("ffff7fff017c007c")  # NaN of either sign, a signalling one, infinity
            for kind, ids, rows in ((kv.PUSH_ADD, [0, 0, 1], values * 3), (kv.PUSH_ADD, [1], values),
                                    (kv.PUSH_BITS, [2, 3, 2], odd + odd + values),
                                    (kv.PUSH_IMAGE, [3], odd)):
                request = kv.PushRequest(name=name, kind=kind, ids=ids, dtype=dtype, rows=rows)
                pusher.push(request)
                tensor.apply([request])
            self.assert_rows(cluster, tensor)


class ForeignClientLongTest(ForeignBase):
    ROUNDS = 4

    def seeds(self):
        return [self.seed + i for i in range(self.ROUNDS)]

    def rounds(self, scene):
        for seed in self.seeds():
            with self.subTest(seed=seed):
                box, self.box = self.box, programs.Sandbox()
                try:
                    scene(seed)
                finally:
                    self.box.close()
                    self.box = box

    def test_pushes_are_applied_once_through_many_kills(self):
        self.rounds(lambda seed: self.push_while_servers_are_killed(
            seed, 4, 250, 15, "--sync", ("always", "interval", "never")[seed % 3]))

    def test_steps_are_whole_through_many_kills_and_runs(self):
        self.rounds(lambda seed: self.train_while_servers_are_killed(
            seed, [(2, 8, 4), (3, 8, 4), (1, 3, 1), (2, 6, 3)]))

    def test_optimizers_give_the_bits_of_their_formulas_for_many_updates(self):
        self.rounds(lambda seed: self.compare_optimizers(seed, rounds=20))


if __name__ == "__main__":
    programs.main()
