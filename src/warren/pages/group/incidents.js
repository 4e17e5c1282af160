// The incidents of a group, and what was sent to whom.

import { address, incidentAddress, notifierAddress } from "../shell/address.js";
import { get } from "../shell/api.js";
import { h, put } from "../shell/dom.js";
import { count, counted, duration } from "../shell/format.js";
import { live } from "../shell/live.js";
import { mark, plainMark } from "../shell/status.js";
import { time } from "../shell/times.js";

/** @typedef {import("../shell/shapes.d.ts").Incident} Incident */
/** @typedef {import("../shell/shapes.d.ts").Message} Message */

const SHOWN = 5;
/** @type {Record<string, string>} */
const ENDINGS = { ok: "OK again", gone: "the group is gone", unwatched: "not watched any more" };
/** @type {Record<string, ["ok" | "warn" | "err" | "none", "tick" | "dots" | "cross" | "ring"]>} */
const STATES = {
  sent: ["ok", "tick"],
  owed: ["none", "dots"],
  failed: ["err", "cross"],
  abandoned: ["none", "ring"],
};

export class GroupIncidents {
  /** @param {string} cluster @param {string} group */
  constructor(cluster, group) {
    this.cluster = cluster;
    this.group = group;
    this.list = h("div.incidents");
    this.element = h(
      "section.card",
      { "aria-labelledby": "incidents" },
      h("h2", { id: "incidents" }, "Incidents"),
      this.list,
    );
    this.shown = "";
    this.closing = new AbortController();
    this.load();
  }

  close() {
    this.closing.abort();
  }

  async load() {
    try {
      // the parameter is a pattern
      const group = this.group.replace(/[*?[]/g, "[$&]");
      /** @type {import("../shell/shapes.d.ts").Incidents} */
      const answer = await get(["v4", "incidents"], { cluster: this.cluster, group, limit: SHOWN }, {
        signal: this.closing.signal,
      });
      const shown = JSON.stringify(answer) + Boolean(live.health?.notifier);
      if (shown === this.shown) return;
      this.shown = shown;
      this.#show(answer);
    } catch {
      // the rest of the page says what is wrong
    }
  }

  /** @param {import("../shell/shapes.d.ts").Incidents} answer */
  #show(answer) {
    if (!answer.incidents.length) {
      const why = live.health && !live.health.notifier
        ? "No notifier is configured, so incidents are not kept: add a [notifier.NAME] section."
        : "None is recorded for this group.";
      put(this.list, h("p.quiet", null, why));
      return;
    }
    put(
      this.list,
      answer.incidents.map((each) => incidentLine(each)),
      answer.total > SHOWN &&
        h(
          "p",
          null,
          h(
            "a",
            { href: address(["incidents"], { cluster: this.cluster, group: this.group }) },
            `All ${count(answer.total)} incidents`,
          ),
        ),
    );
  }
}

/** @param {Incident} incident */
export function incidentLine(incident) {
  return h(
    "article.incident",
    null,
    h(
      "div.line",
      null,
      h(
        "h3",
        null,
        mark(incident.worst),
        h("a", { href: incidentAddress(incident.id) }, incident.end ? "Past incident" : "Open incident"),
      ),
      h(
        "span.quiet",
        null,
        "began ",
        time(incident.start),
        incident.end
          ? `, lasted ${duration(incident.end - incident.start)}: ${ENDINGS[incident.ending ?? ""] ?? ""}`
          : ", goes on",
      ),
    ),
    incident.messages.length
      ? h(
        "ul.messages",
        { "aria-label": counted(incident.messages.length, "message") },
        incident.messages.map(messageLine),
      )
      : h("p.hint", null, "No message was sent."),
  );
}

/** @param {Message} message */
export function messageLine(message) {
  const [tone, form] = STATES[message.state] ?? ["none", "ring"];
  const tries = message.attempts > 1 ? ` after ${counted(message.attempts, "attempt")}` : "";
  return h(
    "li",
    null,
    plainMark(tone, message.state === "owed" ? "not sent yet" : message.state, form),
    h(
      "span",
      null,
      `${message.kind === "close" ? "the end" : message.status} to `,
      h("a", { href: notifierAddress(message.module) }, message.module),
      tries,
    ),
    h("span.quiet", null, time(message.at)),
    h("span.quiet.answer", null, message.error || message.answer),
  );
}
