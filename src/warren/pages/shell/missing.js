// An address that is no page.

import { address } from "./address.js";
import { h, put } from "./dom.js";

/** @type {import("./shapes.d.ts").PageModule["open"]} */
export function open(place) {
  put(
    place,
    h(
      "div.empty",
      null,
      h("h1", null, "There is no such page"),
      h("p", null, "The address may be cut off. ", h("a", { href: address([]) }, "See all groups"), "."),
    ),
  );
  return { title: () => "Not found", close: () => {} };
}
