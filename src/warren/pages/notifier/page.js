// One notifier: what it has sent, why its last message failed, and a sample through it.

import { address, groupAddress, incidentAddress } from "../shell/address.js";
import { get, reason, send } from "../shell/api.js";
import { crumbs } from "../shell/crumbs.js";
import { h, put, set } from "../shell/dom.js";
import { empty } from "../shell/empty.js";
import { count, counted, duration } from "../shell/format.js";
import { listen, live } from "../shell/live.js";
import { factList } from "../shell/plain-table.js";
import { poll } from "../shell/poll.js";
import { mark, plainMark } from "../shell/status.js";
import { time } from "../shell/times.js";
import { section } from "../about/configuration.js";

/** @typedef {import("../shell/shapes.d.ts").Notifier} Notifier */
/** @typedef {import("../shell/shapes.d.ts").Delivery} Delivery */
/** @typedef {import("../shell/shapes.d.ts").NotifierTried} NotifierTried */

const AGAIN_MS = 5_000;

/** @type {import("../shell/shapes.d.ts").PageModule["open"]} */
export function open(place, route) {
  const page = new NotifierPage(place, route.names[0]);
  return { title: () => page.name, close: () => page.close(), update: () => {} };
}

class NotifierPage {
  /** @param {HTMLElement} place @param {string} name */
  constructor(place, name) {
    this.name = name;
    this.shown = "";
    this.state = h("div.stack");
    this.trial = new Trial(name, () => this.asking.now());
    this.settings = h("div");
    this.content = h("div.stack", { hidden: true }, this.state, this.trial.element, this.settings);
    this.problem = h("div");
    put(
      place,
      h(
        "div",
        null,
        crumbs(
          h("a", { href: address(["about"]) }, "About"),
          " / notifiers",
        ),
        h("h1", null, name),
      ),
      this.problem,
      this.content,
    );
    this.ended = listen(() => this.trial.rights());
    this.asking = poll((signal) => this.#load(signal), () => AGAIN_MS);
  }

  close() {
    this.ended();
    this.asking.close();
  }

  /** @param {AbortSignal} signal */
  async #load(signal) {
    try {
      const [told, about] = await Promise.all([
        get(["v4", "notifiers"], {}, { signal }),
        get(["v4", "about"], {}, { signal }),
      ]);
      /** @type {Notifier | undefined} */
      const found = told.notifiers.find((/** @type {Notifier} */ each) => each.module === this.name);
      const settings = about.configuration.notifier?.[this.name];
      const shown = JSON.stringify([found, settings]);
      if (shown === this.shown) return;
      this.shown = shown;
      this.#show(found, settings);
    } catch (error) {
      if (signal.aborted || this.shown) return;
      put(this.problem, empty("Nothing to see yet", reason(error)));
    }
  }

  /** @param {Notifier | undefined} found @param {Record<string, unknown> | undefined} settings */
  #show(found, settings) {
    this.content.hidden = !found;
    if (!found) {
      const text = `The configuration has no section [notifier.${this.name}].`;
      put(
        this.problem,
        empty("There is no such notifier", text, h("a", { href: address(["about"]) }, "See all")),
      );
      return;
    }
    put(this.problem);
    put(
      this.state,
      h(
        "section.card",
        { "aria-label": "In short" },
        factList([
          ["Class", found.class_name],
          ["Sent", count(found.sent)],
          ["Failed", found.failed ? plainMark("err", count(found.failed), "cross") : "0"],
          ["Waiting", count(found.owed)],
          ["Tried again", count(found.retried)],
        ]),
        h("p.hint", null, "Counted since Warren started, but for those that wait."),
      ),
      failure(found.last_failure, found.last_sent),
      found.last_sent && h(
        "section.card",
        { "aria-labelledby": "last-sent" },
        h("h2", { id: "last-sent" }, "The last message that was sent"),
        delivery(found.last_sent),
      ),
    );
    put(
      this.settings,
      h(
        "section.card",
        { "aria-labelledby": "settings" },
        h("h2", { id: "settings" }, "Settings"),
        section(`notifier.${this.name}`, settings ?? {}),
      ),
    );
  }
}

