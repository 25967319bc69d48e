#!/usr/bin/env python3
"""What an operator opens: deploy/prometheus, deploy/grafana and docs/metrics.md, each against the others,
promtool, and a Prometheus that scrapes two servers and a trainer."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

from harness import metrics_page, programs
from harness.metrics_cluster import MetricsCluster
from harness.metrics_page import SERVER, TRAINER
from harness.tools import tool

ROOT = pathlib.Path(__file__).parents[2]
PROMETHEUS, GRAFANA = ROOT / "deploy/prometheus", ROOT / "deploy/grafana"
DASHBOARDS = ("servers", "trainers", "state")
KINDS = {"timeseries", "stat", "table", "heatmap"}
DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
ALERT = re.compile(r"      - alert: (?P<name>\w+)\n"
                   r"        expr: \|\n(?P<expr>(?: {10}.*\n)+)(?P<comparison> {10}(?:==|>) [\d.]+\n)"
                   r"(?P<wait>        for: \w+\n)?(?P<rest>(?:        .*\n)+)")

KEPT = "{kept}"  # what was there, in a text that replaces it


def alerts():
    return list(ALERT.finditer((PROMETHEUS / "rules/alerts.yml").read_text(encoding="utf-8")))


def dashboard(name):
    return json.loads((GRAFANA / f"{name}.json").read_text(encoding="utf-8"))


def queries():
    """(dashboard, title of the panel, expression) of all panels."""
    return [(name, panel["title"], target["expr"]) for name in DASHBOARDS
            for panel in dashboard(name)["panels"] for target in panel["targets"]]


def filled(expr):
    """With every variable set to what an operator begins with: all of it."""
    return re.sub(r"\$(job|part|rank|instance)\b", ".*", expr.replace("$__rate_interval", "1m"))


def promtool(*words, text=None):
    return subprocess.run([tool("promtool", package="prometheus"), *map(str, words)], input=text, text=True,
                          capture_output=True, check=False)


class DashboardTest(programs.ProgramTest):
    """The JSON that Grafana imports."""

    def test_the_files_are_what_the_description_makes(self):
        subprocess.run([sys.executable, GRAFANA / "make.py", self.box.folder], check=True)
        for name in DASHBOARDS:
            self.assertEqual((self.box.folder / f"{name}.json").read_text(),
                             (GRAFANA / f"{name}.json").read_text(),
                             f"run deploy/grafana/make.py: {name}.json is not what it makes")

    def test_every_grafana_imports_them(self):
        self.assertEqual(len(DASHBOARDS), len({dashboard(name)["uid"] for name in DASHBOARDS}))
        for name in DASHBOARDS:
            made = dashboard(name)
            self.assertIsNone(made["id"])
            self.assertEqual(f"halograph-{name}", made["uid"])
            self.assertIn(made["schemaVersion"], range(36, 39))
            variables = {variable["name"]: variable for variable in made["templating"]["list"]}
            self.assertEqual("datasource", variables["datasource"]["type"])
            for variable in variables.values():
                if variable["type"] == "query":
                    self.assertEqual(DATA_SOURCE, variable["datasource"])
            for panel in made["panels"]:
                with self.subTest(dashboard=name, panel=panel["title"]):
                    self.assertIn(panel["type"], KINDS)
                    self.assertEqual([DATA_SOURCE] * (1 + len(panel["targets"])),
                                     [asks["datasource"] for asks in (panel, *panel["targets"])])
                    used = set(re.findall(r"\$(\w+)", json.dumps(panel["targets"])))
                    self.assertLessEqual(used - {"datasource", "__rate_interval"}, set(variables))

    def test_they_can_be_narrowed_to_job_partition_and_rank(self):
        for name, wanted in (("servers", {"job", "part"}), ("state", {"job", "part"}),
                             ("trainers", {"job", "rank"})):
            self.assertLessEqual(wanted, {item["name"] for item in dashboard(name)["templating"]["list"]})

    def test_panels_do_not_overlap(self):
        for name in DASHBOARDS:
            taken = set()
            for panel in dashboard(name)["panels"]:
                at = panel["gridPos"]
                cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                         for y in range(at["y"], at["y"] + at["h"])}
                self.assertLessEqual(at["x"] + at["w"], 24)
                self.assertFalse(cells & taken, panel["title"])
                taken |= cells

    def test_windows_follow_the_time_that_is_shown(self):
        for name, title, expr in queries():
            for window in re.findall(r"\[(.*?)\]", expr):
                self.assertEqual("$__rate_interval", window, f"{name}: {title}")

    def test_every_query_parses(self):
        rules = [{"record": f"panel:q{i}", "expr": filled(expr)} for i, (_, _, expr) in enumerate(queries())]
        path = self.box.folder / "rules.yml"  # JSON is YAML, too
        path.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}, indent=1))
        done = promtool("check", "rules", path)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn(f"{len(rules)} rules found", done.stdout)


class RulesTest(programs.ProgramTest):
    """What Prometheus is told."""

    def test_configuration_and_rules_are_valid(self):
        for name in ("prometheus.yml", "prometheus-static.yml"):
            done = promtool("check", "config", PROMETHEUS / name)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            self.assertIn("2 rule files found", done.stdout)

    def test_every_alert_says_what_it_is_and_has_a_runbook(self):
        text = (PROMETHEUS / "rules/alerts.yml").read_text(encoding="utf-8")
        self.assertEqual(text.count("- alert:"), len(alerts()), "an alert has another form than ALERT")
        for alert in alerts():
            rest = alert["rest"]
            with self.subTest(alert=alert["name"]):
                self.assertRegex(rest, r"severity: (warning|critical)\n")
                for key in ("summary", "description"):
                    self.assertRegex(rest, rf'{key}: "[^"]')
                page, anchor = re.search(r"runbook: (\S+)#(\S+)", rest).groups()
                headings = [heading.lower() for heading in
                            re.findall(r"^#+ (.*)$", (ROOT / page).read_text(encoding="utf-8"), re.M)]
                self.assertEqual(alert["name"].lower(), anchor)
                self.assertIn(anchor, headings)

    def test_every_alert_fires_and_does_not_fire(self):
        """And the tests see it: an alert that never fires, always fires, or does not wait, fails them."""
        done = promtool("test", "rules", *(PROMETHEUS / "rules/tests").glob("*.yml"))
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        for what, part, new in (("never fires", "comparison", KEPT + 10 * " " + "unless on () vector(1)\n"),
                                ("always fires", "comparison", 10 * " " + "> -1\n"),
                                ("does not wait", "wait", "")):
            failed = self.alerts_whose_tests_fail(part, new)
            wanted = [alert["name"] for alert in alerts() if alert[part]]
            self.assertEqual(sorted(wanted), sorted(failed), f"tests where every alert {what}")

    def alerts_whose_tests_fail(self, part, new):
        """Where that part of every alert is another text."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.box.folder)) / "rules"
        shutil.copytree(PROMETHEUS / "rules", folder)
        text = alerts()[0].string
        for alert in reversed(alerts()):
            if alert[part]:
                begin, end = alert.span(part)
                text = text[:begin] + new.replace(KEPT, alert[part]) + text[end:]
        (folder / "alerts.yml").write_text(text)
        done = promtool("test", "rules", *(folder / "tests").glob("*.yml"))
        return set(re.findall(r"alertname: (\w+), time", done.stdout + done.stderr))


