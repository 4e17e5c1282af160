// The fields that choose among the groups.

import { h, put, say, set } from "../shell/dom.js";
import { count, counted } from "../shell/format.js";
import { shape } from "../shell/status.js";
import { isOpen, STATUSES } from "./filter.js";
import { topicNames } from "./readers.js";

/** @typedef {import("./filter.js").Filter} Filter */

export class Toolbar {
  /** @param {(change: Partial<Filter>, typing?: boolean) => void} changed `typing`: one of many changes in a row */
  constructor(changed) {
    this.text = h("input", {
      type: "search",
      placeholder: "Filter groups",
      "aria-label": "Filter groups by name",
      "aria-keyshortcuts": "/",
      title: "Words that the name has; press / to get here",
      spellcheck: "false",
      autocomplete: "off",
      oninput: () => changed({ text: this.text.value }, true),
    });
    this.topic = h("input", {
      type: "search",
      placeholder: "Any topic",
      "aria-label": "Only groups that read this topic",
      list: "topics",
      spellcheck: "false",
      autocomplete: "off",
      onchange: () => changed({ topic: this.topic.value.trim() }),
      onfocus: () => this.#suggest(),
    });
    this.topics = h("datalist", { id: "topics" });
    this.suggested = false;
    this.cluster = h("select", {
      "aria-label": "Only groups of this cluster",
      onchange: () => changed({ cluster: this.cluster.value }),
    });
    this.clusters = "";
    this.counts = new Map(STATUSES.map((status) => [status, h("span.many")]));
    /** @type {Map<string, HTMLButtonElement>} */
    this.chips = new Map(STATUSES.map((status) => [
      status,
      h(
        "button.chip",
        {
          type: "button",
          "aria-pressed": "false",
          "data-status": status,
          onclick: () => changed({ statuses: toggled(this.filter, status) }),
        },
        shape(status),
        status,
        this.counts.get(status),
      ),
    ]));
    this.notOk = h("button.chip", {
      type: "button",
      "aria-pressed": "false",
      onclick: () => {
        changed({ statuses: new Set(isNotOk(this.filter) ? [] : ["ERR", "WARN"]) });
      },
    }, "Not OK");
    this.shown = h("output.shown", { "aria-live": "polite" });
    this.clear = h("button.plain", {
      type: "button",
      onclick: () => changed({ statuses: new Set(), text: "", cluster: "", topic: "" }),
    }, "Show all");
    this.element = h(
      "search.toolbar",
      { "aria-label": "Choose groups" },
      h("div.chips", { role: "group", "aria-label": "Status" }, this.notOk, [...this.chips.values()]),
      this.text,
      this.cluster,
      this.topic,
      this.topics,
      h("div.result", null, this.shown, this.clear),
    );
    /** @type {Filter | null} */
    this.filter = null;
  }

  /**
   * @param {Filter} filter
   * @param {{ shown: number, total: number, clusters: string[], statuses: Record<string, number> }} now
   */
  show(filter, now) {
    this.filter = filter;
    if (this.text.value !== filter.text && document.activeElement !== this.text) {
      this.text.value = filter.text;
    }
    if (document.activeElement !== this.topic) this.topic.value = filter.topic;
    const clusters = JSON.stringify(now.clusters);
    if (clusters !== this.clusters) {
      this.clusters = clusters;
      put(
        this.cluster,
        h("option", { value: "" }, "All clusters"),
        now.clusters.map((name) => h("option", { value: name }, name)),
      );
    }
    this.cluster.hidden = now.clusters.length < 2 && !filter.cluster;
    this.cluster.value = filter.cluster;
    for (const [status, chip] of this.chips) {
      set(chip, "aria-pressed", String(filter.statuses.has(status)));
      say(/** @type {HTMLElement} */ (this.counts.get(status)), count(now.statuses[status] ?? 0));
    }
    set(this.notOk, "aria-pressed", String(isNotOk(filter)));
    say(
      this.shown,
      now.shown === now.total
        ? counted(now.total, "group")
        : `${count(now.shown)} of ${counted(now.total, "group")}`,
    );
    this.clear.hidden = isOpen(filter);
  }

  async #suggest() {
    if (this.suggested) return;
    this.suggested = true;
    put(this.topics, (await topicNames()).map((name) => h("option", { value: name })));
  }
}

/** @param {Filter | null} filter */
function isNotOk(filter) {
  return !!filter && filter.statuses.size === 2 && !filter.statuses.has("OK");
}

/** @param {Filter | null} filter @param {string} status */
function toggled(filter, status) {
  const statuses = new Set(filter?.statuses);
  if (!statuses.delete(status)) statuses.add(status);
  return statuses.size === STATUSES.length ? new Set() : statuses;
}
