// This Warren: its version, how its clusters, sinks and notifiers are doing, how long its triggers take, and how it is configured.

import { address, notifierAddress } from "../shell/address.js";
import { get, reason } from "../shell/api.js";
import { h, put } from "../shell/dom.js";
import { empty } from "../shell/empty.js";
import { count, counted, duration } from "../shell/format.js";
import { listen, live } from "../shell/live.js";
import { factList, plainTable } from "../shell/plain-table.js";
import { poll } from "../shell/poll.js";
import { plainMark } from "../shell/status.js";
import { time } from "../shell/times.js";
import { condition } from "../overview/clusters.js";
import { configuration } from "./configuration.js";
import { TriggerChart } from "./triggers.js";

/** @typedef {import("../shell/shapes.d.ts").About} About */
/** @typedef {import("../shell/shapes.d.ts").Health} Health */
/** @typedef {import("../shell/shapes.d.ts").Notifier} Notifier */
/** @typedef {import("../shell/shapes.d.ts").SinkHealth} SinkHealth */

const AGAIN_MS = 5_000;

/** @type {import("../shell/shapes.d.ts").PageModule["open"]} */
export function open(place) {
  const page = new AboutPage(place);
  return { title: () => "About", close: () => page.close(), update: () => {} };
}

class AboutPage {
  /** @param {HTMLElement} place */
  constructor(place) {
    this.known = false;
    this.identity = h("div");
    this.clusters = h("div");
    this.notifiers = h("div");
    this.sinks = h("div");
    this.configuration = h("div");
    this.chart = new TriggerChart();
    /** what each place shows @type {Map<HTMLElement, string>} */
    this.shown = new Map();
    this.content = h(
      "div.stack",
      { hidden: true },
      this.identity,
      this.clusters,
      this.chart.element,
      this.notifiers,
      this.sinks,
      this.configuration,
    );
    this.problem = h("div");
    put(place, h("h1", null, "This Warren"), this.problem, this.content);
    this.asking = poll((signal) => this.#load(signal), () => AGAIN_MS);
    this.ended = listen(() => this.#health());
  }

  close() {
    this.ended();
    this.asking.close();
    this.chart.close();
  }

  /** @param {AbortSignal} signal */
  async #load(signal) {
    try {
      /** @type {[About, { notifiers: Notifier[] }]} */
      const [about, told] = await Promise.all([
        get(["v4", "about"], {}, { signal }),
        get(["v4", "notifiers"], {}, { signal }),
      ]);
      this.known = true;
      this.content.hidden = false;
      put(this.problem);
      this.#put(this.identity, { ...about, uptime_ms: 0, triggers: 0 }, () => identity(about));
      this.chart.show(about.triggers);
      this.#put(this.notifiers, [told, live.health?.notifier], () => notifiers(told.notifiers));
      this.#put(this.configuration, about.configuration, () => configuration(about));
      this.#health();
    } catch (error) {
      if (signal.aborted || this.known) return;
      put(this.problem, empty("Nothing to see yet", reason(error)));
    }
  }

  #health() {
    const health = live.health;
    if (!health) return;
    this.#put(
      this.clusters,
      health.clusters.map((each) => ({ ...each, snapshot: each.snapshot?.number })),
      () => clusters(health),
    );
    this.#put(this.sinks, health.sinks, () => sinks(health.sinks));
  }

  /**
   * Shown again only if it is something else: what the reader has selected stays.
   * @param {HTMLElement} element
   * @param {unknown} data
   * @param {() => Node} make
   */
  #put(element, data, make) {
    const text = JSON.stringify(data);
    if (this.shown.get(element) === text) return;
    this.shown.set(element, text);
    put(element, make());
  }
}

/** @param {About} about */
function identity(about) {
  return h(
    "section.card",
    { "aria-label": "Version" },
    factList([
      ["Version", about.version],
      ["Running for", time(about.started_at, "since")],
      ["On", about.host],
      ["Python", about.python],
      ["Clusters", count(about.triggers.length)],
      ["API", h("a", { href: address(["v4", "openapi.json"]) }, "described by OpenAPI")],
    ]),
  );
}

