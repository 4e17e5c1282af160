// Which page belongs to which address. A page is one line here and a folder beside this one.

import { BASE } from "./address.js";
import * as group from "../group/page.js";
import * as missing from "./missing.js";
import * as overview from "../overview/page.js";
import * as rules from "../rules/page.js";

/** @type {[string, string, import("./shapes.d.ts").PageModule][]} pattern, name, page; {} stands for a name */
const ROUTES = [
  ["", "overview", overview],
  ["clusters/{}/groups/{}", "group", group],
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
