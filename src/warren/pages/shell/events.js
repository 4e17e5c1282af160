// The stream of changes. It is read with fetch, since EventSource can send no credentials.

import { address } from "./address.js";
import { ApiError, get, request } from "./api.js";

/** @typedef {import("./shapes.d.ts").ClusterChanges} ClusterChanges */

// the server sends at least a comment every 15 s
const SILENCE_MS = 45_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 8_000;
// a hidden tab asks instead: a browser has few connections for all tabs together
const HIDDEN_MS = 15_000;
const HIDE_AFTER_MS = 30_000;

/**
 * Follow all clusters until stopped.
 * @param {{
 *   changes: (changes: ClusterChanges) => void,
 *   connected: () => void,
 *   lost: (reason: string, retryMs: number) => void,
 *   since: () => string,
 * }} told `since`: what is known already, as the API wants it
 * @returns {{ stop: () => void, now: () => void }} `now`: do not wait any longer before the next attempt
 */
export function follow(told) {
  const stopping = new AbortController();
  /** @type {() => void} */
  let wake = () => {};

  /** @param {number} ms */
  const pause = (ms) =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve(undefined);
      };
    });

  const visible = () => {
    if (!document.hidden) wake();
  };
  document.addEventListener("visibilitychange", visible);
  addEventListener("online", visible);

  async function run() {
    let retryMs = FIRST_RETRY_MS;
    while (!stopping.signal.aborted) {
      try {
        const progress = () => retryMs = FIRST_RETRY_MS;
        if (document.hidden) await ask(told, stopping.signal);
        else await listen(told, stopping.signal, progress);
        progress();
        if (document.hidden) await pause(HIDDEN_MS);
      } catch (error) {
        if (stopping.signal.aborted) return;
        if (error instanceof ApiError && error.status === 401) {
          // the page asks for credentials and starts again
          return;
        }
        told.lost(error instanceof Error ? error.message : String(error), retryMs);
        await pause(retryMs * (0.8 + 0.4 * Math.random()));
        retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
      }
    }
  }
  run();
  return {
    stop: () => {
      stopping.abort();
      document.removeEventListener("visibilitychange", visible);
      removeEventListener("online", visible);
      wake();
    },
    now: () => wake(),
  };
}

/**
 * One answer with all changes.
 * @param {Parameters<typeof follow>[0]} told
 * @param {AbortSignal} signal
 */
async function ask(told, signal) {
  const answer = await get(["v4", "changes"], { since: told.since() }, { signal });
  told.connected();
  for (const changes of answer.clusters) told.changes(changes);
}

/**
 * The stream, until it ends, is silent for too long, or the tab has been hidden for a while.
 * @param {Parameters<typeof follow>[0]} told
 * @param {AbortSignal} stopped
 * @param {() => void} progress
 */
async function listen(told, stopped, progress) {
  const ending = new AbortController();
  const end = () => ending.abort();
  stopped.addEventListener("abort", end);
  let silence = setTimeout(end, SILENCE_MS);
  let hiding = 0;
  const hidden = () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(end, HIDE_AFTER_MS);
  };
  document.addEventListener("visibilitychange", hidden);
  try {
    const url = address(["v4", "changes"], { since: told.since() });
    const response = await request(url, {
      headers: { Accept: "text/event-stream" },
      signal: ending.signal,
    });
    if (!response.ok || !response.body) {
      throw new ApiError(response.status, `Warren answers ${response.status}.`);
    }
    told.connected();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parse = parser((data) => told.changes(JSON.parse(data)));
    while (true) {
      const { done, value } = await reader.read();
      if (done) throw new ApiError(0, "Warren has ended the connection.");
      clearTimeout(silence);
      silence = setTimeout(end, SILENCE_MS);
      progress();
      parse(value);
    }
  } catch (error) {
    if (!(error instanceof ApiError) && document.hidden) return;
    throw error instanceof ApiError ? error : new ApiError(0, "The connection to Warren is lost.");
  } finally {
    clearTimeout(silence);
    clearTimeout(hiding);
    stopped.removeEventListener("abort", end);
    document.removeEventListener("visibilitychange", hidden);
    ending.abort();
  }
}

/**
 * Server-sent events from pieces of text; every event has one line of data.
 * @param {(data: string) => void} take
 * @returns {(piece: string) => void}
 */
export function parser(take) {
  /** @type {string[]} */
  let pending = [];
  return (piece) => {
    let rest = piece;
    for (let at = rest.indexOf("\n"); at >= 0; at = rest.indexOf("\n")) {
      pending.push(rest.slice(0, at));
      const line = pending.length === 1 ? pending[0] : pending.join("");
      pending = [];
      rest = rest.slice(at + 1);
      if (line.startsWith("data: ")) take(line.slice(6));
    }
    if (rest) pending.push(rest);
  };
}
