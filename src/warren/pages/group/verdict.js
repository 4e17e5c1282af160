// The verdict on a group in a sentence, and its three marks: verdict, coordinator, completeness.

import { ruleAddress } from "../shell/address.js";
import { h, put, set } from "../shell/dom.js";
import { count, counted, percent, readable } from "../shell/format.js";
import { look, mark, plainMark } from "../shell/status.js";
import { time } from "../shell/times.js";

/** @typedef {import("../shell/shapes.d.ts").GroupDetail} GroupDetail */
/** @typedef {import("../shell/shapes.d.ts").PartitionWindow} PartitionWindow */

export class Verdict {
  constructor() {
    this.sentence = h("p.verdict-sentence");
    this.more = h("p.quiet");
    this.marks = h("dl.marks");
    this.element = h(
      "section.card.verdict",
      { "aria-label": "Verdict" },
      this.sentence,
      this.more,
      this.marks,
    );
  }

  /**
   * @param {GroupDetail} detail
   * @param {PartitionWindow | undefined} worst
   */
  show(detail, worst) {
    const { summary, partitions } = detail;
    const bad = partitions.filter((each) => each.status !== "OK");
    set(this.element, "data-tone", look(summary.status).tone);
    if (worst && worst.status !== "OK") {
      put(
        this.sentence,
        h("strong", null, `${worst.status}: `),
        `partition ${worst.partition} of ${worst.topic}. `,
        readable(worst.because ?? ""),
        worst.rule && [" ", h("a.rule", { href: ruleAddress(worst.rule) }, `rule ${worst.rule}`)],
      );
    } else {
      const reason = !partitions.length
        ? "No partition has a commit."
        : summary.totallag
        ? `All ${counted(partitions.length, "partition")} are OK: the group moves, and its lag does not grow.`
        : `All ${counted(partitions.length, "partition")} are OK: everything is read.`;
      put(
        this.sentence,
        h("strong", null, "OK: "),
        partitions.length === 1 ? "its only partition keeps up." : reason,
      );
    }
    put(
      this.more,
      bad.length > 1 && `${count(bad.length)} of ${counted(partitions.length, "partition")} are not OK. `,
      worst?.would_change && worst.status !== "OK" &&
        [h("strong", null, "What would change it: "), readable(worst.would_change)],
    );
    this.more.hidden = !this.more.textContent;
    put(
      this.marks,
      entry(
        "Verdict",
        mark(summary.status),
        summary.status_since ? ["since ", time(summary.status_since, "since")] : [
          "since Warren started, or longer",
        ],
      ),
      this.#coordinator(detail),
      entry(
        "Completeness",
        summary.complete < 1
          ? plainMark("none", percent(summary.complete), "dots")
          : plainMark("ok", "complete", "tick"),
        [summary.complete < 1 ? "of its partitions have a full window" : "every window is full"],
      ),
      entry("Total lag", h("span.figure", null, count(summary.totallag)), [
        `greatest of one partition ${count(summary.maxlag)}`,
      ]),
      entry("Last commit", h("span.figure", null, summary.last_commit ? time(summary.last_commit) : "none"), [
        `${counted(summary.partition_count, "partition")}`,
      ]),
    );
  }

  /** @param {GroupDetail} detail */
  #coordinator({ partitions }) {
    const owned = partitions.filter((each) => each.owner);
    const members = new Set(owned.map((each) => `${each.owner}\u0000${each.client_id}`)).size;
    const title = "From the group records that the coordinator writes";
    if (!members) {
      const empty = entry("Coordinator", plainMark("none", "no members", "ring"), [
        "nobody is assigned its partitions",
      ]);
      empty[0].title = title;
      return empty;
    }
    const all = owned.length === partitions.length;
    const found = entry(
      "Coordinator",
      plainMark(all ? "ok" : "warn", counted(members, "member"), all ? "tick" : "triangle"),
      [
        all
          ? "every partition has an owner"
          : `${count(owned.length)} of ${count(partitions.length)} partitions owned`,
      ],
    );
    found[0].title = title;
    return found;
  }
}

/**
 * @param {string} name
 * @param {Node} value
 * @param {(Node | string)[]} note
 * @returns {[HTMLElement]}
 */
function entry(name, value, note) {
  return [h("div", null, h("dt", null, name), h("dd", null, value, h("span.note", null, note)))];
}
