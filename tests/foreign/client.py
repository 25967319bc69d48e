"""A client that goes by the comments of kv.proto alone: calls that are repeated until they are answered,
and pushes that are applied exactly once, whatever becomes of servers and answers.
"""
import queue
import threading
import time

from harness import programs
from stubs import load

WINDOW = 64  # a number is sent when all up to this many before it have been answered
TOO_OLD = "too-old-to-tell"
# Of a server that is started again soon.
OPTIONS = [("grpc.initial_reconnect_backoff_ms", 20), ("grpc.min_reconnect_backoff_ms", 20),
           ("grpc.max_reconnect_backoff_ms", 50), ("grpc.use_local_subchannel_pool", 1)]


def told(failed, key, otherwise):
    """What a server says behind an error."""
    return next((value for name, value in failed.trailing_metadata() or () if name == key), otherwise)


class Connection:
    """To one server."""

    def __init__(self, address):
        import grpc
        self.codes = grpc.StatusCode
        self.channel = grpc.insecure_channel(address, OPTIONS)
        stubs = load()
        self.graph = stubs.graph_calls.GraphServiceStub(self.channel)
        self.kv = stubs.kv_calls.KVServiceStub(self.channel)
        # Takes bytes: what is repeated is the same to the last of them.
        self.push = self.channel.unary_unary("/halograph.v1.KVService/Push",
                                             response_deserializer=stubs.kv.PushReply.FromString)

    def close(self):
        self.channel.close()

    def call(self, method, request, also_fine=()):
        """For calls that may be made twice. Repeats while the server is away; None for a code of
        `also_fine`."""
        import grpc
        end = time.monotonic() + programs.PATIENCE
        while True:
            try:
                return method(request, timeout=programs.PATIENCE, wait_for_ready=True)
            except grpc.RpcError as failed:
                if failed.code() in also_fine:
                    return None
                if failed.code() != self.codes.UNAVAILABLE or time.monotonic() > end:
                    raise


class Progress:
    """Counts what is done in other threads, and passes on what went wrong there."""

    def __init__(self):
        self.changed = threading.Condition()
        self.count, self.failed = 0, None

    def add(self):
        with self.changed:
            self.count += 1
            self.changed.notify_all()

    def fail(self, error):
        with self.changed:
            self.failed = self.failed or error
            self.changed.notify_all()

    def wait_for(self, count):
        with self.changed:
            if not self.changed.wait_for(lambda: self.failed or self.count >= count, programs.PATIENCE):
                raise TimeoutError(f"{count}: still at {self.count}")
            if self.failed:
                raise AssertionError("another thread failed") from self.failed


class Sent:
    """A push under way, or answered."""

    def __init__(self, request, floor):
        self.request, self.bytes, self.floor = request, request.SerializeToString(), floor
        self.calls = []  # that have no answer yet
        self.lsn = None


class Trouble:
    """How often, of each answer: a call is cancelled; a push is sent twice at once; one that was
    acknowledged is sent again."""

    def __init__(self, cancel=0.0, twice=0.0, again=0.0):
        self.cancel, self.twice, self.again = cancel, twice, again


