// Which page belongs to which address. A page is one line here and a folder beside this one.

import { BASE } from "./address.js";
import * as about from "../about/page.js";
import * as group from "../group/page.js";
import * as incident from "../incident/page.js";
import * as incidents from "../incidents/page.js";
import * as missing from "./missing.js";
import * as notifier from "../notifier/page.js";
import * as overview from "../overview/page.js";
import * as rules from "../rules/page.js";
import * as topic from "../topic/page.js";

/** @type {[string, string, import("./shapes.d.ts").PageModule][]} pattern, name, page; {} stands for a name */
const ROUTES = [
  ["", "overview", overview],
  ["clusters/{}/groups/{}", "group", group],
  ["clusters/{}/topics/{}", "topic", topic],
  ["incidents", "incidents", incidents],
  ["incidents/{}", "incident", incident],
  ["notifiers/{}", "notifier", notifier],
  ["about", "about", about],
  ["rules", "rules", rules],
];

/**
 * @param {Location | URL} location
 * @returns {{ route: import("./shapes.d.ts").Route, page: import("./shapes.d.ts").PageModule }}
 */
export function resolve(location) {
  const segments = location.pathname.slice(BASE.length).split("/");
  const query = new URLSearchParams(location.search);
  const part = decode(location.hash.slice(1));
  for (const [pattern, name, page] of ROUTES) {
    const parts = pattern.split("/");
    if (parts.length !== segments.length) continue;
    if (!parts.every((each, at) => (each === "{}" ? segments[at] !== "" : each === segments[at]))) continue;
    const names = segments.filter((_, at) => parts[at] === "{}").map(decode);
    return { route: { page: name, names, query, part }, page };
  }
  return { route: { page: "missing", names: [], query, part }, page: missing };
}

/** @param {string} segment */
function decode(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
