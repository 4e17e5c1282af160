// What is shown in place of content that is not there: what is the matter, and what to do.

import { h } from "./dom.js";

/**
 * @param {string} title
 * @param {string} text
 * @param {Node | null} [more] a link, mostly
 */
export function empty(title, text, more = null) {
  return h(
    "div.empty",
    { role: "status" },
    h("h2", null, title),
    h("p", null, text),
    more && h("p", null, more),
  );
}
