// A drawing that is as wide as its place, and drawn again when that changes.

import { h, put } from "./dom.js";

/**
 * @param {(width: number) => SVGSVGElement} draw
 * @returns {{ element: HTMLElement, again: () => void, close: () => void }}
 */
export function drawing(draw) {
  const element = h("div.drawing");
  let width = 0;
  const again = () => {
    if (width) put(element, draw(width));
  };
  const watching = new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (!now || now === width) return;
    width = now;
    again();
  });
  watching.observe(element);
  return { element, again, close: () => watching.disconnect() };
}
