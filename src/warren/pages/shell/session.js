// Who the reader is: credentials for this tab only, forgotten when it is closed.

const KEY = "warren.authorization";
/** @type {string} for browsers that forbid storage */
let held = "";
/** @type {Set<() => void>} */
const wanting = new Set();

/** The header that the API wants; empty: none was given. */
export function authorization() {
  try {
    return sessionStorage.getItem(KEY) ?? held;
  } catch {
    return held;
  }
}

/** @param {string} header */
export function keep(header) {
  held = header;
  try {
    if (header) sessionStorage.setItem(KEY, header);
    else sessionStorage.removeItem(KEY);
  } catch {
    // it stays in memory
  }
}

/**
 * The header for a token, or for a user with a password.
 * @param {string} user empty: the secret is a token
 * @param {string} secret
 */
export function header(user, secret) {
  if (!user) return `Bearer ${secret}`;
  const bytes = new TextEncoder().encode(`${user}:${secret}`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

/**
 * Called when the API wants credentials, or others.
 * @param {() => void} callback
 */
export function onWanted(callback) {
  wanting.add(callback);
}

/** The API has refused what was given, or that nothing was. */
export function want() {
  for (const each of wanting) each();
}
