// One group: its verdict and why, its partitions with their windows, its lag over time, its incidents.

import { address, topicAddress } from "../shell/address.js";
import { ApiError, get, reason } from "../shell/api.js";
import { crumbs } from "../shell/crumbs.js";
import { h, put, say, set } from "../shell/dom.js";
import { count, counted } from "../shell/format.js";
import { groupNow, keyOf as groupKey, listen, live } from "../shell/live.js";
import { keyOf, PartitionView } from "../shell/partition.js";
import { go } from "../shell/router.js";
import { mark, setMark } from "../shell/status.js";
import { askToDelete } from "./deletion.js";
import { LagHistory } from "./history.js";
import { GroupIncidents } from "./incidents.js";
import { Verdict } from "./verdict.js";

/** @typedef {import("../shell/shapes.d.ts").GroupDetail} GroupDetail */
/** @typedef {import("../shell/shapes.d.ts").GroupWindows} GroupWindows */

// sentences count seconds: they are asked for again even if nothing changes
const AGAIN_MS = 10_000;
const SOONEST_MS = 1_500;
// partitions that are shown at first, and more of them on request
const FIRST = 10;
const MORE = 100;

/** @type {import("../shell/shapes.d.ts").PageModule["open"]} */
export function open(place, route) {
  const page = new GroupPage(place, route);
  return { title: () => page.title(), close: () => page.close(), update: () => {} };
}

