"""Two servers and a trainer whose /metrics can be scraped."""
import hashlib

from harness import certificates, datasets, programs
from harness.metrics_page import SERVER, TRAINER
from harness.programs import must
from harness.training import ENDLESS, MEETING, options


class MetricsCluster:
    """Cora in two parts, each with state, and a trainer that pulls features and learns rows for ever;
    all over TLS, which has metrics of its own."""

    def __init__(self, box):
        self.box = box
        graph = box.folder / "cora"
        must(box.run("halograph-partition", "run", "--input", datasets.cora(), "--output", graph,
                     "--parts", 2, "--seed", 1))
        self.files = {SERVER: [], TRAINER: []}
        policy, token = self.rights(box.folder)
        tls = certificates.make(box.folder / "tls")
        servers = [box.start_server(graph, part, "--state", box.folder / "state", "--policy", policy,
                                    "--tls-dir", tls,
                                    *self.http(SERVER))
                   for part in range(2)]
        addresses = ",".join(programs.address(server) for server in servers)
        trainer = box.start(TRAINER, *options(
            servers=addresses, tls_dir=tls, token_file=token, embed="node:16", hidden=16, fanouts="5,5",
            batch_size=50, seed=3, threads=1, epochs=ENDLESS, log=box.folder / "log.jsonl", **MEETING),
            *self.http(TRAINER))
        self.processes = {SERVER: servers, TRAINER: [trainer]}

    @staticmethod
    def rights(folder):
        """A policy by which the trainer may do all that it does, and the file of its token."""
        policy, token = folder / "policy.yaml", folder / "trainer.token"
        secret = "a-token-of-the-trainer"
        token.write_text(secret)
        token.chmod(0o600)
        digest = hashlib.sha256(secret.encode()).hexdigest()
        policy.write_text(f"principals: {{trainer: {{tokens: ['sha256:{digest}'], may: {{"
                          "sample: ['*'], pull: ['*'], push: ['*'], create: ['*']}}}\n")
        return policy, token

    def http(self, program):
        """Options of the next process of a program."""
        path = self.box.folder / f"{program}-{len(self.files[program])}.http"
        self.files[program].append(path)
        return ["--http-listen", "127.0.0.1:0", "--http-address-file", path]

    def addresses(self, program):
        for process, path in zip(self.processes[program], self.files[program]):
            def written(process=process, path=path):
                if not process.running():
                    raise RuntimeError(f"{program} ended:\n{process.text}")
                return path.exists()
            programs.wait_until(written, f"{path}")
        return [path.read_text().strip() for path in self.files[program]]
