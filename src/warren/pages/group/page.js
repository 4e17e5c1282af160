// One group.

import { h, put } from "../shell/dom.js";

/** @type {import("../shell/shapes.d.ts").PageModule["open"]} */
export function open(place, route) {
  const [, group] = route.names;
  put(place, h("h1", null, group));
  return { title: () => group, close: () => {} };
}
