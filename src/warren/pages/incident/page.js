// One incident: how long it lasted, what was sent, and its evidence: the windows at three of its moments.

import { address, groupAddress, topicAddress } from "../shell/address.js";
import { ApiError, get, reason } from "../shell/api.js";
import { crumbs } from "../shell/crumbs.js";
import { h, put } from "../shell/dom.js";
import { empty } from "../shell/empty.js";
import { count, counted, duration, exactTime, percent } from "../shell/format.js";
import { listen } from "../shell/live.js";
import { PartitionView } from "../shell/partition.js";
import { factList } from "../shell/plain-table.js";
import { poll } from "../shell/poll.js";
import { mark, setMark } from "../shell/status.js";
import { time } from "../shell/times.js";
import { messageLine } from "../group/incidents.js";
import { ENDINGS } from "../incidents/endings.js";

/** @typedef {import("../shell/shapes.d.ts").IncidentDetail} IncidentDetail */
/** @typedef {import("../shell/shapes.d.ts").Evidence} Evidence */

// an open one changes soon after its group does
const OPEN_MS = 2_000;
const PAST_MS = 15_000;

/** @type {import("../shell/shapes.d.ts").PageModule["open"]} */
export function open(place, route) {
  const page = new IncidentPage(place, route.names[0]);
  return { title: () => page.title(), close: () => page.close(), update: () => {} };
}

class IncidentPage {
  /** @param {HTMLElement} place @param {string} id */
  constructor(place, id) {
    this.id = id;
    this.shown = "";
    this.name = "";
    this.over = false;
    this.heading = h("h1", null, "Incident");
    this.mark = mark("", "\u2026");
    this.summary = h("div");
    /** the three moments: what is shown of each @type {Map<string, Moment>} */
    this.moments = new Map();
    this.evidence = h("div.stack");
    this.messages = h("div");
    this.content = h(
      "div.stack",
      { hidden: true },
      this.summary,
      this.evidence,
      this.messages,
      this.#address(),
    );
    this.problem = h("div", { hidden: true });
    put(
      place,
      h(
        "div.group-head",
        null,
        crumbs(
          h("a", { href: address(["incidents"]) }, "Incidents"),
          " / ",
          h("span.mono", null, id),
        ),
        h("div.named", null, this.heading, this.mark),
      ),
      this.problem,
      this.content,
    );
    this.asking = poll((signal) => this.#load(signal), () => (this.over ? PAST_MS : OPEN_MS));
    this.ended = listen((news) => {
      if (news.statuses) this.asking.now();
    });
  }

  title() {
    return this.name ? `Incident of ${this.name}` : "Incident";
  }

  close() {
    this.ended();
    this.asking.close();
    for (const moment of this.moments.values()) moment.close();
  }

  /** @param {AbortSignal} signal */
  async #load(signal) {
    try {
      /** @type {IncidentDetail} */
      const answer = await get(["v4", "incidents", this.id], {}, { signal });
      const shown = JSON.stringify(answer);
      if (shown === this.shown) return;
      this.shown = shown;
      this.#show(answer);
    } catch (error) {
      if (signal.aborted) return;
      const gone = error instanceof ApiError && error.status === 404;
      if (!gone && this.shown) return;
      this.content.hidden = true;
      this.problem.hidden = false;
      put(
        this.problem,
        empty(
          gone ? "There is no such incident" : "Nothing to see yet",
          gone ? "The last 1,000 incidents of 30 days are kept; this one is not among them." : reason(error),
          h("a", { href: address(["incidents"]) }, "See all incidents"),
        ),
      );
    }
  }

