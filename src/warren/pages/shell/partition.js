// One partition of a group: its verdict explained, its window drawn, and what would change the verdict.

import { ruleAddress } from "./address.js";
import { h, put, say, set } from "./dom.js";
import { drawing } from "./drawing.js";
import { count, percent, readable, timeOfDay } from "./format.js";
import { mark, setMark } from "./status.js";
import { windowChart } from "./window.js";

/** @typedef {import("./shapes.d.ts").PartitionWindow} PartitionWindow */

/** A line that opens: kept while the page is open, and filled again when the partition changes. */
export class PartitionView {
  /**
   * @param {PartitionWindow} partition
   * @param {number} now the moment as of which it was judged
   * @param {boolean} open
   * @param {string} [topicHref] where the topic's page is
   */
  constructor(partition, now, open, topicHref) {
    this.partition = partition;
    this.now = now;
    this.mark = mark(partition.status);
    this.lag = h("span.number");
    this.where = h("span.where");
    this.owner = h("span.owner");
    this.sentence = h("p.because");
    this.change = h("p.change");
    this.facts = h("p.hint");
    this.chart = drawing((width) => windowChart(this.partition, this.now, width));
    this.numbers = h(
      "details.numbers",
      { ontoggle: () => this.#numbers() },
      h("summary", null, "The numbers"),
    );
    this.table = h("div.scroll");
    this.numbers.append(this.table);
    this.body = h("div.body", null, this.sentence, this.chart.element, this.change, this.facts, this.numbers);
    this.element = h(
      "details.partition",
      { open, "data-key": keyOf(partition), ontoggle: () => this.#shown() },
      h("summary", null, this.mark, h("span.name", null, this.where), this.owner, this.lag),
      this.body,
    );
    this.topicHref = topicHref;
    this.fill(partition, now);
  }

  close() {
    this.chart.close();
  }

  /** @param {PartitionWindow} partition @param {number} now */
  fill(partition, now) {
    this.partition = partition;
    this.now = now;
    set(
      this.element,
      "data-tone",
      partition.status === "OK" ? "ok" : partition.status === "WARN" ? "warn" : "err",
    );
    setMark(this.mark, partition.status);
    say(this.where, `${partition.topic} / ${partition.partition}`);
    say(this.lag, `lag ${count(partition.current_lag)}`);
    say(
      this.owner,
      partition.owner ? `${partition.client_id} on ${partition.owner.replace(/^\//, "")}` : "no owner",
    );
    this.#shown();
  }

  /** The parts that are seen only when it is open. */
  #shown() {
    if (!this.element.open) return;
    const { partition } = this;
    put(
      this.sentence,
      h("strong", null, `${partition.status}: `),
      readable(partition.because ?? "Nothing is the matter with it."),
      partition.rule && [" ", h("a.rule", { href: ruleAddress(partition.rule) }, `rule ${partition.rule}`)],
    );
    this.chart.element.hidden = !partition.window.length;
    if (partition.window.length) this.chart.again();
    this.change.hidden = !partition.would_change;
    put(this.change, h("strong", null, "What would change it: "), readable(partition.would_change ?? ""));
    const tail = partition.tail === null ? "" : `, first offset kept ${count(partition.tail)}`;
    put(
      this.facts,
      partition.head === null ? "The head is not known" : `Head ${count(partition.head)}`,
      tail,
      `, window ${percent(partition.complete)} full. `,
      this.topicHref && h("a", { href: this.topicHref }, `All readers of ${partition.topic}`),
    );
    this.numbers.hidden = !partition.window.length;
    this.#numbers();
  }

  #numbers() {
    if (!this.numbers.open) return;
    const { window: commits, decided_by: decided } = this.partition;
    put(
      this.table,
      h(
        "table",
        null,
        h("caption.unseen", null, "The commits of the window"),
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            ["Commit", "Time", "Offset", "Lag", "Decided"].map((each, at) =>
              h(at > 1 && at < 4 ? "th.number" : "th", { scope: "col" }, each)
            ),
          ),
        ),
        h(
          "tbody",
          null,
          commits.map((each, at) =>
            h(
              "tr",
              null,
              h("td", null, at + 1),
              h("td", null, timeOfDay(each.timestamp)),
              h("td.number", null, count(each.offset)),
              h("td.number", null, each.lag === null ? "not known" : count(each.lag)),
              h("td", null, decided?.includes(at) ? "yes" : ""),
            )
          ),
        ),
      ),
    );
  }
}

/** @param {{ topic: string, partition: number }} partition */
export const keyOf = (partition) => `${partition.topic}\u0000${partition.partition}`;
