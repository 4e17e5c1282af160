// Statuses: a shape, a text and a colour each, so that no reader depends on one of them.

import { h, put, set, svg } from "./dom.js";

/** @typedef {{ rank: number, tone: "ok" | "warn" | "err" | "none", shape: string, meaning: string }} Look */

// drawn in a field of 16 by 16
const SHAPES = {
  tick: "M4.2 8.4l2.6 2.6 5-5.6",
  triangle: "M8 2.6 14.2 13.4H1.8ZM8 6.6v3M8 11.6v.1",
  cross: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  square: "M4 4h8v8H4Z",
  bars: "M5.5 4v8M10.5 4v8",
  back: "M8 4 4 8l4 4M13 4 9 8l4 4",
  ring: "M8 3.2a4.8 4.8 0 1 0 .01 0Z",
  dots: "M3.6 8h.1M8 8h.1M12.4 8h.1",
};

/** @type {Record<string, Look>} */
const LOOKS = {
  OK: { rank: 1, tone: "ok", shape: SHAPES.tick, meaning: "keeps up" },
  WARN: { rank: 2, tone: "warn", shape: SHAPES.triangle, meaning: "the lag grows" },
  ERR: {
    rank: 3,
    tone: "err",
    shape: SHAPES.cross,
    meaning: "a partition has stopped, stalled or gone back",
  },
  REWIND: { rank: 3, tone: "err", shape: SHAPES.back, meaning: "the committed offset has gone back" },
  STALL: { rank: 4, tone: "err", shape: SHAPES.bars, meaning: "commits, but does not move" },
  STOP: { rank: 5, tone: "err", shape: SHAPES.square, meaning: "has stopped committing" },
};
/** @type {Look} */
const UNKNOWN = { rank: 0, tone: "none", shape: SHAPES.ring, meaning: "not known" };

/** @param {string} status @returns {Look} */
export const look = (status) => LOOKS[status] ?? UNKNOWN;

/** How bad it is, the greatest the worst. @param {string} status */
export const rank = (status) => look(status).rank;

/**
 * The shape alone, for places that have the text already.
 * @param {string} status
 */
export function shape(status) {
  const { tone, shape: path } = look(status);
  return svg(
    "svg.shape",
    { viewBox: "0 0 16 16", "data-tone": tone, "aria-hidden": "true", focusable: "false" },
    svg("path", { d: path }),
  );
}

/**
 * Shape, text and colour.
 * @param {string} status
 * @param {string} [text] instead of the status
 * @returns {HTMLSpanElement}
 */
export function mark(status, text = status) {
  const element = h("span.mark");
  setMark(element, status, text);
  return element;
}

/**
 * @param {HTMLElement} element made by `mark`
 * @param {string} status
 * @param {string} [text]
 */
export function setMark(element, status, text = status) {
  if (element.dataset.status === status && element.dataset.text === text) return;
  element.dataset.status = status;
  element.dataset.text = text;
  const { tone, meaning } = look(status);
  set(element, "data-tone", tone);
  set(element, "title", meaning);
  put(element, shape(status), text);
}

/**
 * A mark that is no status: the coordinator's state, completeness, health.
 * @param {"ok" | "warn" | "err" | "none"} tone
 * @param {string} text
 * @param {keyof typeof SHAPES} [form]
 */
export function plainMark(tone, text, form = "ring") {
  const drawing = svg(
    "svg.shape",
    { viewBox: "0 0 16 16", "data-tone": tone, "aria-hidden": "true", focusable: "false" },
    svg("path", { d: SHAPES[form] }),
  );
  return h("span.mark", { "data-tone": tone }, drawing, text);
}