class MetricsPageTest(programs.ProgramTest):
    """docs/metrics.md, and what the programs print."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = MetricsCluster(cls.shared)

    def test_rules_and_panels_ask_for_what_is_listed(self):
        known = {metric.name for metric in metrics_page.listed()}
        for metric in metrics_page.listed():
            if metric.kind == "histogram":
                known |= {metric.name + suffix for suffix in ("_bucket", "_sum", "_count")}
        texts = {f"{name}: {title}": expr for name, title, expr in queries()}
        for path in (PROMETHEUS / "rules").glob("*.yml"):
            texts[path.name] = re.sub(r"(?m)^ *(#|- name:).*$", "", path.read_text(encoding="utf-8"))
        for where, text in texts.items():
            named = set(re.findall(r"(?<![:\w])((?:halograph|process|grpc_server|grpc_client)_\w+)(?![:\w])", text))
            self.assertLessEqual(named, known, where)

    def printed_by(self, address, wanted):
        """All that is ours. Some is there only once a step was taken and a disk looked at."""
        found = {}

        def is_all_there():
            found.clear()
            found.update({name: metric for name, metric in
                          metrics_page.printed(metrics_page.get(address)).items()
                          if name.startswith(metrics_page.OURS)})
            return wanted <= set(found)
        try:
            programs.wait_until(is_all_there, f"all of the metrics of {address}")
        except TimeoutError:
            self.assertEqual(set(), wanted - set(found), address)
        return found

    def test_every_metric_is_printed_as_listed_and_every_printed_one_is_listed(self):
        for program in (SERVER, TRAINER):
            wanted = {metric.name: metric for metric in metrics_page.listed_for(program)}
            for address in self.cluster.addresses(program):
                found = self.printed_by(address, set(wanted))
                self.assertEqual(sorted(wanted), sorted(found), program)
                for name, (kind, words, labels) in found.items():
                    self.assertEqual(wanted[name].kind, kind, name)
                    self.assertTrue(words, f"{name} has no help")
                    if labels is not None:
                        self.assertEqual(set(wanted[name].labels), labels, name)

    def test_promtool_finds_nothing_to_complain_about(self):
        for program in (SERVER, TRAINER):
            for address in self.cluster.addresses(program):
                done = promtool("check", "metrics", text=metrics_page.get(address))
                self.assertEqual((0, ""), (done.returncode, done.stdout + done.stderr), program)

    def test_what_is_listed_follows_the_rules_of_names(self):
        for metric in metrics_page.listed():
            self.assertEqual(metric.kind == "counter", metric.name.endswith("_total"), metric.name)
            if metric.unit:
                self.assertRegex(metric.name, rf"_{metric.unit}(_total)?$")
            self.assertTrue(metric.help, metric.name)


class PrometheusTest(programs.ProgramTest):
    """A Prometheus with the configuration of deploy/prometheus, but a second between scrapes."""
    AT_ONCE = 4  # all wait for the same scrapes

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        prometheus = tool("prometheus", package="prometheus")
        cluster = MetricsCluster(cls.shared)
        folder = cls.shared.folder / "prometheus"
        shutil.copytree(PROMETHEUS, folder)
        path = folder / "prometheus.yml"
        path.write_text(re.sub(r"(scrape_interval|scrape_timeout|evaluation_interval): \w+", r"\1: 1s",
                               path.read_text(encoding="utf-8")))
        for program, name in ((SERVER, "servers"), (TRAINER, "trainers")):
            (folder / f"targets/{name}.json").write_text(
                json.dumps([{"targets": cluster.addresses(program)}]))
        cls.port = programs.free_port()
        cls.process = cls.shared.start(
            prometheus, f"--config.file={path}", f"--storage.tsdb.path={cls.shared.folder / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{cls.port}")
        cls.shared_wait(lambda: cls.answer("/-/ready"), "Prometheus is ready")

    @classmethod
    def shared_wait(cls, condition, what):
        def asked():
            if not cls.process.running():
                raise RuntimeError(f"Prometheus ended:\n{cls.process.text}")
            return condition()
        return programs.wait_until(asked, what)

    @classmethod
    def answer(cls, path, **words):
        """What the API says, or None where it does not answer yet."""
        try:
            return metrics_page.get(f"127.0.0.1:{cls.port}", f"{path}?{urllib.parse.urlencode(words)}")
        except OSError:
            return None

    def data(self, path, **words):
        text = self.answer(path, **words)
        return json.loads(text)["data"] if text else None

    def assertSeries(self, what, expr):
        def series():
            found = self.data("/api/v1/query", query=expr)
            return found and found["result"]
        try:
            self.shared_wait(series, what)
        except TimeoutError:
            self.fail(f"{what} gives no series: {expr}")

    def rules(self, kind):
        groups = self.shared_wait(lambda: self.data("/api/v1/rules"), "rules")["groups"]
        return [rule for group in groups for rule in group["rules"] if rule["type"] == kind]

    def test_every_panel_shows_something(self):
        for name, title, expr in queries():
            self.assertSeries(f"{name}: {title}", filled(expr))

    def test_every_variable_has_values(self):
        for name in DASHBOARDS:
            for variable in dashboard(name)["templating"]["list"]:
                if variable["type"] == "query":
                    selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
                    self.shared_wait(lambda selector=selector, label=label: self.data(
                        f"/api/v1/label/{label}/values", **{"match[]": filled(selector)}),
                        f"{name}: {variable['name']}")

    def test_every_recording_rule_records(self):
        rules = self.rules("recording")
        self.assertTrue(rules)
        for rule in rules:
            self.assertSeries(rule["name"], rule["name"])

    def test_every_alert_watches_something(self):
        """Its expression without the comparison, as Prometheus writes it, has a series."""
        rules = self.rules("alerting")
        self.assertEqual(len(alerts()), len(rules))
        for rule in rules:
            expr = re.fullmatch(r"(.*) (?:==|>) [\d.]+", rule["query"], re.DOTALL)[1]
            self.assertSeries(rule["name"], expr)


if __name__ == "__main__":
    programs.main()
