// A card for each cluster: its health, how many groups have which status, and how much is unread.

import { address } from "../shell/address.js";
import { h, put, say, set } from "../shell/dom.js";
import { count, counted, percent } from "../shell/format.js";
import { allGroups, live, snapshotOf } from "../shell/live.js";
import { plainMark, shape } from "../shell/status.js";
import { setTime, time } from "../shell/times.js";
import { STATUSES, toQuery } from "./filter.js";

/** @typedef {import("../shell/shapes.d.ts").ClusterHealth} ClusterHealth */
/** @typedef {{ OK: number, WARN: number, ERR: number, lag: number }} Sums */

/**
 * By cluster.
 * @returns {Map<string, Sums>}
 */
export function sums() {
  /** @type {Map<string, Sums>} */
  const found = new Map();
  for (const group of allGroups()) {
    let sum = found.get(group.cluster);
    if (!sum) found.set(group.cluster, sum = { OK: 0, WARN: 0, ERR: 0, lag: 0 });
    sum[group.status]++;
    sum.lag += group.lag;
  }
  return found;
}

/**
 * What is the matter with a cluster, in a mark and a sentence.
 * @param {ClusterHealth} cluster
 * @returns {[tone: "ok" | "warn" | "err" | "none", short: string, sentence: string]}
 */
export function condition(cluster) {
  if (cluster.blind) return ["err", "unreachable", cluster.error || "The brokers do not respond."];
  if (cluster.error) return ["err", "failing", cluster.error];
  if (!cluster.running) return ["warn", "starting", "The query is being started."];
  if (!cluster.caught_up || !cluster.snapshot) {
    const read = percent(cluster.read_share);
    return [
      "warn",
      `catching up, ${read}`,
      `${count(cluster.left)} records of the offsets topic are left to read.`,
    ];
  }
  return ["ok", "healthy", ""];
}

export class ClusterCards {
  constructor() {
    this.element = h("ul.clusters", { "aria-label": "Clusters" });
    /** @type {Map<string, Card>} */
    this.cards = new Map();
  }

  /** @param {import("./filter.js").Filter} filter */
  show(filter) {
    const health = live.health?.clusters ?? [];
    const found = sums();
    const names = health.map((each) => each.cluster);
    for (const name of [...this.cards.keys()]) {
      if (!names.includes(name)) this.cards.delete(name);
    }
    for (const each of health) {
      let card = this.cards.get(each.cluster);
      if (!card) this.cards.set(each.cluster, card = new Card(each.cluster));
      card.show(each, found.get(each.cluster), filter);
    }
    const wanted = names.map((name) => /** @type {Card} */ (this.cards.get(name)).element);
    if (
      wanted.length !== this.element.children.length ||
      wanted.some((each, at) => each !== this.element.children[at])
    ) {
      put(this.element, wanted);
    }
  }
}

class Card {
  /** @param {string} cluster */
  constructor(cluster) {
    this.cluster = cluster;
    this.link = h("a.name", null, cluster);
    this.health = h("span");
    this.sentence = h("p.sentence");
    this.bar = h(
      "div.bar",
      { "aria-hidden": "true" },
      STATUSES.map((status) => h("span", { "data-status": status })),
    );
    this.counts = new Map(STATUSES.map((status) => [status, h("span")]));
    this.lag = h("span");
    this.time = time(0);
    this.element = h(
      "li.card",
      null,
      h("div.line", null, h("h2", null, this.link), this.health),
      this.bar,
      h(
        "div.counts",
        null,
        STATUSES.map((status) => h("span.count", null, shape(status), this.counts.get(status), ` ${status}`)),
      ),
      h("div.line.quiet", null, this.lag, h("span", null, "as of ", this.time)),
      this.sentence,
    );
    this.shown = "";
  }

  /**
   * @param {ClusterHealth} health
   * @param {Sums | undefined} sum
   * @param {import("./filter.js").Filter} filter
   */
  show(health, sum, filter) {
    const [tone, short, sentence] = condition(health);
    if (this.shown !== tone + short) {
      this.shown = tone + short;
      put(this.health, plainMark(tone, short, tone === "ok" ? "tick" : tone === "warn" ? "dots" : "cross"));
    }
    say(this.sentence, sentence);
    const chosen = filter.cluster === this.cluster;
    set(this.element, "data-chosen", chosen ? "true" : null);
    set(this.link, "href", address([], toQuery({ ...filter, cluster: chosen ? "" : this.cluster })));
    set(this.link, "title", chosen ? "Show all clusters" : "Show only the groups of this cluster");
    const total = sum ? sum.OK + sum.WARN + sum.ERR : 0;
    for (const part of this.bar.children) {
      const status = /** @type {"OK" | "WARN" | "ERR"} */ (/** @type {HTMLElement} */ (part).dataset.status);
      const many = sum?.[status] ?? 0;
      // the few that are in trouble are seen among many that are not
      const grow = many ? String(Math.max(many, total / 40)) : "0";
      if (/** @type {HTMLElement} */ (part).style.flexGrow !== grow) {
        /** @type {HTMLElement} */ (part).style.flexGrow = grow;
      }
      say(/** @type {HTMLElement} */ (this.counts.get(status)), count(many));
    }
    say(this.lag, sum ? `${counted(total, "group")}, total lag ${count(sum.lag)}` : "no groups yet");
    setTime(this.time, health.seen_at || snapshotOf(this.cluster)?.as_of);
  }
}
