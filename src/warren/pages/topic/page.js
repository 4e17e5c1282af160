// One topic: how fast messages come in, who reads them and how far behind each is, and its partitions.

import { address, groupAddress } from "../shell/address.js";
import { ApiError, get, reason } from "../shell/api.js";
import { crumbs } from "../shell/crumbs.js";
import { h, put, svg } from "../shell/dom.js";
import { empty } from "../shell/empty.js";
import { count, counted, duration, rate } from "../shell/format.js";
import { listen } from "../shell/live.js";
import { factList, plainTable } from "../shell/plain-table.js";
import { poll } from "../shell/poll.js";
import { look, mark } from "../shell/status.js";
import { time } from "../shell/times.js";

/** @typedef {import("../shell/shapes.d.ts").Topic} Topic */
/** @typedef {import("../shell/shapes.d.ts").TopicReader} TopicReader */

const AGAIN_MS = 10_000;
const SOONEST_MS = 2_000;
// partitions that are listed before the reader asks for all
const FIRST = 50;

/** @type {import("../shell/shapes.d.ts").PageModule["open"]} */
export function open(place, route) {
  const [cluster, topic] = route.names;
  const content = h("div.stack");
  const path = ["v4", "clusters", cluster, "topics", topic];
  /** @type {Topic | null} */
  let shown = null;
  let text = "";
  let all = false;
  put(
    place,
    h(
      "div",
      null,
      crumbs(
        h("a", { href: address([]) }, "Groups"),
        " / ",
        h("a", { href: address([], { cluster }) }, cluster),
        " / topics",
      ),
      h("h1", null, topic),
    ),
    content,
  );

  function draw() {
    if (!shown) return;
    const { readers, partitions } = shown;
    put(
      content,
      summary(shown),
      h(
        "section.card",
        { "aria-labelledby": "readers" },
        h(
          "div.line",
          null,
          h("h2", { id: "readers" }, "Who reads it"),
          h("a", { href: address([], { cluster, topic }) }, "Among all groups"),
        ),
        readers.length
          ? readerTable(shown)
          : h("p.quiet", null, "No group that Warren knows has committed an offset for it."),
      ),
      h(
        "section.card",
        { "aria-labelledby": "partitions" },
        h("h2", { id: "partitions" }, "Partitions"),
        partitionTable(all ? partitions : partitions.slice(0, FIRST)),
        !all && partitions.length > FIRST && h(
          "button",
          {
            type: "button",
            onclick: () => {
              all = true;
              draw();
            },
          },
          `Show all ${count(partitions.length)}`,
        ),
      ),
      h(
        "section.card",
        { "aria-labelledby": "api" },
        h("h2", { id: "api" }, "The same from the API"),
        h("p", null, h("a.mono", { href: address(path) }, address(path))),
      ),
    );
  }

  const asking = poll(async (signal) => {
    try {
      /** @type {Topic} */
      const answer = await get(path, {}, { signal });
      // the snapshot's number changes even if nothing else does
      const now = JSON.stringify({ ...answer, snapshot: 0 });
      shown = answer;
      if (now !== text) draw();
      text = now;
    } catch (error) {
      if (signal.aborted) return;
      trouble(content, cluster, error, shown !== null);
    }
  }, () => AGAIN_MS);
  let asked = performance.now();
  const ended = listen((news) => {
    if (!news.keys.size || performance.now() - asked < SOONEST_MS || !shown) return;
    const mine = shown.readers.some((each) => news.keys.has(`${cluster}\u0000${each.group}`));
    if (!mine) return;
    asked = performance.now();
    asking.now();
  });
  return {
    title: () => topic,
    close() {
      ended();
      asking.close();
    },
  };
}

/** @param {HTMLElement} content @param {string} cluster @param {unknown} error @param {boolean} known */
function trouble(content, cluster, error, known) {
  const gone = error instanceof ApiError && error.status === 404;
  // what is there stays when nobody answers; the banner says so
  if (!gone && known) return;
  const why = gone
    ? `The brokers of ${cluster} list no topic of this name: it was deleted, or Warren may not describe it.`
    : reason(error);
  const link = h("a", { href: address([], { cluster }) }, "See all groups of the cluster");
  put(content, empty(gone ? "There is no such topic" : "Nothing to see yet", why, link));
}

/** @param {Topic} topic */
function summary(topic) {
  const heads = topic.partitions.filter((each) => each.head !== null && each.tail !== null);
  const kept = heads.reduce((sum, each) => sum + (each.head ?? 0) - (each.tail ?? 0), 0);
  const behind = topic.readers.filter((each) => each.status !== "OK").length;
  return h(
    "section.card",
    { "aria-label": "In short" },
    factList([
      ["Messages come in", topic.inflow === null ? "not known yet" : `${rate(topic.inflow)} a second`],
      ["averaged over", topic.inflow === null ? "\u2013" : duration(topic.inflow_over_ms)],
      ["Partitions", count(topic.partitions.length)],
      ["Messages kept", heads.length ? count(kept) : "not known"],
      ["Read by", counted(topic.readers.length, "group")],
      ["Not OK", behind ? mark("ERR", counted(behind, "group")) : mark("OK", "none")],
    ]),
  );
}

/** @param {Topic} topic */
function readerTable(topic) {
  const worst = Math.max(1, ...topic.readers.map((each) => each.totallag));
  return plainTable(
    "Groups that read the topic",
    ["Group", "Status", ["Lag here"], "Compared", ["In time"], ["Greatest"], ["Not OK"], "Last commit"],
    topic.readers.map((each) => [
      h("a", { href: groupAddress(topic.cluster, each.group) }, each.group),
      mark(each.status),
      count(each.totallag),
      bar(each, worst),
      inTime(each.totallag, topic.inflow),
      count(each.maxlag),
      `${count(each.not_ok)} of ${count(each.partition_count)}`,
      time(each.last_commit),
    ]),
  );
}

/** @param {TopicReader} reader @param {number} worst */
function bar(reader, worst) {
  const share = Math.ceil((reader.totallag / worst) * 100);
  return svg(
    "svg.lagbar",
    {
      viewBox: "0 0 100 8",
      preserveAspectRatio: "none",
      role: "img",
      "data-tone": look(reader.status).tone,
      "aria-label": `${share} % of the greatest lag here`,
    },
    svg("rect.all", { width: 100, height: 8, rx: 2 }),
    svg("rect.part", { width: share, height: 8, rx: 2 }),
  );
}

/**
 * How long it took until as many messages came in: what the lag is worth, not a promise.
 * @param {number} lag
 * @param {number | null} inflow
 */
function inTime(lag, inflow) {
  if (!lag) return "0 s";
  if (!inflow) return h("span.quiet", { title: "Nothing comes in, so it has no age" }, "\u2013");
  return h(
    "span",
    { title: "As many messages as came in during this time, at the present rate" },
    `\u2248 ${duration((lag / inflow) * 1000)}`,
  );
}

/** @param {Topic["partitions"]} partitions */
function partitionTable(partitions) {
  return plainTable(
    "Partitions of the topic",
    [["Partition"], ["Head"], ["First kept"], ["Kept"], ["In per second"]],
    partitions.map((each) => [
      count(each.partition),
      each.head === null ? "not known" : count(each.head),
      each.tail === null ? "not known" : count(each.tail),
      each.head === null || each.tail === null ? "\u2013" : count(each.head - each.tail),
      each.inflow === null ? "\u2013" : rate(each.inflow),
    ]),
  );
}
