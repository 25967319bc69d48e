#!/usr/bin/env python3
"""deploy/kubernetes without a cluster: the objects under Kubernetes' types, what they say against the programs'
own defaults, and the server's command as it stands there.

Needs Debian's python3-yaml, and node 20 and npm for the types; where one is missing, what needs it skips and
names it; where HALOGRAPH_NEED_TOOLS is 1 it fails.
"""
import functools
import json
import os
import pathlib
import re
import shlex
import subprocess
import urllib.request

from harness import programs, service
from harness.cora_in_two import CoraInTwoTest
from harness.node_tools import node, node_packages
from harness.tools import missing

HERE = pathlib.Path(__file__).resolve().parent
MANIFESTS = HERE.parents[1] / "deploy/kubernetes"
FILES = ("one.yaml", "replicated.yaml")
STOP = ("drain-delay", "drain-timeout", "stop-timeout")
READ = """
import json, sys, yaml
class Loader(yaml.SafeLoader):
    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key) for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"a key stands twice: {keys}, {node.start_mark}"
        return super().construct_mapping(node, deep)
json.dump(list(yaml.load_all(sys.stdin, Loader)), sys.stdout)
"""


@functools.lru_cache(None)
def read(name):
    """The objects of a file, which nobody changes."""
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import yaml"], capture_output=True, check=False).returncode != 0:
        missing(f"{python} has no yaml (Debian's package python3-yaml; deploy/install-packages.sh operations)")
    text = (MANIFESTS / name).read_text(encoding="utf-8")
    done = subprocess.run([python, "-c", READ], input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{name}: {done.stderr}")
    return json.loads(done.stdout)


def everything():
    return [item for name in FILES for item in read(name)]


def of_kind(*kinds):
    return [item for item in everything() if item["kind"] in kinds]


def template(item):
    return item["spec"]["template"]


def container(item):
    containers = template(item)["spec"]["containers"]
    assert len(containers) == 1, containers
    return containers[0]


def words(item):
    """The command line of the program, as the pod's shell reads it."""
    command = container(item)["command"]
    return shlex.split(command[2])[1:] if command[0] == "/bin/sh" else command


def selects(selector, labels):
    return selector.items() <= labels.items()


class TypesTest(programs.ProgramTest):
    def compile(self, objects):
        """What the compiler says of the objects as literals of Kubernetes' types."""
        packages = node_packages(HERE / "kubernetes")
        lines = [f'import type {{ I{item["kind"]} as T{i} }} from '
                 f'"kubernetes-models/{item["apiVersion"]}/{item["kind"]}";' for i, item in enumerate(objects)]
        lines += [f"export const o{i}: T{i} = {json.dumps(item)};" for i, item in enumerate(objects)]
        source = self.box.folder / "objects.ts"
        source.write_text("\n".join(lines))
        modules = self.box.folder / "node_modules"
        if not modules.exists():
            modules.symlink_to(packages / "node_modules")
        done = subprocess.run([node(), packages / "node_modules/typescript/bin/tsc", "--noEmit", "--strict",
                               "--skipLibCheck", "--module", "commonjs", "--moduleResolution", "node", source],
                              cwd=self.box.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        return done.stdout + done.stderr

    def test_every_object_is_of_its_type(self):
        self.assertEqual("", self.compile(everything()))

    def test_what_is_misspelt_missing_or_of_another_type_is_found(self):
        server, = [item for item in read("one.yaml") if item["kind"] == "StatefulSet"]
        text = json.dumps(server)
        wrong = (("failureThreshold", "failureTreshold", "failureTreshold"),
                 ("terminationGracePeriodSeconds", "terminationGracePeriod", "terminationGracePeriod"),
                 ('"replicas": 4', '"replicas": "four"', "'string' is not assignable to type 'number'"),
                 ('"name": "server", "image"', '"image"', "'\"name\"' is missing in type"))
        for old, _, _ in wrong:
            self.assertIn(old, text)
        errors = self.compile([json.loads(text.replace(old, new)) for old, new, _ in wrong])
        for number, (_, _, said) in enumerate(wrong, len(wrong) + 1):
            self.assertRegex(errors, rf"objects\.ts\({number},.*{re.escape(said)}")


class ManifestsTest(programs.ProgramTest):
    def test_names_that_stand_for_something_else_are_there(self):
        services = {item["metadata"]["name"]: item["spec"] for item in of_kind("Service")}
        for item in of_kind("StatefulSet", "Job"):
            with self.subTest(item["metadata"]["name"]):
                pod, spec = template(item), template(item)["spec"]
                own = services[item["spec"].get("serviceName") or spec["subdomain"]]
                self.assertEqual("None", own["clusterIP"])
                self.assertTrue(selects(own["selector"], pod["metadata"]["labels"]))
                if item["kind"] == "StatefulSet":
                    self.assertTrue(selects(item["spec"]["selector"]["matchLabels"], pod["metadata"]["labels"]))
                claims = [claim["metadata"] for claim in item["spec"].get("volumeClaimTemplates", [])]
                volumes = {volume["name"] for volume in spec["volumes"] + claims}
                self.assertEqual(volumes, {mount["name"] for mount in container(item)["volumeMounts"]})
                ports = {port["name"]: port["containerPort"] for port in container(item)["ports"]}
                for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                    if probe in container(item):
                        self.assertEqual("http", container(item)[probe]["httpGet"]["port"])
                self.assertIn(f":{ports['http']}", " ".join(words(item)))
                for port in own["ports"]:
                    self.assertIn(port.get("targetPort", port["name"]), ports)
                    self.assertEqual(port["port"], ports[port["name"]])

    def test_a_service_has_the_pods_of_one_set_alone(self):
        for found in of_kind("Service"):
            chosen = [item["metadata"]["name"] for item in of_kind("StatefulSet", "Job")
                      if selects(found["spec"]["selector"], template(item)["metadata"]["labels"])]
            self.assertEqual(1, len(chosen), found["metadata"]["name"])

    def test_every_server_may_be_stopped_by_one_budget_and_is_behind_a_policy(self):
        budget, = of_kind("PodDisruptionBudget")
        self.assertEqual(1, budget["spec"]["maxUnavailable"])
        for item in of_kind("StatefulSet", "Job"):
            labels = template(item)["metadata"]["labels"]
            self.assertEqual(item["kind"] == "StatefulSet",
                             selects(budget["spec"]["selector"]["matchLabels"], labels))
            behind = [policy for policy in of_kind("NetworkPolicy")
                      if selects(policy["spec"]["podSelector"]["matchLabels"], labels)]
            self.assertEqual(1, len(behind), item["metadata"]["name"])

    def test_the_run_knows_every_server_and_its_ranks(self):
        servers, = [item for item in read("one.yaml") if item["kind"] == "StatefulSet"]
        job, = of_kind("Job")
        line = words(job)
        name = servers["metadata"]["name"]
        self.assertEqual([f"{name}-{i}.{name}:7000" for i in range(servers["spec"]["replicas"])],
                         line[line.index("--servers") + 1].split(","))
        environment = {one["name"]: one.get("value") for one in container(job)["env"]}
        ranks = environment["WORLD_SIZE"]
        self.assertEqual([ranks, ranks], [str(job["spec"][key]) for key in ("completions", "parallelism")])
        self.assertEqual(f"{job['metadata']['name']}-0.{template(job)['spec']['subdomain']}",
                         environment["MASTER_ADDR"])
        self.assertEqual(environment["MASTER_PORT"], str(container(job)["ports"][0]["containerPort"]))

    def test_the_second_set_keeps_no_state(self):
        first, second = of_kind("StatefulSet")
        self.assertIn("--state", words(first))
        self.assertNotIn("--state", words(second))
        self.assertIn("--serve", words(second))
        self.assertEqual(first["spec"]["replicas"], second["spec"]["replicas"])
        probes = [{key: container(item)[key] for key in container(item) if key.endswith("Probe")}
                  for item in (first, second)]
        self.assertEqual(*probes)

    def test_certificates_are_secrets_that_only_the_program_reads(self):
        for item in of_kind("StatefulSet", "Job"):
            secret, = [volume["secret"] for volume in template(item)["spec"]["volumes"] if "secret" in volume]
            self.assertEqual(0o440, secret["defaultMode"])
            mount, = [one for one in container(item)["volumeMounts"] if one["name"] == "tls"]
            line = words(item)
            self.assertEqual(line[line.index("--tls-dir") + 1], mount["mountPath"])
        self.assertFalse(of_kind("Secret"), "a certificate does not belong into a file of the repository")

    def test_pods_have_no_rights(self):
        for item in of_kind("StatefulSet", "Job"):
            spec, own = template(item)["spec"], container(item)["securityContext"]
            self.assertIs(True, spec["securityContext"]["runAsNonRoot"])
            self.assertEqual("RuntimeDefault", spec["securityContext"]["seccompProfile"]["type"])
            self.assertEqual(["ALL"], own["capabilities"]["drop"])
            self.assertIs(True, own["readOnlyRootFilesystem"])
            self.assertIs(False, own["allowPrivilegeEscalation"])

    def test_kubernetes_waits_longer_than_the_programs_do(self):
        for item in of_kind("StatefulSet", "Job"):
            is_server = item["kind"] == "StatefulSet"
            program = "halograph-server" if is_server else "halograph-train"
            own = service.defaults(self.box, program, *(STOP if is_server else STOP[2:]))
            grace = template(item)["spec"]["terminationGracePeriodSeconds"]
            for times in (own, service.given(words(item), own)):
                self.assertGreaterEqual(grace, sum(times.values()) + 5, f"{item['metadata']['name']}: {times}")
            if is_server:
                self.check_probes(container(item), service.given(words(item), own)["drain-delay"])

    def check_probes(self, server, drain_delay):
        ready = server["readinessProbe"]
        self.assertEqual(["/livez", "/livez", "/readyz"], [server[name]["httpGet"]["path"] for name in
                                                           ("startupProbe", "livenessProbe", "readinessProbe")])
        unready = ready["failureThreshold"] * ready["periodSeconds"] + ready["timeoutSeconds"]
        self.assertGreater(drain_delay, unready, "calls still come when it takes no more of them")
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            self.assertGreaterEqual(server[probe]["timeoutSeconds"], 2, "a full port answers after a second")

    def test_the_programs_have_the_options(self):
        for item in of_kind("StatefulSet", "Job"):
            line = words(item)
            known = set(re.findall(r"^  (--[a-z][a-z0-9-]*)", self.box.run(line[0], "--help").out, re.MULTILINE))
            used = {word for word in line if word.startswith("--")}
            self.assertGreater(len(used), 5)
            self.assertLessEqual(used, known)


class CommandTest(CoraInTwoTest):
    def test_a_pod_serves_the_part_of_its_number_and_answers_its_probes(self):
        for item in of_kind("StatefulSet"):
            script = container(item)["command"][2]
            state, address = self.box.folder / "state", self.box.folder / f"http-{item['metadata']['name']}"
            for old, new in (("/srv/graph", self.graph), ("/srv/state", state), ("0.0.0.0:7000", "127.0.0.1:0"),
                             ("0.0.0.0:9100", f"127.0.0.1:0 --http-address-file {address}"),
                             ("--tls-dir /etc/halograph/tls", "")):
                self.assertEqual(1 if old != "/srv/state" or "--state" in script else 0, script.count(old), old)
                script = script.replace(old, str(new))
            path = f"{os.environ['HALOGRAPH_BIN']}:{os.environ['PATH']}"
            pod = f"{item['metadata']['name']}-1"
            server = self.box.start("/bin/sh", "-c", script, env={"PATH": path, "HOSTNAME": pod})
            programs.wait_until(lambda: "listening on" in server.out or not server.running(), "the server")
            self.assertIn(f"which others reach at {pod}.{item['spec']['serviceName']}:", server.text)
            self.assertIn("serving part 1 of 2", server.err)
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                path = container(item)[probe]["httpGet"]["path"]
                url = f"http://{address.read_text()}{path}"
                with urllib.request.urlopen(url, timeout=programs.PATIENCE) as reply:
                    self.assertEqual(200, reply.status)


if __name__ == "__main__":
    programs.main()
