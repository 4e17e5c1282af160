// Which groups read a topic: the API knows, and is asked again now and then.

import { get } from "../shell/api.js";
import { clusterNames, keyOf } from "../shell/live.js";

const AGAIN_MS = 30_000;

export class Readers {
  /** @param {() => void} came */
  constructor(came) {
    this.came = came;
    this.topic = "";
    /** @type {Set<string> | null} keys of the groups; null: not known yet */
    this.keys = null;
    this.timer = 0;
  }

  close() {
    this.topic = "";
    clearTimeout(this.timer);
  }

  /** @param {string} topic empty: none */
  want(topic) {
    if (topic === this.topic) return;
    this.topic = topic;
    this.keys = null;
    clearTimeout(this.timer);
    if (topic) this.#ask(topic);
  }

  /** @param {string} topic */
  async #ask(topic) {
    /** @type {Set<string>} */
    const keys = new Set();
    let failed = false;
    for (const cluster of clusterNames()) {
      try {
        const answer = await get(["v4", "clusters", cluster, "groups"], { topic, limit: 100_000 });
        for (const each of answer.groups) keys.add(keyOf(cluster, each.group));
      } catch {
        failed = true;
      }
    }
    if (topic !== this.topic) return;
    if (!failed || !this.keys) this.keys = keys;
    this.came();
    this.timer = setTimeout(() => this.#ask(topic), failed ? AGAIN_MS / 10 : AGAIN_MS);
  }
}

/** Names of all topics, for the field's suggestions. @returns {Promise<string[]>} */
export async function topicNames() {
  /** @type {Set<string>} */
  const names = new Set();
  for (const cluster of clusterNames()) {
    try {
      for (const topic of (await get(["v3", "kafka", cluster, "topic"])).topics) names.add(topic);
    } catch {
      // a field without suggestions works as well
    }
  }
  return [...names].sort();
}