  /** @param {IncidentDetail} incident */
  #show(incident) {
    this.problem.hidden = true;
    this.content.hidden = false;
    const { cluster, group } = incident;
    this.name = group || cluster;
    this.over = incident.end !== null;
    put(
      this.heading,
      group ? h("a", { href: groupAddress(cluster, group) }, group) : `The cluster ${cluster}`,
    );
    setMark(this.mark, incident.worst);
    put(this.summary, summary(incident));
    this.#evidence(incident);
    put(this.messages, messages(incident));
  }

  /** @param {IncidentDetail} incident */
  #evidence(incident) {
    const { opening, worst, end } = incident.evidence;
    /** @type {[string, string, Evidence | null][]} */
    const wanted = [
      ["opening", "At its opening", opening],
      // the same moment is not drawn twice
      ["worst", "At its worst", worst && opening && worst.at === opening.at ? null : worst],
      ["end", "At its end", end],
    ];
    if (!opening && !worst && !end) {
      const why = incident.group
        ? "Its windows were not kept: it was stored by an earlier version of Warren."
        : "The cluster was unreachable, so there was nothing to see.";
      put(this.evidence, h("section.card", null, h("h2", null, "Evidence"), h("p.quiet", null, why)));
      return;
    }
    const elements = [];
    for (const [key, title, evidence] of wanted) {
      if (!evidence) continue;
      let moment = this.moments.get(key);
      if (moment?.at !== evidence.at) {
        moment?.close();
        moment = new Moment(key, title, incident, evidence);
        this.moments.set(key, moment);
      }
      elements.push(moment.element);
    }
    const there = [...this.evidence.children];
    if (elements.length !== there.length || elements.some((each, at) => each !== there[at])) {
      put(this.evidence, elements);
    }
  }

  #address() {
    const path = address(["v4", "incidents", this.id]);
    return h(
      "section.card",
      { "aria-labelledby": "api" },
      h("h2", { id: "api" }, "The same from the API"),
      h("p", null, h("a.mono", { href: path }, path)),
    );
  }
}

/** One moment of the incident: the group, and its worst partitions with their windows. */
class Moment {
  /** @param {string} key @param {string} title @param {IncidentDetail} incident @param {Evidence} evidence */
  constructor(key, title, incident, evidence) {
    this.at = evidence.at;
    this.views = evidence.partitions.map((each, at) =>
      new PartitionView(each, evidence.at, at === 0, topicAddress(incident.cluster, each.topic))
    );
    const left = evidence.not_ok - evidence.partitions.filter((each) => each.status !== "OK").length;
    this.element = h(
      "section",
      { "aria-labelledby": `at-${key}` },
      h(
        "div.line",
        null,
        h("h2", { id: `at-${key}` }, title, " ", mark(evidence.status)),
        h(
          "span.quiet",
          null,
          exactTime(evidence.at),
          `, total lag ${count(evidence.totallag)}, `,
          evidence.not_ok
            ? `${count(evidence.not_ok)} of ${counted(evidence.partition_count, "partition")} not OK`
            : `all ${counted(evidence.partition_count, "partition")} OK`,
          evidence.complete < 1 ? `, windows ${percent(evidence.complete)} full` : "",
        ),
      ),
      this.views.length
        ? h("div.partition-list", null, this.views.map((each) => each.element))
        : h("p.quiet", null, "No partition was in trouble at this moment."),
      left > 0 &&
        h("p.hint", null, `${counted(left, "more partition")} in trouble, whose windows were not kept.`),
    );
  }

  close() {
    for (const view of this.views) view.close();
  }
}

/** @param {IncidentDetail} incident */
function summary(incident) {
  const open = incident.end === null;
  return h(
    "section.card.verdict",
    { "aria-label": "In short", "data-tone": open ? (incident.worst === "WARN" ? "warn" : "err") : "ok" },
    h(
      "p.verdict-sentence",
      null,
      open
        ? ["Open since ", time(incident.start, "since"), "."]
        : `Lasted ${duration((incident.end ?? 0) - incident.start)}; it ended: ${
          ENDINGS[incident.ending ?? ""] ?? "unknown"
        }.`,
      incident.reason && ` ${incident.reason}`,
    ),
    factList([
      ["Began", exactTime(incident.start)],
      ["Ended", incident.end === null ? "not yet" : exactTime(incident.end)],
      ["Worst status", mark(incident.worst)],
      ["Last status", mark(incident.status)],
      ["Cluster", h("a", { href: address([], { cluster: incident.cluster }) }, incident.cluster)],
      ["Messages", count(incident.messages.length)],
    ]),
  );
}

/** @param {IncidentDetail} incident */
function messages(incident) {
  return h(
    "section.card",
    { "aria-labelledby": "messages" },
    h("h2", { id: "messages" }, "What was sent to whom"),
    incident.messages.length
      ? h("ul.messages", null, incident.messages.map(messageLine))
      : h("p.quiet", null, "No message was sent: no notifier wanted to be told of it."),
  );
}
