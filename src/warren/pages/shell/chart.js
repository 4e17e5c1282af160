// Drawings: scales, ticks, paths and sparklines, as SVG.

import { svg } from "./dom.js";

/**
 * From values to pixels.
 * @param {[number, number]} from
 * @param {[number, number]} to
 * @returns {(value: number) => number}
 */
export function scale([low, high], [begin, end]) {
  const span = high - low || 1;
  return (value) => begin + ((value - low) / span) * (end - begin);
}

/**
 * Round numbers from 0 to at least the greatest, about as many as wanted.
 * @param {number} greatest
 * @param {number} [wanted]
 */
export function ticks(greatest, wanted = 4) {
  const rough = Math.max(greatest, 1) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? 1);
  const found = [];
  for (let value = 0; value < greatest + step; value += step) found.push(value);
  return found;
}

/**
 * Times at whole minutes or hours within the span.
 * @param {number} begin
 * @param {number} end
 * @param {number} wanted
 */
export function timeTicks(begin, end, wanted) {
  const minute = 60_000;
  const steps = [1 / 12, 1 / 4, 1 / 2, 1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440];
  const rough = (end - begin) / wanted;
  const step = (steps.find((each) => each * minute >= rough) ?? 1440) * minute;
  const zone = new Date(begin).getTimezoneOffset() * minute;
  const found = [];
  for (let at = Math.ceil((begin - zone) / step) * step + zone; at <= end; at += step) found.push(at);
  return found;
}

/**
 * A line through the points; a null interrupts it.
 * @param {([number, number] | null)[]} points
 */
export function line(points) {
  let path = "";
  let down = false;
  for (const point of points) {
    if (point) path += `${down ? "L" : "M"}${round(point[0])} ${round(point[1])}`;
    down = point !== null;
  }
  return path;
}

/** @param {number} value */
export const round = (value) => Math.round(value * 10) / 10;

const LEAST = 20;
const WIDTH = 120;
const HEIGHT = 24;

/** An empty sparkline, filled by `setSparkline`. */
export function sparkline() {
  return svg(
    "svg.sparkline",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": "no data yet",
    },
    svg("path.area"),
    svg("path.line"),
  );
}

/**
 * @param {SVGSVGElement} element
 * @param {(number | null)[] | undefined} values one for each step of time
 * @param {string} label what a screen reader says
 */
export function setSparkline(element, values, label) {
  const [area, stroke] = element.children;
  const known = values?.filter((each) => each !== null) ?? [];
  let path = "";
  let below = "";
  if (values && known.length) {
    const x = scale([0, Math.max(values.length - 1, 1)], [0, WIDTH]);
    // a few messages are no mountain
    const y = scale([0, Math.max(LEAST, ...known)], [HEIGHT - 1.5, 1.5]);
    path = line(values.map((each, at) => (each === null ? null : [x(at), y(each)])));
    const first = values.findIndex((each) => each !== null);
    const last = values.findLastIndex((each) => each !== null);
    // a single sample would be a point that nobody sees
    if (first === last) path += `h${-Math.min(4, x(first))}`;
    const filled = values.map((each) => each ?? 0).slice(first, last + 1);
    below = `${line(filled.map((each, at) => [x(first + at), y(each)]))}L${round(x(last))} ${HEIGHT}L${
      round(x(first))
    } ${HEIGHT}Z`;
  }
  for (const [node, d] of /** @type {[Element, string][]} */ ([[stroke, path], [area, below]])) {
    if (node.getAttribute("d") !== d) node.setAttribute("d", d);
  }
  if (element.getAttribute("aria-label") !== label) element.setAttribute("aria-label", label);
}
