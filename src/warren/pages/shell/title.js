// Title and favicon: trouble is seen in the row of tabs.

import { set } from "./dom.js";
import { count } from "./format.js";
import { allGroups, live } from "./live.js";

/** @returns {{ notOk: number, worst: "ok" | "warn" | "err" | "unknown" }} */
function trouble() {
  let warn = 0;
  let err = 0;
  for (const group of allGroups()) {
    if (group.status === "ERR") err++;
    else if (group.status === "WARN") warn++;
  }
  const unreachable = live.health?.clusters.some((each) => each.blind || each.error) ?? false;
  if (live.state !== "live" || !live.loaded) return { notOk: warn + err, worst: "unknown" };
  return { notOk: warn + err, worst: err || unreachable ? "err" : warn ? "warn" : "ok" };
}

/** @param {string} page what is shown; empty on the overview */
export function setTitle(page) {
  const { notOk, worst } = trouble();
  const parts = [notOk ? `${count(notOk)} not OK` : "", page, "Warren"];
  const title = parts.filter(Boolean).join(" \u00b7 ");
  if (document.title !== title) document.title = title;
  const icon = document.getElementById("favicon");
  if (icon) set(icon, "href", new URL(`../pictures/${worst}.svg`, import.meta.url).href);
}