class GroupPage {
  /** @param {HTMLElement} place @param {import("../shell/shapes.d.ts").Route} route */
  constructor(place, route) {
    this.cluster = route.names[0];
    this.group = route.names[1];
    this.path = ["v4", "clusters", this.cluster, "groups", this.group];
    this.mark = mark("", "\u2026");
    this.verdict = new Verdict();
    this.history = new LagHistory(this.cluster, this.group, route.query.get("range") ?? "", (range) => {
      const query = { range: range === "1h" ? "" : range };
      go(address(["clusters", this.cluster, "groups", this.group], query), { replace: true, keep: true });
    });
    this.incidents = new GroupIncidents(this.cluster, this.group);
    this.limit = FIRST;
    /** @type {Map<string, PartitionView>} */
    this.views = new Map();
    this.list = h("div.partition-list");
    this.summary = h("span.quiet");
    this.more = h("button", { type: "button", onclick: () => this.#more() });
    this.problem = h("div.empty", { hidden: true, role: "status" });
    this.remove = h(
      "button.danger",
      { type: "button", onclick: () => askToDelete(this.cluster, this.group) },
      "Delete\u2026",
    );
    this.content = h(
      "div.stack",
      { hidden: true },
      this.verdict.element,
      h(
        "section",
        { "aria-labelledby": "partitions" },
        h("div.line", null, h("h2", { id: "partitions" }, "Partitions"), this.summary),
        this.list,
        this.more,
      ),
      this.history.element,
      this.incidents.element,
      this.#addresses(),
    );
    put(
      place,
      h(
        "div.group-head",
        null,
        crumbs(
          h("a", { href: address([]) }, "Groups"),
          " / ",
          h("a", { href: address([], { cluster: this.cluster }) }, this.cluster),
        ),
        h("div.line", null, h("div.named", null, h("h1", null, this.group), this.mark), this.remove),
      ),
      this.problem,
      this.content,
    );
    this.asked = 0;
    this.timer = 0;
    this.closing = new AbortController();
    this.ended = listen((news) => this.#news(news));
    this.#rights();
    this.load();
  }

  title() {
    const known = groupNow(this.cluster, this.group);
    return known ? `${this.group} ${known.status}` : this.group;
  }

  close() {
    this.ended();
    this.closing.abort();
    clearTimeout(this.timer);
    this.history.close();
    this.incidents.close();
    for (const view of this.views.values()) view.close();
  }

  async load() {
    clearTimeout(this.timer);
    this.asked = performance.now();
    const how = { signal: this.closing.signal };
    try {
      const [detail, windows] = await Promise.all([
        get(this.path, {}, how),
        get([...this.path, "windows"], { limit: this.limit }, how),
      ]);
      this.#show(detail, windows);
    } catch (error) {
      if (this.closing.signal.aborted) return;
      this.#trouble(error);
    }
    this.timer = setTimeout(() => this.#again(), AGAIN_MS);
  }

  #again() {
    if (document.hidden) {
      this.timer = setTimeout(() => this.#again(), AGAIN_MS);
      return;
    }
    this.load();
    this.history.load();
    this.incidents.load();
  }

  /** @param {import("../shell/live.js").News} news */
  #news(news) {
    this.#rights();
    if (!news.keys.has(groupKey(this.cluster, this.group))) return;
    const known = groupNow(this.cluster, this.group);
    if (known) setMark(this.mark, known.status);
    clearTimeout(this.timer);
    const wait = news.statuses ? 0 : Math.max(0, this.asked + SOONEST_MS - performance.now());
    this.timer = setTimeout(() => this.#again(), wait);
  }

  #rights() {
    this.remove.hidden = !live.session.admin || this.content.hidden;
  }

  /** @param {GroupDetail} detail @param {GroupWindows} windows */
  #show(detail, windows) {
    this.problem.hidden = true;
    this.content.hidden = false;
    this.#rights();
    setMark(this.mark, detail.summary.status);
    this.verdict.show(detail, windows.partitions[0]);
    const bad = detail.partitions.filter((each) => each.status !== "OK").length;
    say(
      this.summary,
      bad
        ? `${count(bad)} of ${count(windows.total)} not OK, worst first`
        : counted(windows.total, "partition"),
    );
    const first = !this.views.size;
    const now = windows.snapshot.as_of;
    const elements = windows.partitions.map((each, at) => {
      const key = keyOf(each);
      let view = this.views.get(key);
      if (view) {
        view.fill(each, now);
      } else {
        // the worst one is why the reader is here
        const opened = first && at === 0;
        view = new PartitionView(each, now, opened, topicAddress(this.cluster, each.topic));
        this.views.set(key, view);
      }
      return view.element;
    });
    if (
      elements.length !== this.list.children.length ||
      elements.some((each, at) => each !== this.list.children[at])
    ) {
      put(this.list, elements);
    }
    for (const [key, view] of this.views) {
      if (view.element.isConnected) continue;
      view.close();
      this.views.delete(key);
    }
    const left = windows.total - windows.partitions.length;
    this.more.hidden = left <= 0;
    say(this.more, `Show ${count(Math.min(left, MORE))} more`);
  }

  #more() {
    this.limit += MORE;
    this.load();
  }

  /** @param {unknown} error */
  #trouble(error) {
    const gone = error instanceof ApiError && error.status === 404;
    // what is there stays when nobody answers; the banner says so
    if (!gone && !this.content.hidden) return;
    this.content.hidden = true;
    this.problem.hidden = false;
    this.#rights();
    setMark(this.mark, "", gone ? "not there" : "\u2026");
    put(
      this.problem,
      h("h2", null, gone ? "There is no such group" : "Nothing to see yet"),
      h(
        "p",
        null,
        gone
          ? `${this.cluster} has no group of this name now: it has expired, was deleted, or has not committed yet. It appears here with its next commit.`
          : reason(error),
      ),
      h("p", null, h("a", { href: address([], { cluster: this.cluster }) }, "See all groups of the cluster")),
    );
    set(this.problem, "data-gone", gone ? "true" : null);
  }

  #addresses() {
    const old = ["v3", "kafka", this.cluster, "consumer", this.group, "lag"];
    const paths = [this.path, [...this.path, "windows"], [...this.path, "history"], old];
    return h(
      "section.card",
      { "aria-labelledby": "api" },
      h("h2", { id: "api" }, "The same from the API"),
      h(
        "ul.addresses",
        null,
        paths.map((each) => h("li", null, h("a.mono", { href: address(each) }, address(each)))),
      ),
    );
  }
}
