// How incidents end.

/** @type {Record<string, string>} */
export const ENDINGS = { ok: "OK again", gone: "the group is gone", unwatched: "not watched any more" };
