// The frame around every page: header, banner, title; starts everything.

import { address } from "./address.js";
import { setBanner } from "./banner.js";
import { h, put, say, set, svg } from "./dom.js";
import { listen, live, start, stop } from "./live.js";
import { askInDialog, askInPlace } from "./login.js";
import { closePage, openPage, reopen, startRouter } from "./router.js";
import { authorization, keep, onWanted } from "./session.js";
import { themeSwitch } from "./theme.js";
import { startClock } from "./times.js";
import { setTitle } from "./title.js";

/** @type {[string, string, string[]][]} name of the page, text, address */
const NAVIGATION = [
  ["overview", "Groups", []],
  ["incidents", "Incidents", ["incidents"]],
  ["about", "About", ["about"]],
];

const main = /** @type {HTMLElement} */ (document.getElementById("page"));
const header = /** @type {HTMLElement} */ (document.querySelector("header.top"));
const footer = /** @type {HTMLElement} */ (document.querySelector("footer.foot"));
const links = new Map(NAVIGATION.map(([page, text, path]) => [page, h("a", { href: address(path) }, text)]));
const version = h("span");
const signing = h("button.plain", { type: "button", onclick: sign });

function brand() {
  const drawing = svg(
    "svg.brand",
    { viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" },
    svg("path", { d: "M3 20a9 9 0 0 1 18 0M7.5 20a4.5 4.5 0 0 1 9 0" }),
    svg("path", { d: "M9.6 8.4C7.4 6.8 7 4.4 7.6 2.6M14.4 8.4c2.2-1.6 2.6-4 2-5.8" }),
  );
  return h("a.home", { href: address([]), "aria-label": "Warren, all groups" }, drawing, "Warren");
}

put(
  header,
  brand(),
  h("nav", { "aria-label": "Pages" }, [...links.values()]),
  h("div.tools", null, signing, themeSwitch()),
);

put(
  footer,
  version,
  h("a", { href: address(["rules"]) }, "The rules"),
  h("a", { href: address(["v4", "openapi.json"]) }, "API"),
);

/** @param {string} page */
function opened(page) {
  for (const [name, link] of links) set(link, "aria-current", name === page ? "page" : null);
  refresh();
}

function refresh() {
  setTitle(openPage()?.title() ?? "");
  setBanner();
  const known = authorization() !== "";
  say(signing, known ? "Sign out" : "Sign in");
  // nothing is left to sign in for
  signing.hidden = !known && live.session.admin;
  say(version, live.session.version ? `Warren ${live.session.version}` : "Warren");
}

function sign() {
  if (authorization()) {
    keep("");
    location.reload();
  } else {
    askInDialog(restart);
  }
}

function restart() {
  start();
  reopen();
}

onWanted(() => {
  stop();
  closePage();
  // credentials that are not accepted any more are of no use
  keep("");
  askInPlace(main, restart);
  refresh();
});
listen(refresh);
startClock();
startRouter(main, opened);
start();
