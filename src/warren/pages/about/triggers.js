// How long the triggers of a cluster took, over time: a line for each cluster.

import { line, round, scale, ticks, timeTicks } from "../shell/chart.js";
import { h, put, say, svg } from "../shell/dom.js";
import { drawing } from "../shell/drawing.js";
import { count, exactTime, hourMinute, timeOfDay } from "../shell/format.js";

/** @typedef {import("../shell/shapes.d.ts").Triggers} Triggers */

const HEIGHT = 190;
const TOP = 12;
const BOTTOM = 26;
// a gap in the line: Warren or the brokers were down
const GAP = 5;
const MOST_LINES = 6;

export class TriggerChart {
  constructor() {
    /** @type {Triggers[]} */
    this.data = [];
    this.shown = "";
    this.readout = h("output.quiet");
    this.legend = h("ul.legend");
    this.chart = drawing((width) => this.#draw(width));
    this.element = h(
      "section.card",
      { "aria-labelledby": "triggers" },
      h("div.line", null, h("h2", { id: "triggers" }, "Trigger times"), this.readout),
      h(
        "p.hint",
        null,
        "From the first record read to the new verdicts, of the last triggers of each cluster.",
      ),
      this.chart.element,
      this.legend,
    );
  }

  close() {
    this.chart.close();
  }

  /** @param {Triggers[]} data */
  show(data) {
    const shown = JSON.stringify(data);
    if (shown === this.shown) return;
    this.shown = shown;
    this.data = data.filter((each) => each.times.length).slice(0, MOST_LINES);
    this.chart.element.hidden = !this.data.length;
    const all = this.data.flatMap((each) => each.took_ms).sort((a, b) => a - b);
    say(
      this.readout,
      all.length
        ? `median ${text(all[all.length >> 1])}, longest ${text(all[all.length - 1])}`
        : "no trigger has ended yet",
    );
    put(
      this.legend,
      this.data.length > 1 &&
        this.data.map((each, at) => h("li", { "data-line": at }, h("span.swatch"), each.cluster)),
    );
    this.chart.again();
  }

  /** @param {number} width */
  #draw(width) {
    const begin = Math.min(...this.data.map((each) => each.times[0]));
    const end = Math.max(begin + 1000, ...this.data.map((each) => each.times[each.times.length - 1]));
    const most = Math.max(1, ...this.data.flatMap((each) => each.took_ms));
    const marks = ticks(most, 3);
    const labels = marks.map(text);
    const left = Math.max(...labels.map((each) => each.length)) * 6.8 + 12;
    const right = width - 8;
    const x = scale([begin, end], [left, right]);
    const y = scale([0, marks[marks.length - 1]], [HEIGHT - BOTTOM, TOP]);
    const said = this.data.map((each) =>
      `${each.cluster}: last ${text(each.took_ms[each.took_ms.length - 1])}`
    );
    const times = timeTicks(begin, end, Math.max(2, width / 130));
    const clock = end - begin < 600_000 ? timeOfDay : hourMinute;
    return svg(
      "svg.triggers",
      {
        viewBox: `0 0 ${width} ${HEIGHT}`,
        height: HEIGHT,
        role: "img",
        "aria-label": `Trigger times from ${exactTime(begin)} to ${exactTime(end)}. ${said.join(", ")}`,
      },
      marks.map((each, at) => [
        svg("line.grid", { x1: left, x2: right, y1: round(y(each)), y2: round(y(each)) }),
        svg("text.axis", { x: left - 6, y: round(y(each)) + 4, "text-anchor": "end" }, labels[at]),
      ]).flat(),
      times.map((each) =>
        svg(
          "text.axis",
          { x: round(x(each)), y: HEIGHT - 6, "text-anchor": anchor(x(each), left, right) },
          clock(each),
        )
      ),
      this.data.map((each, at) => svg("path.line", { d: line(points(each, x, y)), "data-line": at })),
      // a single trigger would be a line that nobody sees
      this.data.map((each, at) =>
        each.times.length < 40
          ? each.times.map((when, number) =>
            svg(
              "circle.point",
              { cx: round(x(when)), cy: round(y(each.took_ms[number])), r: 2.5, "data-line": at },
              svg("title", null, `${each.cluster}: ${text(each.took_ms[number])} at ${exactTime(when)}`),
            )
          )
          : []
      ).flat(),
    );
  }
}

/**
 * @param {Triggers} data
 * @param {(value: number) => number} x
 * @param {(value: number) => number} y
 */
function points(data, x, y) {
  const steps = data.times.slice(1).map((each, at) => each - data.times[at]).sort((a, b) => a - b);
  const usual = steps[steps.length >> 1] ?? 0;
  /** @type {([number, number] | null)[]} */
  const found = [];
  data.times.forEach((each, at) => {
    if (at && each - data.times[at - 1] > usual * GAP) found.push(null);
    found.push([x(each), y(data.took_ms[at])]);
  });
  return found;
}

/** @param {number} at @param {number} left @param {number} right */
function anchor(at, left, right) {
  return at - left < 30 ? "start" : right - at < 30 ? "end" : "middle";
}

/** @param {number} ms */
const text = (ms) => (ms < 1000 ? `${count(Math.round(ms))} ms` : `${count(Math.round(ms / 100) / 10)} s`);
