// A window drawn: every commit's offset against the head, and the commits that decided.

import { line, round, scale, ticks } from "./chart.js";
import { svg } from "./dom.js";
import { count, duration, short, timeOfDay } from "./format.js";
import { look } from "./status.js";

/** @typedef {import("./shapes.d.ts").PartitionWindow} PartitionWindow */
/** @typedef {[number, number]} Point */

const HEIGHT = 190;
const TOP = 16;
const BOTTOM = 26;
const RIGHT = 88;
const LETTER = 6.6;
// the share of the width that the time since the last commit may have
const SILENCE = 0.45;

/**
 * @param {PartitionWindow} partition
 * @param {number} now the moment as of which it was judged
 * @param {number} width
 * @returns {SVGSVGElement}
 */
export function windowChart(partition, now, width) {
  const { window: commits, head } = partition;
  const tone = look(partition.status).tone;
  const first = commits[0];
  const last = commits[commits.length - 1];
  const end = Math.max(now, last.timestamp);
  const heads = commits.flatMap((each) => (each.lag === null ? [] : [each.offset + each.lag]));
  const offsets = commits.map((each) => each.offset);
  const low = Math.min(...offsets);
  const high = Math.max(low + 1, head ?? 0, ...heads, ...offsets);
  const marks = offsetTicks(low, high);
  const labels = marks.map((each) => (high - low > 50_000 ? short(each) : count(each)));
  const left = Math.max(...labels.map((each) => each.length)) * LETTER + 12;
  const right = width < 520 ? 62 : RIGHT;
  const x = timeScale(first.timestamp, last.timestamp, end, left, width - right);
  const y = scale([low, high], [HEIGHT - BOTTOM, TOP]);

  const committed = commits.map((each) => /** @type {Point} */ ([x(each.timestamp), y(each.offset)]));
  /** @type {Point[]} */
  const above = commits.filter((each) => each.lag !== null).map((each) => [
    x(each.timestamp),
    y(each.offset + (each.lag ?? 0)),
  ]);
  if (head !== null) above.push([x(end), y(head)]);
  /** @type {Point} */
  const rest = [x(end), y(last.offset)];
  const between = above.length
    ? `${line(above)}L${
      [rest, ...committed.toReversed()].map(([a, b]) => `${round(a)} ${round(b)}`).join("L")
    }Z`
    : "";
  const decided = new Set(partition.decided_by ?? []);
  const silence = end - last.timestamp;

  return svg(
    "svg.window",
    {
      viewBox: `0 0 ${width} ${HEIGHT}`,
      height: HEIGHT,
      "data-tone": tone,
      role: "img",
      "aria-label": said(partition, silence),
    },
    marks.map((each, at) => [
      svg("line.grid", { x1: left, x2: width - right, y1: round(y(each)), y2: round(y(each)) }),
      svg("text.axis", { x: left - 6, y: round(y(each)) + 4, "text-anchor": "end" }, labels[at]),
    ]).flat(),
    svg("path.between", { d: between }),
    svg("path.head", { d: line(above) }),
    svg("path.rest", { d: line([committed[committed.length - 1], rest]) }),
    svg("path.commits", { d: line(committed) }),
    commits.map((each, at) =>
      decided.has(at) && each.lag !== null
        ? svg("line.stem", {
          x1: round(committed[at][0]),
          x2: round(committed[at][0]),
          y1: round(committed[at][1]),
          y2: round(y(each.offset + each.lag)),
        })
        : null
    ),
    commits.map((_, at) =>
      svg(
        decided.has(at) ? "circle.commit.decided" : "circle.commit",
        { cx: round(committed[at][0]), cy: round(committed[at][1]), r: decided.has(at) ? 4.5 : 3 },
        svg("title", null, commitText(partition, at)),
      )
    ),
    rightLabels(partition, y, width - right, head),
    timeLabels(first.timestamp, last.timestamp, end, x, left, width - right),
  );
}

/**
 * One commit in words, for the pointer and for the table.
 * @param {PartitionWindow} partition
 * @param {number} at
 */