class Pusher:
    """One client of one part, for one thread. `registered`: the part gives it its id; else it draws
    one; not said: by chance."""

    def __init__(self, connection, part, draw, trouble=Trouble(), progress=None, registered=None):
        self.registered = draw.random() < 0.5 if registered is None else registered
        self.connection, self.part, self.draw, self.trouble = connection, part, draw, trouble
        self.progress = progress or Progress()
        self.answers = queue.Queue()
        self.done = []  # in the order of the answers
        self.repeated = self.cancelled = self.largest_lsn = self.too_old = 0
        self.begin_anew()

    def begin_anew(self):
        """At first; with a drawn id after an error that ended a push for good. The largest LSN is the
        part's, and stays."""
        self.client, self.sequence, self.answered = self.draw.randrange(1, 2**64), 0, 0
        if self.registered:
            given = self.connection.call(self.connection.kv.RegisterClient,
                                         load().kv.RegisterClientRequest(part=self.part))
            if given.lsn <= self.largest_lsn:
                raise AssertionError(f"LSN {given.lsn} after {self.largest_lsn}: pushes were lost")
            self.client, self.largest_lsn = given.client, given.lsn
        self.open, self.newest = {}, []  # by number; acknowledged ones, too

    def give_up(self):
        """What is under way is never sent again."""
        self.open = {}
        if not self.registered:
            self.begin_anew()

    def push_all(self, requests, in_flight=8):
        """Until each is acknowledged."""
        waiting = list(reversed(requests))
        while waiting or self.open:
            while waiting and len(self.open) < in_flight and self.may_send():
                self.start(waiting.pop())
            self.take(*self.answers.get(timeout=programs.PATIENCE))
        return self

    def push(self, request):
        self.push_all([request])
        return self.done[-1].lsn

    def may_send(self):
        return not self.open or min(self.open) > self.sequence + 1 - WINDOW

    def start(self, request):
        self.sequence += 1
        request.part, request.client, request.sequence = self.part, self.client, self.sequence
        if self.registered:
            self.answered = min(self.open, default=self.sequence) - 1
            request.registered, request.answered = True, self.answered
        sent = self.open[self.sequence] = Sent(request, self.largest_lsn)
        self.newest = [*self.newest, sent][-WINDOW:]
        self.send(sent)

    def send(self, sent):
        call = self.connection.push.future(sent.bytes, timeout=programs.PATIENCE, wait_for_ready=True)
        sent.calls.append(call)
        call.add_done_callback(lambda ended: self.answers.put((sent, ended)))

    def take(self, sent, call):
        sent.calls.remove(call)
        codes = self.connection.codes
        if call.code() == codes.OK:
            self.acknowledged(sent, call.result())
        elif told(call, "halograph-reason", "") == TOO_OLD and self.may_be_too_old(sent):
            self.too_old += 1
        elif call.code() not in (codes.UNAVAILABLE, codes.DEADLINE_EXCEEDED, codes.CANCELLED):
            call.result()  # raises it
        elif sent.lsn is None and not sent.calls:
            threading.Event().wait(int(told(call, "grpc-retry-pushback-ms", 0)) / 1000)
            self.send(sent)
        self.make_trouble()

    def may_be_too_old(self, sent):
        """Of a second call, which came when the number was among those that are kept no more."""
        kept_above = self.answered if self.registered else self.sequence - WINDOW
        return sent.lsn is not None and sent.request.sequence <= kept_above

    def acknowledged(self, sent, reply):
        if sent.lsn is not None:
            if reply.lsn != sent.lsn:
                raise AssertionError(f"LSN {sent.lsn}, then {reply.lsn}: {sent.request}")
            self.repeated += reply.applied_before
            return
        if reply.lsn <= sent.floor:
            raise AssertionError(f"LSN {reply.lsn} after {sent.floor}: pushes were lost")
        sent.lsn = reply.lsn
        self.largest_lsn = max(self.largest_lsn, reply.lsn)
        del self.open[sent.request.sequence]
        self.done.append(sent)
        self.progress.add()

    def make_trouble(self):
        open_ = list(self.open.values())
        if open_ and self.draw.random() < self.trouble.cancel:
            for call in self.draw.choice(open_).calls[:1]:
                self.cancelled += call.cancel()
        if open_ and self.draw.random() < self.trouble.twice:
            self.send(self.draw.choice(open_))
        if self.draw.random() < self.trouble.again:
            self.send_again(self.draw)

    def send_again(self, draw):
        answered = [sent for sent in self.newest if sent.lsn is not None and not sent.calls]
        if answered:
            self.send(draw.choice(answered))

    def settle(self):
        """Takes the answers to what was sent again."""
        while any(sent.calls for sent in self.newest):
            self.take(*self.answers.get(timeout=programs.PATIENCE))
