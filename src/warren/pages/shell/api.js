// Calls of Warren's API.

import { address } from "./address.js";
import { authorization, want } from "./session.js";

/** An answer that is not what was wanted; the message is the server's, or says that there is none. */
export class ApiError extends Error {
  /**
   * @param {number} status 0: nobody answered
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * The request itself, with the reader's credentials; throws ApiError when nobody answers or credentials are wanted.
 * @param {string} url
 * @param {RequestInit} [how]
 * @param {string} [credentials] instead of those of the session
 * @returns {Promise<Response>}
 */
export async function request(url, how = {}, credentials = authorization()) {
  const headers = new Headers(how.headers);
  if (credentials) headers.set("Authorization", credentials);
  // the page asks for credentials, not the browser
  headers.set("X-Requested-With", "warren");
  let response;
  try {
    // cookies are sent, since a proxy before Warren may want them
    response = await fetch(url, { ...how, headers, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    if (/** @type {Error} */ (error).name === "AbortError") throw error;
    throw new ApiError(0, "Warren does not answer.");
  }
  if (response.status === 401 && credentials === authorization()) want();
  return response;
}

/**
 * @param {Response} response
 * @param {number[]} [also] other statuses than 200 that have the answer
 */
async function read(response, also = []) {
  if (response.ok || also.includes(response.status)) return await response.json();
  let message = `${response.status} ${response.statusText}`;
  try {
    message = (await response.json()).message || message;
  } catch {
    // not JSON: the status has to do
  }
  throw new ApiError(response.status, message);
}

/**
 * GET, as JSON.
 * @param {(string | number)[]} path
 * @param {Record<string, string | number | null | undefined>} [query]
 * @param {{ signal?: AbortSignal, also?: number[], credentials?: string }} [how]
 * @returns {Promise<any>}
 */
export async function get(path, query, how = {}) {
  return await read(await request(address(path, query), { signal: how.signal }, how.credentials), how.also);
}

/**
 * A call that changes something: DELETE or POST.
 * @param {"DELETE" | "POST"} method
 * @param {(string | number)[]} path
 * @param {unknown} [body] sent as JSON
 * @returns {Promise<any>}
 */
export async function send(method, path, body) {
  const json = body === undefined
    ? {}
    : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  return await read(await request(address(path), { method, ...json }));
}

/**
 * State of all clusters; the answer 503 has it as well.
 * @param {AbortSignal} [signal]
 * @returns {Promise<import("./shapes.d.ts").Health>}
 */
export const health = (signal) => get(["v4", "health"], {}, { signal, also: [503] });

/**
 * What an error means for the reader, in a sentence.
 * @param {unknown} error
 */
export function reason(error) {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  if (error.status === 403) {
    return "Only an administrator may do that: sign in with an administrator's token.";
  }
  if (error.status === 429) return "Too many requests: the rate limit of this listener is reached.";
  return error.message;
}
