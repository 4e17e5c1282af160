// All incidents: the open ones, then the past ones, with how long each lasted and what was sent.

import { address, incidentAddress } from "../shell/address.js";
import { get, reason } from "../shell/api.js";
import { h, put, say, set } from "../shell/dom.js";
import { empty } from "../shell/empty.js";
import { count, counted, duration } from "../shell/format.js";
import { listen, live } from "../shell/live.js";
import { plainTable } from "../shell/plain-table.js";
import { poll } from "../shell/poll.js";
import { go } from "../shell/router.js";
import { mark, plainMark } from "../shell/status.js";
import { time } from "../shell/times.js";
import { ENDINGS } from "./endings.js";

/** @typedef {import("../shell/shapes.d.ts").Incident} Incident */
/** @typedef {import("../shell/shapes.d.ts").Incidents} Incidents */

const AGAIN_MS = 4_000;
const MORE = 100;
/** @type {[string, string][]} in the address, and as a text */
const STATES = [["", "All"], ["open", "Open"], ["past", "Past"]];

/** @type {import("../shell/shapes.d.ts").PageModule["open"]} */
export function open(place, route) {
  const page = new IncidentsPage(place, route);
  return { title: () => page.title(), update: (now) => page.update(now), close: () => page.close() };
}

class IncidentsPage {
  /** @param {HTMLElement} place @param {import("../shell/shapes.d.ts").Route} route */
  constructor(place, route) {
    this.query = route.query;
    this.limit = MORE;
    this.shown = "";
    this.known = false;
    this.heading = h("h1", null, "Incidents");
    this.content = h("div.stack");
    this.group = h("input", {
      type: "search",
      placeholder: "Group, or a pattern: pay*",
      "aria-label": "Group",
      onchange: () => this.#choose({ group: this.group.value }),
    });
    this.chips = STATES.map(([state, text]) =>
      h("button.chip", { type: "button", onclick: () => this.#choose({ state }) }, text)
    );
    this.cluster = h("select", {
      "aria-label": "Cluster",
      onchange: () => this.#choose({ cluster: this.cluster.value }),
    });
    put(
      place,
      this.heading,
      h(
        "div.toolbar",
        { role: "search", "aria-label": "Incidents" },
        h("div.chips", { role: "group", "aria-label": "State" }, this.chips),
        this.group,
        this.cluster,
      ),
      this.content,
    );
    this.#controls();
    this.asking = poll((signal) => this.#load(signal), () => AGAIN_MS);
    this.ended = listen((news) => {
      this.#controls();
      if (news.statuses) this.asking.now();
    });
  }

  title() {
    const many = live.health?.notifier?.open_incidents;
    return many ? `Incidents, ${count(many)} open` : "Incidents";
  }

  close() {
    this.ended();
    this.asking.close();
  }

  /** @param {import("../shell/shapes.d.ts").Route} route */
  update(route) {
    this.query = route.query;
    this.limit = MORE;
    this.#controls();
    this.asking.now();
  }

  /** @param {Record<string, string>} changed */
  #choose(changed) {
    const query = {
      state: this.query.get("state"),
      cluster: this.query.get("cluster"),
      group: this.query.get("group"),
    };
    go(address(["incidents"], { ...query, ...changed }), { keep: true });
  }

  #controls() {
    const state = this.query.get("state") ?? "";
    this.chips.forEach((chip, at) => set(chip, "aria-pressed", STATES[at][0] === state ? "true" : "false"));
    const chosen = this.query.get("cluster") ?? "";
    const names = new Set([
      ...(live.health?.clusters.map((each) => each.cluster) ?? []),
      ...(chosen ? [chosen] : []),
    ]);
    const wanted = ["", ...[...names].sort()];
    if (wanted.join("\u0000") !== [...this.cluster.options].map((each) => each.value).join("\u0000")) {
      put(this.cluster, wanted.map((name) => h("option", { value: name }, name || "All clusters")));
    }
    if (this.cluster.value !== chosen) this.cluster.value = chosen;
    this.cluster.hidden = names.size < 2 && !chosen;
    if (document.activeElement !== this.group) this.group.value = this.query.get("group") ?? "";
  }

  /** @param {AbortSignal} signal */
  async #load(signal) {
    const query = {
      state: this.query.get("state"),
      cluster: this.query.get("cluster"),
      group: this.query.get("group"),
      limit: this.limit,
    };
    try {
      /** @type {Incidents} */
      const answer = await get(["v4", "incidents"], query, { signal });
      const shown = JSON.stringify([query, answer, Boolean(live.health?.notifier)]);
      this.known = true;
      if (shown === this.shown) return;
      this.shown = shown;
      this.#show(answer);
    } catch (error) {
      if (signal.aborted || this.known) return;
      put(this.content, empty("Nothing to see yet", reason(error)));
    }
  }