/** @param {Delivery | null} failed @param {Delivery | null} sent */
function failure(failed, sent) {
  const over = failed && sent && sent.at > failed.at;
  return h(
    "section.card.verdict",
    { "aria-labelledby": "failure", "data-tone": failed && !over ? "err" : "ok" },
    h("h2", { id: "failure" }, failed ? "Why the last message failed" : "No message has failed"),
    failed
      ? [
        h("p.verdict-sentence", null, failed.answer),
        over && h("p.quiet", null, "Since then a message was sent."),
        failed.state === "owed" && h("p.quiet", null, "It will be tried again."),
        delivery(failed),
      ]
      : h("p.quiet", null, "Among the incidents that are kept."),
  );
}

/** @param {Delivery} found */
function delivery(found) {
  return factList([
    ["When", time(found.at)],
    ["About", h("a", { href: groupAddress(found.cluster, found.group) }, found.group || found.cluster)],
    ["Message", [found.kind === "close" ? "the end, " : "", mark(found.status)]],
    ["Attempts", count(found.attempts)],
    ["Incident", found.incident ? h("a", { href: incidentAddress(found.incident) }, "Evidence") : "none"],
    ...(found.state === "sent" ? [/** @type {[string, string]} */ (["Answer", found.answer])] : []),
  ]);
}

/** A sample through the notifier, for administrators. */
class Trial {
  /** @param {string} name @param {() => void} done */
  constructor(name, done) {
    this.name = name;
    this.done = done;
    this.status = h(
      "select",
      { id: "trial-status" },
      ["WARN", "ERR", "OK"].map((each) =>
        h("option", { value: each }, each === "OK" ? "OK, the end of an incident" : each)
      ),
    );
    this.button = h("button.primary", { type: "submit" }, "Send a sample");
    this.result = h("div", { role: "status", "aria-live": "polite" });
    this.form = h(
      "form.trial",
      {
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          this.#send();
        },
      },
      h("label", { for: "trial-status" }, "Status of the sample"),
      this.status,
      this.button,
    );
    this.refusal = h(
      "p.quiet",
      null,
      "Only an administrator may send one: sign in with an administrator's token.",
    );
    this.element = h(
      "section.card",
      { "aria-labelledby": "trial" },
      h("h2", { id: "trial" }, "Try it"),
      h(
        "p.hint",
        null,
        "Sends a message about a group that does not exist, warren-notify-test, to the real receivers; one attempt. No incident is changed.",
      ),
      this.form,
      this.refusal,
      this.result,
    );
    this.rights();
  }

  rights() {
    this.form.hidden = !live.session.admin;
    this.refusal.hidden = live.session.admin;
  }

  async #send() {
    this.button.disabled = true;
    set(this.element, "aria-busy", "true");
    put(this.result, h("p.quiet", null, "Sending\u2026"));
    try {
      const tried = await send("POST", ["v4", "notifiers", this.name, "test"], { status: this.status.value });
      put(this.result, outcome(tried));
    } catch (error) {
      put(this.result, h("p.error", null, reason(error)));
    }
    this.button.disabled = false;
    set(this.element, "aria-busy", null);
    this.done();
  }
}

/** @param {NotifierTried} tried */
function outcome(tried) {
  return h(
    "div.outcome",
    null,
    h(
      "p",
      null,
      tried.sent ? plainMark("ok", "sent", "tick") : plainMark("err", "not sent", "cross"),
      ` after ${tried.took_ms < 1000 ? counted(tried.took_ms, "ms", "ms") : duration(tried.took_ms)}: `,
      tried.answer,
    ),
    !tried.sent &&
      h(
        "p.quiet",
        null,
        tried.retriable ? "A real message would be tried again." : "A real message would not be tried again.",
      ),
    tried.head.length > 0 && h(
      "details",
      null,
      h("summary", null, "What was sent"),
      h("pre", { tabindex: "0" }, [...tried.head, "", tried.body].join("\n")),
    ),
  );
}
