// Addresses of pages and of the API, below whatever path a proxy serves Warren at.

/** The path that everything is below: "/" unless there is a proxy. */
export const BASE = new URL("../../../", import.meta.url).pathname;

/**
 * @param {(string | number)[]} segments names, not yet escaped
 * @param {Record<string, string | number | null | undefined> | URLSearchParams} [query] empty values are left out
 * @returns {string}
 */
export function address(segments, query) {
  const path = BASE + segments.map((each) => encodeURIComponent(each)).join("/");
  const pairs = query instanceof URLSearchParams ? [...query] : Object.entries(query ?? {});
  const kept = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  // commas are legal in a query, and easier to read in an address that is sent around
  const text = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString()
    .replaceAll("%2C", ",");
  return text ? `${path}?${text}` : path;
}

/**
 * @param {string} cluster
 * @param {string} group
 */
export const groupAddress = (cluster, group) => address(["clusters", cluster, "groups", group]);

/**
 * @param {string} cluster
 * @param {string} topic
 */
export const topicAddress = (cluster, topic) => address(["clusters", cluster, "topics", topic]);

/** @param {string} name */
export const notifierAddress = (name) => address(["notifiers", name]);

/** @param {string} id */
export const incidentAddress = (id) => address(["incidents", id]);

/** @param {string} rule */
export const ruleAddress = (rule) => `${address(["rules"])}#${encodeURIComponent(rule)}`;
