// Explains the rules that decide: what each looks at, what it means and what to do.

import { h, put } from "../shell/dom.js";
import { mark } from "../shell/status.js";
import { RULES } from "./rules.js";

/** @type {import("../shell/shapes.d.ts").PageModule["open"]} */
export function open(place) {
  put(
    place,
    h(
      "article.prose",
      null,
      h("h1", null, "The rules"),
      h(
        "p",
        null,
        "Warren looks at the last commits of each partition and at the head of its topic, and asks: does the group commit, does it move, does it keep up? " +
          "There is no threshold on lag. The rules are tried in this order, and the first that holds decides.",
      ),
      h(
        "p",
        null,
        "A group has the worst status of its partitions; STOP, STALL and REWIND count as ERR. A window is the newest commits of one partition, ten unless the configuration says otherwise.",
      ),
      RULES.map((rule) =>
        h(
          "section.rule",
          { id: rule.name },
          h("h2", null, mark(rule.status), h("code", null, rule.name)),
          h("p", null, rule.when),
          h("p.quiet", null, rule.means),
          rule.only && h("p.hint", null, rule.only),
        )
      ),
    ),
  );
  return { title: () => "The rules", close: () => {} };
}
