// The configuration without secrets: the sections as in the file.

import { h } from "../shell/dom.js";

/** @typedef {import("../shell/shapes.d.ts").About} About */

/** @param {About} about */
export function configuration(about) {
  const parts = sections(about.configuration);
  return h(
    "section.card",
    { "aria-labelledby": "configuration" },
    h("h2", { id: "configuration" }, "Configuration"),
    h("p.hint", null, "What is set; secrets are REDACTED.", about.source && ` Read from ${about.source}.`),
    parts.length
      ? parts.map(([name, values]) => section(name, values))
      : h("p.quiet", null, "Nothing is set: everything has its default."),
  );
}

/**
 * Settings of one section or module.
 * @param {string} name as in the file: cluster.local
 * @param {Record<string, unknown>} values
 */
export function section(name, values) {
  const lines = Object.entries(values);
  return h(
    "details.section",
    { open: true },
    h("summary.mono", null, `[${name}]`),
    h(
      "dl.settings",
      null,
      lines.map(([key, value]) =>
        h("div", null, h("dt.mono", null, key), h("dd.mono", null, written(value)))
      ),
    ),
  );
}

/**
 * [name, settings]: modules have their section's name before theirs.
 * @param {Record<string, unknown>} configured
 * @returns {[string, Record<string, unknown>][]}
 */
function sections(configured) {
  /** @type {[string, Record<string, unknown>][]} */
  const found = [];
  for (const [name, value] of Object.entries(configured)) {
    if (!isTable(value)) continue;
    const modules = Object.entries(value);
    if (modules.length && modules.every(([, each]) => isTable(each))) {
      for (const [module, each] of modules) found.push([`${name}.${module}`, /** @type {any} */ (each)]);
    } else if (modules.length) {
      found.push([name, value]);
    }
  }
  return found;
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** As TOML writes it. @param {unknown} value @returns {string} */
function written(value) {
  if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
  if (isTable(value)) {
    return `{ ${Object.entries(value).map(([key, each]) => `${key} = ${written(each)}`).join(", ")} }`;
  }
  return JSON.stringify(value);
}
