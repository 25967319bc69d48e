#!/usr/bin/env python3
"""Who may do what, by the names of certificates that openssl made, to servers with --policy; a
certificate that is revoked, and one that is for another host."""
from harness import certificates, programs
from harness.cora_in_two import CoraInTwoTest
from harness.programs import must, wait_until
from harness.training import ENDLESS, num_epochs, options

TRAINER, SAMPLER = "spiffe://example.org/halograph/trainer", "sampler.example.org"
POLICY = f"""principals:
  trainers:
    certificates: ["{TRAINER}"]
    may: {{sample: ["node:edge:node"], pull: [node/feat, "task:*"]}}
  samplers:
    certificates: [{SAMPLER}]
    may: {{sample: ["*"], pull: ["task:*"]}}
  watchers:
    certificates: [watcher]
    may: {{}}
"""


class CertificateRightsTest(CoraInTwoTest):
    """What is refused ends long before --timeout, which is longer than a test waits."""
    AT_ONCE = 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.root = certificates.make(cls.shared.folder / "tls", "server")
        cls.tls = {name: certificates.another(cls.root, name, also) for name, also in (
            ("trainer", f"URI:{TRAINER}"), ("sampler", f"DNS:{SAMPLER}"), ("watcher", certificates.LOOPBACK),
            ("stranger", certificates.LOOPBACK), ("stolen", f"URI:{TRAINER}"))}

    def setUp(self):
        super().setUp()
        policy = self.box.folder / "policy.yaml"
        policy.write_text(POLICY)
        self.servers, self.addresses = self.box.servers(self.graph, [0, 1], "--tls-dir", self.root,
                                                        "--policy", policy, "--connection-age", "1s")

    def calls(self, name, timeout="1h"):
        return options(servers=",".join(self.addresses), tls_dir=self.tls[name], timeout=timeout)

    def trains(self, name, **given):
        return ["halograph-train", *self.calls(name), *options(**{"epochs": 1, "hidden": 16, "threads": 1, **given})]

    def status(self, name, **given):
        return self.box.run("halograph-ctl", "status", *self.calls(name, **given))

    def log(self):
        return "".join(server.err for server in self.servers)

    def test_each_name_of_a_certificate_has_its_rights_and_no_others(self):
        must(self.box.run(*self.trains("trainer")))
        self.assertNotIn("DENIED", self.log())
        for name, denied in (("sampler", "samplers may not pull: tensor node/feat"),
                             ("watcher", "watchers may not pull: task set task:node_classification")):
            self.assertCode(1, self.box.run(*self.trains(name)), f"{denied}; who runs the servers can grant")
            self.assertIn(f"as {name}s: PERMISSION_DENIED: {denied}", self.log())
            self.assertCode(0, self.status(name), *self.addresses)

    def test_a_certificate_without_a_principal_is_told_so(self):
        nobody = "::1, stranger) is nobody's: let who runs the servers add one of its names"
        self.assertCode(1, self.box.run(*self.trains("stranger")), nobody)
        self.assertCode(1, self.status("stranger"), "UNAUTHENTICATED: ", nobody)

    def test_a_certificate_that_is_revoked_ends_its_training_and_its_owner_is_told_why(self):
        log = self.box.folder / "log.jsonl"
        trainer = self.box.start(*self.trains("stolen", epochs=ENDLESS, log=log))
        wait_until(lambda: num_epochs(log) > 1 or not trainer.running(), "epochs")
        self.assertTrue(trainer.running(), trainer.text)
        why = f"check yours: CN=stolen of {self.tls['stolen']}/tls.crt"
        self.assertNotIn(why, trainer.err)
        certificates.revoke(self.root, self.tls["stolen"])
        # It goes on asking until --timeout, as the list may be mended.
        wait_until(lambda: why in trainer.err or not trainer.running(), why)
        self.assertIn("it may be revoked", trainer.err)
        wait_until(lambda: "certificate revoked" in self.log(), "the server's reason")
        wait_until(lambda: "down (refused)" in self.status("stolen", timeout="2s").out, "what status calls it")
        must(self.status("trainer"))


class ServerCertificateTest(CoraInTwoTest):
    """A server whose certificate is not for the address by which it is called. No time mends it."""

    def test_status_and_training_name_the_address_and_what_to_look_at(self):
        root = certificates.make(self.box.folder / "tls")
        elsewhere = certificates.another(root, "elsewhere", "DNS:elsewhere.example.org,IP:10.0.0.7")
        _, (address,) = self.box.servers(self.graph, ["all"], "--tls-dir", elsewhere)
        calls = options(servers=address, tls_dir=root, timeout="1h")
        for program in (["halograph-ctl", "status"], ["halograph-train", *options(epochs=1, threads=1)]):
            self.assertCode(1, self.box.run(*program, *calls), address, "is not for 127.0.0.1", "subjectAltName")


if __name__ == "__main__":
    programs.main()
