// Opens the page that belongs to the address, and follows links and the back button without a reload.

import { BASE } from "./address.js";
import { resolve } from "./routes.js";

/** @typedef {import("./shapes.d.ts").OpenPage} OpenPage */

/** @type {{ open: OpenPage, module: unknown, names: string } | null} */
let current = null;
/** @type {HTMLElement} */
let place;
/** @type {(page: string) => void} */
let opened = () => {};
/** where each entry of the history was scrolled to @type {Map<number, number>} */
const scrolled = new Map();
let entry = 0;
let entries = 0;

/** The open page. */
export const openPage = () => current?.open ?? null;

/**
 * @param {HTMLElement} main
 * @param {(page: string) => void} told is told the name of a page that was opened
 */
export function startRouter(main, told) {
  place = main;
  opened = told;
  history.scrollRestoration = "manual";
  entry = entries = history.state?.entry ?? 0;
  history.replaceState({ entry }, "");
  addEventListener("popstate", (event) => {
    scrolled.set(entry, scrollY);
    entry = event.state?.entry ?? 0;
    show(scrolled.get(entry) ?? 0);
  });
  document.addEventListener("click", follow);
  show(null);
}

/**
 * Go to an address of these pages.
 * @param {string} address
 * @param {{ replace?: boolean, keep?: boolean }} [how] `keep`: stay scrolled where it is
 */
export function go(address, how = {}) {
  scrolled.set(entry, scrollY);
  if (how.replace) {
    history.replaceState({ entry }, "", address);
  } else {
    entry = ++entries;
    history.pushState({ entry }, "", address);
  }
  show(how.keep ? scrollY : null);
}

/**
 * The same page under another address, which it has shown already: for changes that come one after the other.
 * @param {string} address
 */
export function rewrite(address) {
  try {
    history.replaceState({ entry }, "", address);
  } catch {
    // too many changes in a short time: the next one is written
  }
}

/** Open the page anew, after signing in. */
export function reopen() {
  current?.open.close();
  current = null;
  show(null);
}

/** Close the page: what is shown in its place is not a page. */
export function closePage() {
  current?.open.close();
  current = null;
}

/** @param {number | null} top where to scroll; null: to the part in the address, or to the top */
function show(top) {
  const { route, page } = resolve(location);
  // the style of a page is for that page only
  place.dataset.page = route.page;
  const names = JSON.stringify(route.names);
  if (current && current.module === page && current.names === names && current.open.update) {
    current.open.update(route);
  } else {
    const first = current === null;
    current?.open.close();
    current = { open: page.open(place, route), module: page, names };
    // the reader of a screen reader is where the new page begins
    if (!first) place.focus({ preventScroll: true });
  }
  opened(route.page);
  const part = route.part && document.getElementById(route.part);
  if (top === null && part) part.scrollIntoView();
  else scrollTo(0, top ?? 0);
}

/** @param {MouseEvent} event */
function follow(event) {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
  const path = link.pathname.slice(BASE.length);
  // the API is not a page
  if (!link.pathname.startsWith(BASE) || /^(v3|v4|metrics|burrow)(\/|$)/.test(path)) return;
  if (link.getAttribute("href")?.startsWith("#")) return;
  event.preventDefault();
  go(link.pathname + link.search + link.hash);
}