/** @param {Health} health */
function clusters(health) {
  return h(
    "section.card",
    { "aria-labelledby": "clusters" },
    h("h2", { id: "clusters" }, "Clusters"),
    plainTable(
      "Clusters",
      ["Cluster", "Health", ["Groups"], ["Records read"], ["a second"], ["Left"], ["Last trigger"], [
        "Restarts",
      ], "Evaluated"],
      health.clusters.map((each) => {
        const [tone, short, sentence] = condition(each);
        const groups = Object.values(each.groups).reduce((sum, many) => sum + (many ?? 0), 0);
        return [
          h("a", { href: address([], { cluster: each.cluster }) }, each.cluster),
          h("span", { title: sentence }, plainMark(tone, short, tone === "ok" ? "tick" : "cross")),
          count(groups),
          count(each.records),
          count(each.records_per_second),
          count(each.left),
          `${count(each.trigger_ms)} ms`,
          count(each.restarts),
          time(each.seen_at),
        ];
      }),
    ),
    health.clusters.filter((each) => condition(each)[2]).map((each) =>
      h("p.error", null, h("strong", null, `${each.cluster}: `), condition(each)[2])
    ),
  );
}

/** @type {Record<string, string>} */
const LEADERSHIP = {
  alone: "This instance sends the messages.",
  leading: "This instance sends the messages; others stand by.",
  following: "Another instance sends the messages",
  disconnected: "ZooKeeper does not respond, so this instance sends nothing.",
};

/** @param {Notifier[]} found */
function notifiers(found) {
  const state = live.health?.notifier;
  const who = state?.state === "following" && state.leader ? `: ${state.leader}.` : "";
  return h(
    "section.card",
    { "aria-labelledby": "notifiers" },
    h("h2", { id: "notifiers" }, "Notifiers"),
    state && h("p.quiet", null, (LEADERSHIP[state.state] ?? "") + who),
    found.length
      ? plainTable(
        "Notifiers",
        ["Notifier", "Class", ["Sent"], ["Failed"], ["Waiting"], "Last sent", "Last failure"],
        found.map((each) => [
          h("a", { href: notifierAddress(each.module) }, each.module),
          each.class_name,
          count(each.sent),
          each.failed ? plainMark("err", count(each.failed), "cross") : "0",
          count(each.owed),
          time(each.last_sent?.at),
          each.last_failure
            ? h("span", { title: each.last_failure.answer }, time(each.last_failure.at))
            : "none",
        ]),
      )
      : h("p.quiet", null, "None is configured: nobody is told. Add a [notifier.NAME] section."),
  );
}

/** @param {SinkHealth[]} found */
function sinks(found) {
  return h(
    "section.card",
    { "aria-labelledby": "sinks" },
    h("h2", { id: "sinks" }, "Sinks"),
    found.length
      ? [
        plainTable(
          "Sinks",
          [
            "Sink",
            "Class",
            "Health",
            ["Behind"],
            ["Samples"],
            ["Rows"],
            ["Rejected"],
            ["Dropped"],
            "Last written",
          ],
          found.map((each) => [
            each.sink,
            each.class_name,
            each.error
              ? plainMark("err", "failing", "cross")
              : each.running
              ? plainMark("ok", "writing", "tick")
              : plainMark("warn", "starting", "dots"),
            each.behind_samples
              ? `${counted(each.behind_samples, "sample")}, ${duration(each.behind_ms)}`
              : "0",
            count(each.samples),
            count(each.rows),
            count(each.rejected_rows),
            count(each.dropped_samples),
            time(each.written_at),
          ]),
        ),
        found.filter((each) => each.error).map((each) =>
          h("p.error", null, h("strong", null, `${each.sink}: `), each.error)
        ),
      ].flat()
      : h(
        "p.quiet",
        null,
        "None is configured: nothing is written anywhere. Add a [sink.NAME] section for a history.",
      ),
  );
}
