// The lags of the last hour, for the rows that are on the screen: asked for when they are seen, a few clusters at a time.

import { get } from "../shell/api.js";
import { keyOf } from "../shell/live.js";

/** @typedef {import("../shell/shapes.d.ts").Group} Group */
/** @typedef {{ values: (number | null)[], at: number }} Line */

const SETTLE_MS = 150;
// a step is as long
const FRESH_MS = 60_000;
const AT_ONCE = 100;
// steps that a line has at least
const FEWEST = 8;
// lines that are kept; the oldest go first
const KEPT = 2_000;

export class Sparklines {
  /** @param {() => void} came called when there are new ones */
  constructor(came) {
    this.came = came;
    /** @type {Map<string, Line>} */
    this.lines = new Map();
    /** @type {Group[]} */
    this.wanted = [];
    // the first step of which anything is known
    this.first = Infinity;
    this.timer = 0;
    this.closing = new AbortController();
    this.asking = false;
  }

  close() {
    clearTimeout(this.timer);
    this.closing.abort();
  }

  /**
   * With the lag of now at the end. Steps of which nothing is known of any group are left out: Warren was not there yet.
   * @param {Group} group
   * @returns {(number | null)[] | undefined}
   */
  of(group) {
    const found = this.lines.get(group.key)?.values;
    if (!found?.length) return found;
    const values = found.slice(Math.min(this.first, found.length - FEWEST));
    values[values.length - 1] = Math.max(values.at(-1) ?? 0, group.lag);
    return values;
  }

  /** These are on the screen. @param {Group[]} groups */
  want(groups) {
    this.wanted = groups;
    if (this.timer || this.asking) return;
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.#ask();
    }, SETTLE_MS);
  }

  async #ask() {
    const now = Date.now();
    /** @type {Map<string, string[]>} */
    const missing = new Map();
    for (const group of this.wanted) {
      if (now - (this.lines.get(group.key)?.at ?? 0) < FRESH_MS) continue;
      const names = missing.get(group.cluster) ?? [];
      if (names.length < AT_ONCE) names.push(group.group);
      missing.set(group.cluster, names);
    }
    this.asking = true;
    for (const [cluster, names] of missing) await this.#fetch(cluster, names, now);
    this.asking = false;
    if (missing.size && !this.closing.signal.aborted) this.came();
  }

  /** @param {string} cluster @param {string[]} names @param {number} now */
  async #fetch(cluster, names, now) {
    try {
      const groups = names.map((name) => encodeURIComponent(name)).join(",");
      /** @type {import("../shell/shapes.d.ts").ClusterHistory} */
      const answer = await get(["v4", "clusters", cluster, "history"], { since: "1h", step: "60s", groups }, {
        signal: this.closing.signal,
      });
      this.first = 60;
      for (
        const each of [...this.lines.values(), ...answer.groups.map((one) => ({ values: one.totallag }))]
      ) {
        const at = each.values.findIndex((value) => value !== null);
        if (at >= 0) this.first = Math.min(this.first, at);
      }
      const found = new Map(answer.groups.map((each) => [each.group, each.totallag]));
      for (const name of names) this.#keep(keyOf(cluster, name), { values: found.get(name) ?? [], at: now });
    } catch {
      // asked again after a while, when the rows are still there
      for (const name of names) {
        const key = keyOf(cluster, name);
        this.#keep(key, { values: this.lines.get(key)?.values ?? [], at: now - FRESH_MS + 5_000 });
      }
    }
  }

  /** @param {string} key @param {Line} line */
  #keep(key, line) {
    this.lines.delete(key);
    this.lines.set(key, line);
    if (this.lines.size > KEPT) {
      for (const oldest of this.lines.keys()) {
        this.lines.delete(oldest);
        break;
      }
    }
  }
}
