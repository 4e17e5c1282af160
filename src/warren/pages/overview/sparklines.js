// The lags of the last hour, for the rows that are on the screen: asked for when they are seen, a few clusters at a time.

import { get } from "../shell/api.js";
import { keyOf } from "../shell/live.js";

/** @typedef {import("../shell/shapes.d.ts").Group} Group */
/** @typedef {{ values: (number | null)[], at: number }} Line */

const SETTLE_MS = 150;
// a step is as long
const FRESH_MS = 60_000;
const AT_ONCE = 100;
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
    this.timer = 0;
    this.closing = new AbortController();
    this.asking = false;
  }

  close() {
    clearTimeout(this.timer);
    this.closing.abort();
  }

  /** @param {Group} group @returns {(number | null)[] | undefined} with the lag of now at the end */
  of(group) {
    const found = this.lines.get(group.key);
    return found && [...found.values.slice(0, -1), Math.max(found.values.at(-1) ?? 0, group.lag)];
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