  /** @param {Incidents} answer */
  #show(answer) {
    const open = answer.incidents.filter((each) => each.end === null);
    const past = answer.incidents.filter((each) => each.end !== null);
    const left = answer.total - answer.incidents.length;
    say(this.heading, open.length ? `${counted(open.length, "open incident")}` : "Incidents");
    if (!answer.total) {
      put(this.content, this.#nothing());
      return;
    }
    put(
      this.content,
      open.length > 0 && section("open", "Open", open),
      past.length > 0 && section("past", "Past", past),
      left > 0 &&
        h(
          "button",
          {
            type: "button",
            onclick: () => {
              this.limit += MORE;
              this.asking.now();
            },
          },
          `Show ${counted(Math.min(left, MORE), "more incident")}`.replace("more incidents", "more"),
        ),
      h(
        "p.hint",
        null,
        "The last 1,000 incidents of 30 days are kept. The API's address: ",
        apiLink(this.query),
      ),
    );
  }

  #nothing() {
    if (live.health && !live.health.notifier) {
      return empty(
        "Incidents are not kept",
        "No notifier is configured: add a [notifier.NAME] section, of class null if nobody should be told.",
      );
    }
    const filtered = [...this.query.keys()].length > 0;
    return filtered
      ? empty(
        "No such incident",
        "None of those that are kept fits.",
        h("a", { href: address(["incidents"]) }, "Show all"),
      )
      : empty(
        "No incident yet",
        "An incident opens when a group is first worse than OK, and ends when it is OK again.",
      );
  }
}

/** @param {URLSearchParams} query */
function apiLink(query) {
  const href = address(["v4", "incidents"], query);
  return h("a.mono", { href }, href);
}

/** @param {string} id @param {string} title @param {Incident[]} incidents */
function section(id, title, incidents) {
  const past = id === "past";
  return h(
    "section.card",
    { "aria-labelledby": id },
    h("h2", { id }, title),
    plainTable(
      `${title} incidents`,
      [
        "Group",
        "Worst",
        "Cluster",
        "Began",
        past ? "Lasted" : "Lasts",
        past ? "Ended with" : "Now",
        "Messages",
      ],
      incidents.map((each) => [
        h("a", { href: incidentAddress(each.id) }, each.group || h("em", null, "the cluster itself")),
        mark(each.worst),
        each.cluster,
        time(each.start),
        each.end === null ? time(each.start, "since") : duration(each.end - each.start),
        each.end === null ? mark(each.status) : ENDINGS[each.ending ?? ""] ?? "",
        messages(each),
      ]),
    ),
  );
}

/** @param {Incident} incident */
function messages(incident) {
  const failed = incident.messages.filter((each) => each.state === "failed").length;
  const owed = incident.messages.filter((each) => each.state === "owed").length;
  const sent = incident.messages.filter((each) => each.state === "sent").length;
  if (failed) return plainMark("err", `${count(failed)} failed`, "cross");
  if (owed) return plainMark("warn", `${count(owed)} not sent yet`, "dots");
  return sent ? `${count(sent)} sent` : h("span.quiet", null, "none");
}
