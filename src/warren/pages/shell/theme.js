// Light, dark, or as the system has it.

import { h, set, svg } from "./dom.js";

const KEY = "warren.theme";
const DARK = matchMedia("(prefers-color-scheme: dark)");
const SUN =
  "M8 5.2a2.8 2.8 0 1 0 .01 0ZM8 1.2v1.4M8 13.4v1.4M1.2 8h1.4M13.4 8h1.4M3.2 3.2l1 1M11.8 11.8l1 1M3.2 12.8l1-1M11.8 4.2l1-1";
const MOON = "M13 9.6A5.6 5.6 0 1 1 6.4 3a4.6 4.6 0 0 0 6.6 6.6Z";

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : DARK.matches;
}

/** The switch for the header. */
export function themeSwitch() {
  const path = svg("path");
  const button = h(
    "button.icon",
    { type: "button", onclick: toggle },
    svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" }, path),
  );
  function show() {
    set(path, "d", isDark() ? SUN : MOON);
    const label = isDark() ? "Light colours" : "Dark colours";
    set(button, "aria-label", label);
    set(button, "title", label);
  }
  function toggle() {
    const theme = isDark() ? "light" : "dark";
    // what the system wants anyway need not be kept, so that the page follows it again
    const system = DARK.matches ? "dark" : "light";
    try {
      if (theme === system) localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, theme);
    } catch {
      // it holds until the page is closed
    }
    if (theme === system) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    show();
  }
  DARK.addEventListener("change", show);
  show();
  return button;
}
