"""Servers with a state that are killed and come back at the same address, and what they hold beside what
the reference holds.
"""
import signal
import struct

from client import Connection
from harness import programs
from placement import Placement
from reference import Tensor
from stubs import load

PULLED = 512  # rows a call


class Cluster:
    """One server a part of a graph. To be used by one thread, beside what says otherwise: a server ends
    with the thread that started it."""

    def __init__(self, box, graph, parts, *options):
        self.box, self.graph, self.parts, self.options = box, graph, parts, options
        self.servers, self.addresses = [None] * parts, ["127.0.0.1:0"] * parts
        for part in range(parts):
            self.launch(part)
        for part in range(parts):
            self.await_start(part)
        self.connections = [Connection(address) for address in self.addresses]
        self.described = self.connections[0].call(self.connections[0].graph.Describe,
                                                  load().graph.DescribeRequest())
        self.tensors = {}  # by name
        self.original_ids = None

    def close(self):
        for connection in self.connections:
            connection.close()

    def launch(self, part):
        self.servers[part] = self.box.start_server(
            self.graph, part, "--state", self.box.folder / "state", *self.options,
            listen=self.addresses[part])

    def await_start(self, part):
        self.addresses[part] = programs.address(self.servers[part])

    def kill(self, part):
        self.servers[part].signal(signal.SIGKILL)
        self.servers[part].wait()

    def kill_and_restart(self, part, early=False):
        """`early`: once more while it starts."""
        self.kill(part)
        if early:
            self.launch(part)
            self.kill(part)
        self.launch(part)
        self.await_start(part)

    def boundaries(self, node_type="node"):
        types = [kind.name for kind in self.described.schema.node_types]
        return list(self.described.book.nodes[types.index(node_type)].values)

    def create(self, spec):
        """A tensor in all parts, and its reference. Of nodes it needs their original ids."""
        for connection in self.connections:
            connection.call(connection.kv.CreateTensor, load().kv.CreateTensorRequest(spec=spec))
        if spec.placement == load().kv.PLACEMENT_NODES:
            placement = Placement(spec, self.parts, self.boundaries(), self.node_originals())
        else:
            placement = Placement(spec, self.parts)
        self.tensors[spec.name] = Tensor(spec, placement)
        return self.tensors[spec.name]

    def node_originals(self):
        if self.original_ids is None:
            found, limits = [], self.boundaries()
            for part in range(self.parts):
                ids = range(limits[part], limits[part + 1])
                found += struct.unpack(f"<{len(ids)}q", self.pull(part, "node", "@original_id", ids))
            self.original_ids = found
        return self.original_ids

    def pull(self, part, type_, name, ids, min_lsn=0):
        """Any thread."""
        connection, ids = self.connections[part], list(ids)
        return b"".join(connection.call(connection.kv.Pull, load().kv.PullRequest(
            type=type_, name=name, ids=ids[at:at + PULLED], min_lsn=min_lsn)).rows
            for at in range(0, len(ids), PULLED))

    def rows(self, tensor, part, min_lsn=0, ids=None):
        """Bytes by id. Any thread."""
        ids = tensor.placement.ids_of(part) if ids is None else ids
        pulled = self.pull(part, tensor.spec.type, tensor.spec.name, ids, min_lsn)
        return {number: pulled[i * tensor.row_bytes:(i + 1) * tensor.row_bytes]
                for i, number in enumerate(ids)}

    def state_of(self, part):
        """PartState, and TensorState by name."""
        connection = self.connections[part]
        reply = connection.call(connection.kv.ListTensors, load().kv.ListTensorsRequest())
        (found,) = reply.parts
        return found, {state.spec.name: state for state in found.tensors}

    def snapshot(self, part, name, step=None):
        """Takes one; PartSnapshot. If an answer was lost, it may be there already."""
        connection, kv = self.connections[part], load().kv
        request = kv.SnapshotTensorsRequest(name=name, step=step)
        reply = connection.call(connection.kv.SnapshotTensors, request,
                                also_fine=[connection.codes.ALREADY_EXISTS])
        reply = reply or connection.call(connection.kv.ListSnapshots, kv.ListSnapshotsRequest(name=name))
        (found,) = reply.snapshots
        return found

    def restore(self, name):
        for connection in self.connections:
            connection.call(connection.kv.RestoreSnapshot, load().kv.RestoreSnapshotRequest(name=name))

    def images(self, part, name, tensor, max_bytes=0):
        """What a snapshot has of a tensor: bytes by id, and the steps that pages told."""
        connection, found, steps = self.connections[part], {}, []
        request = load().kv.ReadSnapshotRequest(name=name, part=part, type=tensor.spec.type,
                                                tensor=tensor.spec.name, max_bytes=max_bytes)
        ids, size = tensor.placement.ids_of(part), tensor.row_bytes + tensor.state_bytes
        while True:
            page = connection.call(connection.kv.ReadSnapshot, request)
            for i, row in enumerate(page.rows):
                found[ids[row]] = page.images[i * size:(i + 1) * size]
            if page.HasField("step"):
                steps.append(page.step)
            if not page.HasField("next"):
                return found, steps
            request.place.CopyFrom(page.next)


def differences(wanted, found, limit=3):
    """In words: of two dictionaries of bytes."""
    wrong = [key for key in sorted(set(wanted) | set(found)) if wanted.get(key) != found.get(key)]
    return [f"{key}: wanted {(wanted.get(key) or b'').hex(' ', 4)}, "
            f"found {(found.get(key) or b'').hex(' ', 4)} ({len(wrong)} differ)" for key in wrong[:limit]]


def wanted_rows(tensor, part):
    return {number: tensor.row(number) for number in tensor.placement.ids_of(part)}


def wanted_images(tensor, part):
    """Of the rows that were pushed."""
    return {number: tensor.image(number) for number in tensor.placement.ids_of(part)
            if number in tensor.images}
