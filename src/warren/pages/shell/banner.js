// The line below the header that says when the page is not up to date.

import { h, put } from "./dom.js";
import { live, retry } from "./live.js";
import { time } from "./times.js";

let shown = "";

/** Show or hide it. */
export function setBanner() {
  const place = document.getElementById("banner");
  if (!place) return;
  const wanted = live.state === "away" ? live.reason : "";
  if (wanted === shown) return;
  shown = wanted;
  if (!wanted) {
    put(place);
    return;
  }
  put(
    place,
    h(
      "div.banner",
      null,
      h("strong", null, "Reconnecting. "),
      `${wanted} What you see is as of `,
      time(live.awaySince),
      ". ",
      h("button.plain", { type: "button", onclick: retry }, "Try now"),
    ),
  );
}
