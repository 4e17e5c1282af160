// All clusters and all groups, the worst first.

import { address, groupAddress } from "../shell/address.js";
import { h, put, say, set } from "../shell/dom.js";
import { count, counted } from "../shell/format.js";
import { allGroups, clusterNames, listen, live } from "../shell/live.js";
import { go, rewrite } from "../shell/router.js";
import { Table } from "../shell/table.js";
import { ClusterCards, condition } from "./clusters.js";
import { columns } from "./columns.js";
import { chosen, fromQuery, isOpen, toQuery } from "./filter.js";
import { Readers } from "./readers.js";
import { Sparklines } from "./sparklines.js";
import { Toolbar } from "./toolbar.js";

/** @typedef {import("../shell/shapes.d.ts").Group} Group */
/** @typedef {import("./filter.js").Filter} Filter */

// while the reader is in the table, rows stay in their places for so long
const STILL_MS = 3_000;

/** the selected group, kept for the way back from its page @type {string | null} */
let selected = null;

/** @type {import("../shell/shapes.d.ts").PageModule["open"]} */
export function open(place, route) {
  const page = new Overview(place, route.query);
  return {
    title: () => "",
    update: (next) => page.update(next.query),
    close: () => page.close(),
  };
}

class Overview {
  /** @param {HTMLElement} place @param {URLSearchParams} query */
  constructor(place, query) {
    this.filter = fromQuery(query);
    this.headline = h("h1");
    this.cards = new ClusterCards();
    this.toolbar = new Toolbar((change, typing) => this.#change(change, typing));
    this.lines = new Sparklines(() => this.table.refresh());
    this.readers = new Readers(() => this.#show());
    /** @type {Table<Group>} */
    this.table = new Table({
      label: "Consumer groups",
      columns: columns(this.lines, () => clusterNames().length > 1),
      keyOf: (group) => group.key,
      open: (group) => {
        selected = group.key;
        go(groupAddress(group.cluster, group.group));
      },
      sorted: (sort) => this.#change({ sort }),
      shown: (groups) => this.lines.want(groups),
    });
    this.table.selected = selected;
    this.empty = h("div.empty", { hidden: true });
    put(
      place,
      h("div.headline", null, this.headline),
      this.cards.element,
      h("section", { "aria-label": "Groups" }, this.toolbar.element, this.table.element, this.empty),
    );
    // the reader's pointer was last moved in the table then
    this.moved = 0;
    this.table.element.addEventListener("pointermove", () => this.moved = performance.now());
    this.keys = (/** @type {KeyboardEvent} */ event) => this.#key(event);
    document.addEventListener("keydown", this.keys);
    this.ended = listen((news) => this.#news(news.statuses));
    this.late = 0;
    this.#show();
  }

  close() {
    selected = this.table.selected;
    this.ended();
    clearTimeout(this.late);
    document.removeEventListener("keydown", this.keys);
    this.table.close();
    this.lines.close();
    this.readers.close();
  }

  /** @param {URLSearchParams} query */
  update(query) {
    this.filter = fromQuery(query);
    this.#show();
  }

  /** @param {Partial<Filter>} change @param {boolean} [typing] */
  #change(change, typing = false) {
    this.filter = { ...this.filter, ...change };
    this.#show();
    const next = address([], toQuery(this.filter));
    // a word is one step for the back button, not one for each letter
    if (typing) rewrite(next);
    else go(next, { keep: true });
  }

  /** @param {boolean} statuses */
  #news(statuses) {
    // rows do not jump away below the pointer because of a lag
    const wait = this.moved + STILL_MS - performance.now();
    if (!statuses && this.moved && wait > 0) {
      this.#head();
      this.table.refresh();
      if (!this.late) {
        this.late = setTimeout(() => {
          this.late = 0;
          this.#show();
        }, wait);
      }
      return;
    }
    this.#show();
  }

  #show() {
    // asked when the clusters are known
    this.readers.want(clusterNames().length ? this.filter.topic : "");
    const groups = chosen(allGroups(), this.filter, this.readers.keys);
    this.table.setSort(this.filter.sort);
    this.shown = groups.length;
    this.#head();
    this.table.show(groups);
    this.#explain();
  }

  #head() {
    const all = allGroups();
    /** @type {Record<string, number>} */
    const statuses = { OK: 0, WARN: 0, ERR: 0 };
    for (const group of all) statuses[group.status]++;
    const notOk = statuses.WARN + statuses.ERR;
    const tone = !live.loaded ? "none" : statuses.ERR ? "err" : statuses.WARN ? "warn" : "ok";
    set(this.headline, "data-tone", tone);
    say(
      this.headline,
      !live.loaded
        ? "Groups"
        : !all.length
        ? "No groups yet"
        : notOk
        ? `${count(notOk)} of ${counted(all.length, "group")} ${notOk === 1 ? "is" : "are"} not OK`
        : all.length === 1
        ? "The only group is OK"
        : `All ${counted(all.length, "group")} are OK`,
    );
    this.cards.show(this.filter);
    this.toolbar.show(this.filter, {
      shown: this.shown ?? 0,
      total: all.length,
      clusters: live.health?.clusters.map((each) => each.cluster) ?? clusterNames(),
      statuses,
    });
  }

  /** Where there is nothing to see: why, and what to do. */
  #explain() {
    const empty = !this.shown;
    this.table.element.hidden = empty;
    this.empty.hidden = !empty;
    if (!empty) return;
    const [title, advice] = this.#nothing();
    const shown = title + advice;
    if (this.empty.dataset.shown === shown) return;
    this.empty.dataset.shown = shown;
    put(
      this.empty,
      h("h2", null, title),
      h("p", null, advice),
      !isOpen(this.filter) && live.loaded &&
        h("p", null, h("a", { href: address([]) }, "Show all groups")),
    );
  }

  /** @returns {[string, string]} */
  #nothing() {
    if (live.state === "away" && !live.loaded) {
      return ["Warren does not answer", "The page tries again by itself."];
    }
    const clusters = live.health?.clusters ?? [];
    if (!live.loaded || !live.health) return ["Loading", "Groups appear as soon as Warren has answered."];
    if (!clusters.length) {
      return [
        "No cluster is configured",
        "Add a [cluster.NAME] and a [consumer.NAME] section, and start Warren again.",
      ];
    }
    const waiting = clusters.find((each) => !each.snapshot);
    if (!allGroups().length && waiting) {
      const [, , sentence] = condition(waiting);
      return [`Nothing is known of ${waiting.cluster} yet`, sentence || "Its first snapshot is being made."];
    }
    if (!allGroups().length) {
      return [
        "No group has committed yet",
        "A group appears with its first commit. See that groups commit to Kafka, and that no allow or deny list excludes them.",
      ];
    }
    if (this.filter.topic && !this.readers.keys) return ["Loading", `Asking who reads ${this.filter.topic}.`];
    return ["No group matches", "Other words, another status or another topic may find some."];
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const typing = event.target instanceof HTMLElement && event.target.matches("input, select, textarea");
    if (event.key === "/" && !typing) {
      event.preventDefault();
      this.toolbar.text.focus();
      this.toolbar.text.select();
    } else if (event.target === this.toolbar.text && (event.key === "ArrowDown" || event.key === "Enter")) {
      event.preventDefault();
      this.table.element.focus({ preventScroll: true });
      this.table.move(0);
    } else if (event.key === "Escape" && event.target === this.toolbar.text) {
      this.toolbar.text.value = "";
      this.#change({ text: "" });
    }
  }
}