function commitText(partition, at) {
  const { window: commits, decided_by: decided } = partition;
  const each = commits[at];
  const lag = each.lag === null ? "lag not known" : `lag ${count(each.lag)}`;
  const why = decided?.includes(at) ? "; it decided" : "";
  return `commit ${at + 1} of ${commits.length}: offset ${count(each.offset)}, ${lag}, at ${
    timeOfDay(each.timestamp)
  }${why}`;
}

/**
 * A long silence takes less room than its time, so that the commits before it stay apart.
 * @param {number} first
 * @param {number} last
 * @param {number} end
 * @param {number} left
 * @param {number} right
 */
function timeScale(first, last, end, left, right) {
  if (end - last <= SILENCE * (end - first)) return scale([first, end], [left, right]);
  const middle = right - SILENCE * (right - left);
  const before = scale([first, last], [left, last > first ? middle : left]);
  const after = scale([last, end], [last > first ? middle : left, right]);
  return (/** @type {number} */ at) => (at <= last ? before(at) : after(at));
}

/** @param {number} low @param {number} high */
function offsetTicks(low, high) {
  const step = ticks(high - low, 3)[1];
  const found = [];
  for (let each = Math.ceil(low / step) * step; each <= high; each += step) found.push(each);
  return found.length ? found : [low];
}

/**
 * @param {PartitionWindow} partition
 * @param {(value: number) => number} y
 * @param {number} x
 * @param {number | null} head
 */
function rightLabels(partition, y, x, head) {
  const last = partition.window[partition.window.length - 1].offset;
  const top = head === null ? null : y(head);
  const bottom = y(last);
  const apart = top === null || bottom - top > 30;
  return [
    top !== null && svg("text.label.of-head", { x: x + 8, y: round(top) + 4 }, "head"),
    apart && svg("text.label.of-commits", { x: x + 8, y: round(bottom) + 4 }, "committed"),
    top !== null && bottom - top > 2 &&
    svg("line.bracket", { x1: x, x2: x, y1: round(top), y2: round(bottom) }),
    top !== null && partition.current_lag > 0 && svg(
      "text.label.of-lag",
      { x: x + 8, y: round(apart ? (top + bottom) / 2 : Math.max(top, bottom)) + (apart ? 4 : 18) },
      `lag ${partition.current_lag > 99_999 ? short(partition.current_lag) : count(partition.current_lag)}`,
    ),
  ];
}

/**
 * The first commit, the last one, and now.
 * @param {number} first
 * @param {number} last
 * @param {number} end
 * @param {(value: number) => number} x
 * @param {number} left
 * @param {number} right
 */
function timeLabels(first, last, end, x, left, right) {
  const base = HEIGHT - BOTTOM;
  const nodes = [
    svg("line.axis", { x1: left, x2: right, y1: base + 4, y2: base + 4 }),
    svg("text.axis", { x: left, y: HEIGHT - 6 }, timeOfDay(first)),
    svg(
      "text.axis",
      { x: right, y: HEIGHT - 6, "text-anchor": "end" },
      right - left < 380 ? timeOfDay(end) : `judged ${timeOfDay(end)}`,
    ),
  ];
  const at = x(last);
  const silence = end - last;
  if (at - left > 130 && right - at > 150) {
    nodes.push(svg("text.axis", { x: round(at), y: HEIGHT - 6, "text-anchor": "middle" }, timeOfDay(last)));
  }
  if (right - at > 90 && silence > 2000) {
    const middle = (at + right) / 2;
    nodes.push(
      svg(
        "text.silence",
        { x: round(middle), y: base - 4, "text-anchor": "middle" },
        `silent for ${duration(silence)}`,
      ),
    );
  }
  return nodes;
}

/** @param {PartitionWindow} partition @param {number} silence */
function said(partition, silence) {
  const { window: commits } = partition;
  const last = commits[commits.length - 1];
  return `Window of partition ${partition.partition} of ${partition.topic}: ${commits.length} commits from offset ${
    count(commits[0].offset)
  } to ${count(last.offset)}, the last ${duration(silence)} ago; lag now ${count(partition.current_lag)}`;
}
