// The columns of the table of groups.

import { groupAddress } from "../shell/address.js";
import { setSparkline, sparkline } from "../shell/chart.js";
import { h, say, set } from "../shell/dom.js";
import { count, percent } from "../shell/format.js";
import { mark, setMark } from "../shell/status.js";
import { setTime, time } from "../shell/times.js";

/** @typedef {import("../shell/shapes.d.ts").Group} Group */

/**
 * @param {import("./sparklines.js").Sparklines} lines
 * @param {() => boolean} many whether there is more than one cluster
 * @returns {import("../shell/table.js").Column<Group>[]}
 */
export function columns(lines, many) {
  return [
    {
      name: "status",
      label: "Status",
      sort: "status",
      title: "Sort by status, the worst first",
      make: () => mark("OK"),
      fill: (cell, group) => setMark(cell, group.status),
    },
    {
      name: "group",
      label: "Group",
      sort: "group",
      make: () => h("span", null, h("a", { tabindex: "-1" }), h("span.cluster")),
      fill: (cell, group) => {
        const [link, cluster] = cell.children;
        say(link, group.group);
        set(link, "href", groupAddress(group.cluster, group.group));
        set(link, "title", group.group);
        say(cluster, many() ? group.cluster : "");
      },
    },
    {
      name: "since",
      label: "Since",
      sort: "since",
      title: "How long it has had this status",
      make: () => time(0, "brief"),
      fill: (cell, group) => {
        setTime(/** @type {HTMLTimeElement} */ (cell), group.since, "start");
        if (!group.since) set(cell, "title", "It has had this status since Warren started, or longer");
      },
    },
    {
      name: "lag",
      label: "Lag",
      sort: "lag",
      numeric: true,
      title: "Messages that are not read yet, in all partitions",
      make: () => h("span"),
      fill: (cell, group) => say(cell, count(group.lag)),
    },
    {
      name: "trend",
      label: "Last hour",
      title: "The lag in the last hour",
      make: () => h("span", null, sparkline()),
      fill: (cell, group) => {
        const values = lines.of(group);
        const known = values?.filter((each) => each !== null) ?? [];
        const most = known.length ? Math.max(...known) : 0;
        set(cell, "data-status", group.status);
        const label = known.length ? `lag in the last hour: at most ${count(most)}` : "no history yet";
        setSparkline(/** @type {SVGSVGElement} */ (cell.firstElementChild), values, label);
      },
    },
    {
      name: "complete",
      label: "Complete",
      sort: "complete",
      numeric: true,
      title: "How many of its partitions have a full window of commits",
      make: () => h("span"),
      fill: (cell, group) => {
        say(cell, percent(group.complete));
        set(cell, "data-tone", group.complete < 1 ? "quiet" : null);
      },
    },
    {
      name: "partitions",
      label: "Partitions",
      sort: "partitions",
      numeric: true,
      make: () => h("span"),
      fill: (cell, group) => say(cell, count(group.partitions)),
    },
  ];
}
