// The way to this page, above its title.

import { h } from "./dom.js";

/**
 * @param {(Node | string)[]} parts from the first page on
 * @returns {HTMLElement}
 */
export function crumbs(...parts) {
  return h("nav.crumbs", { "aria-label": "Where you are" }, ...parts);
}
