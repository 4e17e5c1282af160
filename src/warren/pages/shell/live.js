// What is known of all clusters now: every group, and the health. Pages listen to it and read from it.

import { get, health as askHealth } from "./api.js";
import { follow } from "./events.js";

/** @typedef {import("./shapes.d.ts").Group} Group */
/** @typedef {import("./shapes.d.ts").ClusterChanges} ClusterChanges */
/** @typedef {import("./shapes.d.ts").Health} Health */
/** @typedef {{ keys: Set<string>, statuses: boolean }} News which groups changed, and whether a status did */

const HEALTH_MS = 5_000;
const TELL_MS = 30;
const HIDDEN_HEALTH_MS = 30_000;

/** @type {Map<string, Map<string, Group>>} cluster: its groups by name */
const clusters = new Map();
/** @type {Map<string, import("./shapes.d.ts").Snapshot>} */
const snapshots = new Map();
/** @type {Set<(news: News) => void>} */
const listeners = new Set();
/** @type {News} */
let news = { keys: new Set(), statuses: false };
let announced = false;
/** @type {ReturnType<typeof follow> | null} */
let following = null;
let healthTimer = 0;
// how often it was stopped
let turns = 0;

/** State of the connection, and what is known without it. */
export const live = {
  /** @type {State} */
  state: "connecting",
  /** why nobody answers */
  reason: "",
  /** since when, in this browser's time */
  awaySince: 0,
  /** @type {Health | null} */
  health: null,
  /** whether the groups of every cluster are there that has a snapshot */
  loaded: false,
  /** what this reader may do */
  session: { admin: false, version: "" },
};

/** @param {string} cluster @param {string} group */
export const keyOf = (cluster, group) => `${cluster}\u0000${group}`;

/** Names of the clusters that have groups. */
export const clusterNames = () => [...clusters.keys()];

/**
 * All groups, in no order.
 * @returns {Group[]}
 */
export function allGroups() {
  /** @type {Group[]} */
  const all = [];
  for (const groups of clusters.values()) for (const group of groups.values()) all.push(group);
  return all;
}

/** @param {string} cluster @param {string} group */
export const groupNow = (cluster, group) => clusters.get(cluster)?.get(group);

/** @param {string} cluster */
export const snapshotOf = (cluster) => snapshots.get(cluster);

/**
 * Be told of changes, at most some thirty times a second. Returns what ends it.
 * @param {(news: News) => void} listener
 */
export function listen(listener) {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

/** Start, or start again with other credentials. */
export async function start() {
  stop();
  const turn = turns;
  try {
    live.session = await get(["v4", "session"]);
  } catch {
    // the stream says what is wrong
  }
  // stopped meanwhile, to ask for credentials
  if (turn !== turns) return;
  following = follow({
    changes: apply,
    connected: () => state("live"),
    lost: (reason) => state("away", reason),
    since,
  });
  lookAtHealth();
}

export function stop() {
  turns++;
  following?.stop();
  following = null;
  clearTimeout(healthTimer);
}

/** Try again at once. */
export function retry() {
  following?.now();
}

/** The group is gone here before the next snapshot says so. @param {string} cluster @param {string} group */
export function forget(cluster, group) {
  if (clusters.get(cluster)?.delete(group)) announce(keyOf(cluster, group), true);
}

function since() {
  return [...snapshots].map(([name, snapshot]) => `${encodeURIComponent(name)}:${snapshot.cursor}`).join(",");
}

/** @typedef {"connecting" | "live" | "away"} State */

/** @param {State} now @param {string} [reason] */
function state(now, reason = "") {
  if (now === "away" && live.state !== "away") live.awaySince = Date.now();
  const changed = live.state !== now || live.reason !== reason;
  live.state = now;
  live.reason = reason;
  if (changed) announce(null, false);
}

async function lookAtHealth() {
  clearTimeout(healthTimer);
  try {
    live.health = await askHealth();
    const known = new Set(live.health.clusters.map((each) => each.cluster));
    for (const name of clusters.keys()) if (!known.has(name)) drop(name);
    live.loaded = live.health.clusters.every((each) => !each.snapshot || clusters.has(each.cluster));
    announce(null, false);
  } catch {
    // the stream says what is wrong
  }
  if (following) healthTimer = setTimeout(lookAtHealth, document.hidden ? HIDDEN_HEALTH_MS : HEALTH_MS);
}

/** @param {string} cluster */
function drop(cluster) {
  for (const name of clusters.get(cluster)?.keys() ?? []) announce(keyOf(cluster, name), true);
  clusters.delete(cluster);
  snapshots.delete(cluster);
}

/** @param {ClusterChanges} changes */
function apply(changes) {
  const { cluster, groups: columns } = changes;
  let groups = clusters.get(cluster);
  if (!groups) clusters.set(cluster, groups = new Map());
  if (changes.complete) {
    const there = new Set(columns.group);
    for (const name of [...groups.keys()]) {
      if (!there.has(name)) remove(groups, cluster, name);
    }
  }
  for (const name of changes.removed) remove(groups, cluster, name);
  for (let row = 0; row < columns.group.length; row++) {
    const name = columns.group[row];
    let group = groups.get(name);
    const status = columns.status[row];
    if (!group) {
      group = /** @type {Group} */ ({
        cluster,
        group: name,
        key: keyOf(cluster, name),
        folded: name.toLowerCase(),
      });
      groups.set(name, group);
    }
    const other = group.status !== status;
    group.status = status;
    group.complete = columns.complete[row];
    group.partitions = columns.partition_count[row];
    group.lag = columns.totallag[row];
    group.maxlag = columns.maxlag[row];
    group.lastCommit = columns.last_commit[row];
    group.since = columns.status_since[row];
    announce(group.key, other);
  }
  snapshots.set(cluster, changes.snapshot);
  const asked = live.health?.clusters;
  live.loaded = asked ? asked.every((each) => !each.snapshot || clusters.has(each.cluster)) : true;
  announce(null, false);
}

/** @param {Map<string, Group>} groups @param {string} cluster @param {string} name */
function remove(groups, cluster, name) {
  if (groups.delete(name)) announce(keyOf(cluster, name), true);
}

/** @param {string | null} key @param {boolean} status */
function announce(key, status) {
  if (key) news.keys.add(key);
  news.statuses ||= status;
  if (announced) return;
  announced = true;
  // not a frame: a hidden tab has none
  setTimeout(tell, TELL_MS);
}

function tell() {
  const told = news;
  news = { keys: new Set(), statuses: false };
  announced = false;
  for (const listener of [...listeners]) listener(told);
}
