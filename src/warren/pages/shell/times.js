// Times that stay true while the page is open: "6 min", with the exact time on hover.

import { h, say, set } from "./dom.js";
import { about, duration, exactTime } from "./format.js";

/** @type {Record<string, (ms: number) => string>} */
const FORMS = {
  /** "6 min 10 s" since then */
  since: duration,
  /** "6 min", for columns */
  brief: about,
  /** "6 min 10 s ago" */
  ago: (ms) => `${duration(ms)} ago`,
};

/** @typedef {"since" | "brief" | "ago"} Form */

/**
 * A time element that counts on by itself while it is in the page.
 * @param {number | null | undefined} ms
 * @param {Form} [form]
 * @returns {HTMLTimeElement}
 */
export function time(ms, form = "ago") {
  const element = h("time", { "data-form": form });
  setTime(element, ms);
  return element;
}

/**
 * @param {HTMLTimeElement} element
 * @param {number | null | undefined} ms null or 0: not known
 * @param {string} [none] what to say then
 */
export function setTime(element, ms, none = "\u2013") {
  if (!ms) {
    set(element, "data-ms", null);
    set(element, "datetime", null);
    set(element, "title", null);
    say(element, none);
    return;
  }
  if (element.dataset.ms !== String(ms)) {
    element.dataset.ms = String(ms);
    element.dateTime = new Date(ms).toISOString();
    element.title = exactTime(ms);
  }
  tick(element, Date.now());
}

/** @param {HTMLTimeElement} element @param {number} now */
function tick(element, now) {
  const form = FORMS[element.dataset.form ?? "ago"];
  say(element, form(Math.max(0, now - Number(element.dataset.ms))));
}

/** Start the clock of the page, once. */
export function startClock() {
  setInterval(() => {
    if (document.hidden) return;
    const now = Date.now();
    for (const element of document.querySelectorAll("time[data-ms]")) {
      tick(/** @type {HTMLTimeElement} */ (element), now);
    }
  }, 1000);
}
