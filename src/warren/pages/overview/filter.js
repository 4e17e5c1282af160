// The filter of the groups and its form in the address: /?status=WARN,ERR&cluster=production&q=pay&topic=orders&sort=-lag

import { rank } from "../shell/status.js";

/** @typedef {import("../shell/shapes.d.ts").Group} Group */
/** @typedef {{ statuses: Set<string>, text: string, cluster: string, topic: string, sort: string }} Filter */

export const STATUSES = ["ERR", "WARN", "OK"];
/** The worst first, of those the greatest lag. */
export const WORST_FIRST = "-status";

/** @type {Record<string, (one: Group, other: Group) => number>} the smallest first; equal ones by name */
const ORDERS = {
  status: (one, other) => rank(one.status) - rank(other.status) || one.lag - other.lag,
  group: (one, other) => compare(one.folded, other.folded),
  cluster: (one, other) => compare(one.cluster, other.cluster),
  // the longest is the greatest; those that never changed have been so the longest
  since: (one, other) => other.since - one.since,
  lag: (one, other) => one.lag - other.lag,
  complete: (one, other) => one.complete - other.complete,
  partitions: (one, other) => one.partitions - other.partitions,
};

/** @param {URLSearchParams} query @returns {Filter} */
export function fromQuery(query) {
  const statuses = (query.get("status") ?? "").toUpperCase().split(",").filter((each) =>
    STATUSES.includes(each)
  );
  const sort = query.get("sort") ?? "";
  return {
    statuses: new Set(statuses),
    text: query.get("q") ?? "",
    cluster: query.get("cluster") ?? "",
    topic: query.get("topic") ?? "",
    sort: sort.replace(/^-/, "") in ORDERS ? sort : WORST_FIRST,
  };
}

/** @param {Filter} filter @returns {Record<string, string>} */
export function toQuery(filter) {
  return {
    status: STATUSES.filter((each) => filter.statuses.has(each)).join(","),
    cluster: filter.cluster,
    topic: filter.topic,
    q: filter.text,
    sort: filter.sort === WORST_FIRST ? "" : filter.sort,
  };
}

/** Whether all groups are shown. @param {Filter} filter */
export const isOpen = (filter) => !filter.statuses.size && !filter.text && !filter.cluster && !filter.topic;

/**
 * The groups that match, in order.
 * @param {Group[]} groups
 * @param {Filter} filter
 * @param {Set<string> | null} readers keys of the groups that read the topic; null: not known yet
 */
export function chosen(groups, filter, readers) {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const { statuses, cluster, topic } = filter;
  const found = groups.filter((group) =>
    (!statuses.size || statuses.has(group.status)) &&
    (!cluster || group.cluster === cluster) &&
    (!topic || (readers?.has(group.key) ?? false)) &&
    words.every((word) => group.folded.includes(word))
  );
  return found.sort(order(filter.sort));
}

/** @param {string} sort */
function order(sort) {
  const by = ORDERS[sort.replace(/^-/, "")];
  const sign = sort.startsWith("-") ? -1 : 1;
  return (/** @type {Group} */ one, /** @type {Group} */ other) =>
    sign * by(one, other) || compare(one.group, other.group) || compare(one.cluster, other.cluster);
}

/** @param {string} one @param {string} other */
const compare = (one, other) => (one < other ? -1 : one > other ? 1 : 0);
