// A short table: all of its rows exist. For thousands of rows there is table.js.

import { h } from "./dom.js";

/** @typedef {import("./dom.js").Child} Child */

/**
 * @param {string} caption for screen readers
 * @param {(string | [string])[]} heads a head in brackets is that of numbers
 * @param {Child[][]} rows a cell for each head; the first is the head of its row
 */
export function plainTable(caption, heads, rows) {
  const numeric = heads.map((each) => Array.isArray(each));
  const labels = heads.map(String);
  // on a phone every row is a card, where the roles of a table would be lost without being named
  return h(
    "div.scroll",
    // a table that is wider than the screen is scrolled with the keyboard, too
    { tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table.plain",
      { role: "table", "aria-label": caption },
      h(
        "thead",
        { role: "rowgroup" },
        h(
          "tr",
          { role: "row" },
          labels.map((each, at) =>
            h(
              numeric[at] ? "th.number" : "th",
              { scope: "col", role: "columnheader" },
              each || h("span.unseen", null, "More"),
            )
          ),
        ),
      ),
      h(
        "tbody",
        { role: "rowgroup" },
        rows.map((cells) =>
          h(
            "tr",
            { role: "row" },
            cells.map((cell, at) => {
              const what = { "data-label": labels[at] };
              const classes = numeric[at] ? ".number" : "";
              return at
                ? h(/** @type {"td"} */ (`td${classes}`), { role: "cell", ...what }, cell)
                : h(/** @type {"th"} */ (`th${classes}`), { scope: "row", role: "rowheader", ...what }, cell);
            }),
          )
        ),
      ),
    ),
  );
}

/**
 * Names and values, side by side.
 * @param {[string, Child | Child[]][]} pairs
 */
export function factList(pairs) {
  return h(
    "dl.facts",
    null,
    pairs.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))),
  );
}
