"""Dashboards as Grafana imports them: the classic JSON model, which every version from 9 on reads.

A dashboard is a list of panels, laid out from left to right in rows of 24 columns, and of variables. The
data source is a variable too, so one file fits every Grafana. Ids are positions: nothing in the JSON
changes by itself.
"""
import string

COLUMNS = 24
SCHEMA_VERSION = 37  # Grafana 9; later ones bring it forward when they load it
DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def functions_of(chosen, buckets=None):
    """`rate` and `quantile` of the series that `chosen` selects, and of these buckets, where a call
    names no others."""
    def rate(metric, selector=chosen):
        return f"rate({metric}{selector}[$__rate_interval])"

    def quantile(q, by, metric=buckets, selector=chosen):
        return f"histogram_quantile({q}, sum by ({by}, le) ({rate(metric, selector)}))"

    return rate, quantile


class Panel:
    """`queries` are pairs of a legend and an expression of PromQL; `says` explains what to look for.

    `unit` is one of Grafana's: s, bytes, Bps, percentunit, ops, short. `top` is the upper end of the
    axis, where it has one."""

    def __init__(self, kind, title, says, queries, unit="short", width=8, height=8, top=None, **look):
        self.kind, self.title, self.says, self.queries = kind, title, says, queries
        self.unit, self.width, self.height, self.top, self.look = unit, width, height, top, look

    def json(self, number, x, y):
        defaults = {"unit": self.unit, "min": 0, **({"max": self.top} if self.top else {})}
        panel = {
            "id": number, "type": self.kind, "title": self.title, "description": self.says,
            "datasource": DATA_SOURCE,
            "gridPos": {"x": x, "y": y, "w": self.width, "h": self.height},
            "targets": [self.target(ref, legend, expr)
                        for ref, (legend, expr) in zip(string.ascii_uppercase, self.queries)],
            "fieldConfig": {"defaults": defaults, "overrides": []},
        }
        getattr(self, self.kind)(panel)
        return panel

    def target(self, ref, legend, expr):
        now = self.kind in ("stat", "table")
        return {"refId": ref, "datasource": DATA_SOURCE, "expr": one_line(expr),
                "legendFormat": legend, "editorMode": "code", "instant": now, "range": not now,
                "format": {"table": "table", "heatmap": "heatmap"}.get(self.kind, "time_series")}

    def timeseries(self, panel):
        stacked = self.look.get("stacked", False)
        panel["fieldConfig"]["defaults"]["custom"] = {
            "drawStyle": "line", "lineWidth": 1, "fillOpacity": 30 if stacked else 5,
            "showPoints": "never", "spanNulls": False,
            "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
        }
        if self.look.get("negative"):
            del panel["fieldConfig"]["defaults"]["min"]
        panel["options"] = {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }

    def stat(self, panel):
        """Green below `bad`, red from there on; without it, no colour."""
        bad = self.look.get("bad")
        steps = [{"color": "green" if bad is not None else "text", "value": None}]
        if bad is not None:
            steps.append({"color": "red", "value": bad})
        panel["fieldConfig"]["defaults"]["thresholds"] = {"mode": "absolute", "steps": steps}
        panel["options"] = {
            "colorMode": "value", "graphMode": "none", "justifyMode": "auto", "orientation": "auto",
            "textMode": "auto", "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        }

    def heatmap(self, panel):
        panel["options"] = {
            "calculate": False, "cellGap": 1, "showValue": "never",
            "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64, "exponent": 0.5},
            "yAxis": {"unit": self.unit}, "tooltip": {"show": True, "yHistogram": False},
            "legend": {"show": True}, "filterValues": {"le": 1e-9},
        }

    def table(self, panel):
        """`columns`: heading by label, or by `Value`; of several queries `Value #A`, `Value #B`. A
        heading may have a unit: ("Uptime", "s"). Other labels are not shown."""
        names = {field: heading if isinstance(heading, str) else heading[0]
                 for field, heading in self.look["columns"].items()}
        panel["transformations"] = [
            {"id": "merge", "options": {}},
            {"id": "filterFieldsByName", "options": {"include": {"names": list(names)}}},
            {"id": "organize", "options": {"excludeByName": {}, "renameByName": names,
                                           "indexByName": {name: i for i, name in enumerate(names)}}},
        ]
        panel["fieldConfig"]["overrides"] = [
            {"matcher": {"id": "byName", "options": heading[0]},
             "properties": [{"id": "unit", "value": heading[1]}]}
            for heading in self.look["columns"].values() if not isinstance(heading, str)]
        panel["options"] = {"showHeader": True, "footer": {"show": False}}


def lines(title, says, *queries, **more):
    return Panel("timeseries", title, says, queries, **more)


def stat(title, says, expr, **more):
    return Panel("stat", title, says, [("", expr)], **{"width": 4, "height": 4, **more})


def heatmap(title, says, expr, **more):
    return Panel("heatmap", title, says, [("{{le}}", expr)], **more)


def table(title, says, *queries, **more):
    return Panel("table", title, says, queries, **{"width": COLUMNS, **more})


def one_line(expr):
    return " ".join(expr.split())


def data_source_variable():
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus",
            "hide": 0, "includeAll": False, "multi": False, "options": [], "refresh": 1,
            "regex": "", "skipUrlSync": False}


def variable(name, label, query):
    """What the label_values(...) of `query` says; several or all of them."""
    return {"name": name, "label": label, "type": "query", "datasource": DATA_SOURCE,
            "query": {"query": query, "refId": "StandardVariableQuery"},
            "current": {"selected": True, "text": ["All"], "value": ["$__all"]}, "hide": 0,
            "includeAll": True, "multi": True, "options": [], "refresh": 2, "regex": "",
            "skipUrlSync": False, "sort": 3}


def laid_out(panels):
    """JSON of the panels: as many in a row as fit."""
    found, x, y, height = [], 0, 0, 0
    for number, panel in enumerate(panels, 1):
        if x + panel.width > COLUMNS:
            x, y, height = 0, y + height, 0
        found.append(panel.json(number, x, y))
        x, height = x + panel.width, max(height, panel.height)
    return found


def dashboard(uid, title, says, variables, panels):
    return {
        "id": None, "uid": uid, "title": title, "description": says, "tags": ["halograph"],
        "schemaVersion": SCHEMA_VERSION, "version": 1, "editable": True, "graphTooltip": 1,
        "timezone": "", "time": {"from": "now-1h", "to": "now"}, "refresh": "10s",
        "annotations": {"list": []},
        "links": [{"type": "dashboards", "title": "Halograph", "tags": ["halograph"],
                   "asDropdown": False, "icon": "external link", "includeVars": False,
                   "keepTime": True, "targetBlank": False, "tooltip": "", "url": ""}],
        "templating": {"list": [data_source_variable(), *variables]},
        "panels": laid_out(panels),
    }
