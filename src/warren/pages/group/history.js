// The lag of a group over the last hours, with its statuses below.

import { get } from "../shell/api.js";
import { line, round, scale, ticks, timeTicks } from "../shell/chart.js";
import { h, say, set, svg } from "../shell/dom.js";
import { drawing } from "../shell/drawing.js";
import { count, exactTime, hourMinute, short } from "../shell/format.js";
import { look } from "../shell/status.js";

/** @typedef {import("../shell/shapes.d.ts").GroupHistory} GroupHistory */

const RANGES = ["1h", "6h", "24h"];
/** @type {Record<string, string>} length of a step for each range: a point for every few pixels, or as they are */
const STEPS = { "1h": "", "6h": "120s", "24h": "10m" };
const STEP_MS = { "1h": 60_000, "6h": 120_000, "24h": 600_000 };
const SHORTEST_MS = 300_000;
const HEIGHT = 190;
const TOP = 12;
const BOTTOM = 40;

export class LagHistory {
  /**
   * @param {string} cluster
   * @param {string} group
   * @param {string} range
   * @param {(range: string) => void} chosen
   */
  constructor(cluster, group, range, chosen) {
    this.path = ["v4", "clusters", cluster, "groups", group, "history"];
    /** @type {GroupHistory | null} */
    this.data = null;
    this.range = RANGES.includes(range) ? range : "1h";
    this.closing = new AbortController();
    this.readout = h("output.quiet");
    this.buttons = RANGES.map((each) =>
      h("button.chip", {
        type: "button",
        onclick: () => {
          this.range = each;
          this.#press();
          chosen(each);
          this.load();
        },
      }, each.replace("h", " h"))
    );
    this.chart = drawing((width) => this.#draw(width));
    this.element = h(
      "section.card",
      { "aria-labelledby": "lag-over-time" },
      h(
        "div.line",
        null,
        h("h2", { id: "lag-over-time" }, "Lag over time"),
        this.readout,
        h("div.chips", { role: "group", "aria-label": "How far back" }, this.buttons),
      ),
      this.chart.element,
    );
    this.chart.element.addEventListener("pointermove", (event) => this.#point(event));
    this.chart.element.addEventListener("pointerleave", () => this.#point(null));
    this.#press();
    this.load();
  }

  close() {
    this.closing.abort();
    this.chart.close();
  }

  #press() {
    RANGES.forEach((each, at) => set(this.buttons[at], "aria-pressed", String(each === this.range)));
  }

  async load() {
    const range = this.range;
    try {
      const data = await get(this.path, { since: range, step: STEPS[range] }, {
        signal: this.closing.signal,
      });
      if (range !== this.range) return;
      this.data = data;
      this.chart.again();
    } catch {
      // the rest of the page says what is wrong
    }
  }

  /** @param {PointerEvent | null} event */
  #point(event) {
    const { data } = this;
    if (!event || !data || !data.times.length || !this.x) {
      say(this.readout, "");
      this.cross?.setAttribute("visibility", "hidden");
      return;
    }
    const left = event.clientX - this.chart.element.getBoundingClientRect().left;
    let at = 0;
    const { x } = this;
    data.times.forEach((each, number) => {
      if (Math.abs(x(each) - left) < Math.abs(x(data.times[at]) - left)) at = number;
    });
    say(this.readout, `${exactTime(data.times[at])}: lag ${count(data.totallag[at])}, ${data.status[at]}`);
    if (this.cross) {
      this.cross.setAttribute("visibility", "visible");
      this.cross.setAttribute("transform", `translate(${round(x(data.times[at]))} 0)`);
    }
  }

  /** @param {number} width */
  #draw(width) {
    const { data } = this;
    if (!data || !data.times.length) {
      this.x = null;
      return svg(
        "svg.history",
        { viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT, role: "img", "aria-label": "No samples yet" },
        svg(
          "text.axis",
          { x: width / 2, y: HEIGHT / 2, "text-anchor": "middle" },
          data ? "No samples of this time" : "",
        ),
      );
    }
    const most = Math.max(...data.totallag, 1);
    const values = ticks(most, 3);
    const labels = values.map((each) => (each > 99_999 ? short(each) : count(each)));
    const left = Math.max(...labels.map((each) => each.length)) * 6.6 + 14;
    const right = width - 8;
    const base = HEIGHT - BOTTOM;
    // a Warren that was started a moment ago has no hours to show
    const since = Math.max(data.since, Math.min(data.times[0], data.until - SHORTEST_MS));
    const x = this.x = scale([since, data.until], [left, right]);
    const y = scale([0, values[values.length - 1]], [base, TOP]);
    const gap = 3 * STEP_MS[/** @type {keyof typeof STEP_MS} */ (this.range)];
    /** @type {([number, number] | null)[]} */
    const points = [];
    data.times.forEach((each, at) => {
      if (at && each - data.times[at - 1] > gap) points.push(null);
      points.push([x(each), y(data.totallag[at])]);
    });
    this.cross = svg("line.cross", { x1: 0, x2: 0, y1: TOP, y2: base + 14, visibility: "hidden" });
    return svg(
      "svg.history",
      {
        viewBox: `0 0 ${width} ${HEIGHT}`,
        height: HEIGHT,
        role: "img",
        "aria-label": `Lag over time: at most ${count(most)}, now ${
          count(data.totallag[data.totallag.length - 1])
        }`,
      },
      values.map((each, at) => [
        svg("line.grid", { x1: left, x2: right, y1: round(y(each)), y2: round(y(each)) }),
        svg("text.axis", { x: left - 6, y: round(y(each)) + 4, "text-anchor": "end" }, labels[at]),
      ]).flat(),
      timeTicks(since, data.until, width < 520 ? 3 : 6).map((each) =>
        svg("text.axis", { x: round(x(each)), y: HEIGHT - 6, "text-anchor": "middle" }, hourMinute(each))
      ),
      svg("path.area", { d: areas(points, base) }),
      svg("path.line", { d: line(points) }),
      strip(data, x, base + 8, gap),
      this.cross,
    );
  }
}

/**
 * What is below the line, for each piece of it.
 * @param {([number, number] | null)[]} points
 * @param {number} base
 */
function areas(points, base) {
  let path = "";
  /** @type {[number, number][]} */
  let piece = [];
  for (const point of [...points, null]) {
    if (point) {
      piece.push(point);
    } else if (piece.length) {
      path += `${line(piece)}L${round(piece[piece.length - 1][0])} ${base}L${round(piece[0][0])} ${base}Z`;
      piece = [];
    }
  }
  return path;
}

/**
 * The statuses as a strip: one piece for each time that it stayed the same.
 * @param {GroupHistory} data
 * @param {(value: number) => number} x
 * @param {number} y
 * @param {number} gap
 */
function strip(data, x, y, gap) {
  const pieces = [];
  let begin = 0;
  for (let at = 1; at <= data.times.length; at++) {
    const ended = at === data.times.length || data.status[at] !== data.status[begin] ||
      data.times[at] - data.times[at - 1] > gap;
    if (!ended) continue;
    const next = at < data.times.length && data.times[at] - data.times[at - 1] <= gap
      ? data.times[at]
      : data.times[at - 1];
    const width = Math.max(2, x(next) - x(data.times[begin]));
    const status = data.status[begin];
    pieces.push(svg(
      "rect.strip",
      { x: round(x(data.times[begin])), y, width: round(width), height: 6, "data-tone": look(status).tone },
      svg("title", null, `${status} from ${exactTime(data.times[begin])}`),
    ));
    begin = at;
  }
  return pieces;
}
