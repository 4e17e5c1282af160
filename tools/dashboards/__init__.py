"""The dashboards and alert rules in `grafana/` and `prometheus/`, as code: `make dashboards` writes the files."""
